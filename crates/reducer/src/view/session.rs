//! Session, usage and statistics.

use serde::ser::{SerializeMap as _, SerializeStruct as _};
use serde::{Serialize, Serializer};

use crate::dialect_name::DialectName;
use crate::model::{Command, Limit, PlanItem, QueuedPrompt, SessionOption};
use crate::record::Tokens;
use crate::transcript::Transcript;

/// The session's conversation, model and mode. See [`Transcript::session`].
#[derive(Clone, Copy, Debug)]
pub struct Session<'a>(&'a Transcript);

impl<'a> Session<'a> {
    pub(crate) const fn new(transcript: &'a Transcript) -> Self {
        Self(transcript)
    }

    /// Returns the agent's current session id; `/clear` replaces it.
    #[must_use]
    pub fn id(self) -> Option<&'a str> {
        self.0.session.id.map(|it| self.0.names.str(it))
    }

    /// Returns all session ids of the agent, in order.
    pub fn conversations(self) -> impl ExactSizeIterator<Item = &'a str> + use<'a> {
        let ids = self.0.session.conversations.iter();
        ids.map(move |&id| self.0.names.str(id))
    }

    /// Returns the current model.
    #[must_use]
    pub fn model(self) -> Option<&'a str> {
        self.0.session.model.map(|it| self.0.names.str(it))
    }

    /// Returns the working directory.
    #[must_use]
    pub fn cwd(self) -> Option<&'a str> {
        self.0.session.cwd.map(|it| self.0.names.str(it))
    }

    /// Returns the agent's version.
    #[must_use]
    pub fn cli_version(self) -> Option<&'a str> {
        self.0.session.cli_version.map(|it| self.0.names.str(it))
    }

    /// Returns `default`, `acceptEdits`, `bypassPermissions`, `plan`, `dontAsk` or `auto`.
    #[must_use]
    pub fn permission_mode(self) -> Option<&'a str> {
        self.0
            .session
            .permission_mode
            .map(|it| self.0.names.str(it))
    }

    /// Returns the name of the agent's program, such as `claude` or `codex`.
    #[must_use]
    pub fn agent_name(self) -> Option<&'a str> {
        let name = self.0.session.neutral.agent_name.as_deref();
        name.or_else(|| self.0.dialect_name.agent())
    }

    /// Returns the title of the conversation.
    #[must_use]
    pub fn title(self) -> Option<&'a str> {
        self.0.session.neutral.title.as_deref()
    }

    /// Returns the steps of the agent's plan.
    #[must_use]
    pub fn plan(self) -> &'a [PlanItem] {
        &self.0.session.neutral.plan
    }

    /// Returns the prompts that wait for their turn, in order.
    #[must_use]
    pub fn queue(self) -> impl ExactSizeIterator<Item = &'a QueuedPrompt> + Clone {
        self.0.session.neutral.queue.values()
    }

    /// Returns the used part of the context window, in tokens.
    #[must_use]
    pub fn context_used(self) -> Option<u64> {
        self.0.session.neutral.context_used
    }

    /// Returns the size of the context window, in tokens.
    #[must_use]
    pub fn context_size(self) -> Option<u64> {
        self.0.session.neutral.context_size
    }

    /// Returns the usage limits of the account.
    #[must_use]
    pub fn limits(self) -> &'a [Limit] {
        &self.0.session.neutral.limits
    }

    /// Returns the settings of the session.
    #[must_use]
    pub fn options(self) -> &'a [SessionOption] {
        &self.0.session.neutral.options
    }

    /// Returns the commands that the agent offers.
    #[must_use]
    pub fn commands(self) -> &'a [Command] {
        &self.0.session.neutral.commands
    }

    /// Returns the dialect of the stream.
    #[must_use]
    pub const fn dialect(self) -> DialectName {
        self.0.dialect()
    }

    pub(crate) const fn transcript(self) -> &'a Transcript {
        self.0
    }
}

/// Cost and tokens over all conversations of the session. See [`Transcript::usage`].
#[derive(Clone, Copy, Debug)]
pub struct Usage<'a>(&'a Transcript);

/// Tokens of one model. See [`Usage::models`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ModelUsage {
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Tokens read from the cache.
    pub cache_read_tokens: u64,
    /// Tokens written to the cache.
    pub cache_creation_tokens: u64,
}

impl ModelUsage {
    pub(crate) const fn of(tokens: Tokens) -> Self {
        let [
            input_tokens,
            output_tokens,
            cache_read_tokens,
            cache_creation_tokens,
        ] = tokens;
        Self {
            input_tokens,
            output_tokens,
            cache_read_tokens,
            cache_creation_tokens,
        }
    }

    pub(crate) const fn tokens(self) -> Tokens {
        [
            self.input_tokens,
            self.output_tokens,
            self.cache_read_tokens,
            self.cache_creation_tokens,
        ]
    }
}

impl<'a> Usage<'a> {
    pub(crate) const fn new(transcript: &'a Transcript) -> Self {
        Self(transcript)
    }

    /// Returns the cost in US dollars.
    #[must_use]
    pub fn cost_usd(self) -> f64 {
        self.0.usage.cost_usd()
    }

    /// Returns the tokens by model.
    pub fn models(self) -> impl ExactSizeIterator<Item = (&'a str, ModelUsage)> + use<'a> {
        self.0
            .usage
            .models()
            .map(move |(name, tokens)| (self.0.names.str(name), ModelUsage::of(tokens)))
    }
}

impl Serialize for Usage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Usage", 2)?;
        out.serialize_field("cost_usd", &self.cost_usd())?;
        out.serialize_field("models", &Models(*self))?;
        out.end()
    }
}

struct Models<'a>(Usage<'a>);

impl Serialize for Models<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, usage) in self.0.models() {
            map.serialize_entry(name, &usage)?;
        }
        map.end()
    }
}

/// Statistics of the stream. See [`Transcript::stats`].
#[derive(Clone, Copy, Debug)]
pub struct Stats<'a>(&'a Transcript);

impl<'a> Stats<'a> {
    pub(crate) const fn new(transcript: &'a Transcript) -> Self {
        Self(transcript)
    }

    /// Returns the bytes of all lines, each with its LF.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.0.counters.bytes
    }

    /// Returns the number of lines, without blank ones.
    #[must_use]
    pub const fn lines(self) -> u64 {
        self.0.counters.lines
    }

    /// Returns the number of lines that are events.
    #[must_use]
    pub const fn events(self) -> u64 {
        self.0.counters.events
    }

    /// Returns the number of events that were dropped as duplicates by their uuid.
    #[must_use]
    pub const fn duplicates(self) -> u64 {
        self.0.counters.duplicates
    }

    /// Returns the number of lines that are not events; a partial line at the end is not counted.
    #[must_use]
    pub const fn parse_errors(self) -> u64 {
        self.0.counters.parse_errors
    }

    /// Returns the number of lines by `type/subtype`, for those that this version does not know.
    pub fn unknown(self) -> impl ExactSizeIterator<Item = (&'a str, u64)> + use<'a> {
        self.0
            .counters
            .unknown
            .iter()
            .map(|(name, count)| (name.as_str(), *count))
    }

    /// Returns whether the input ended within a line.
    #[must_use]
    pub const fn is_truncated(self) -> bool {
        self.0.counters.is_truncated
    }

    /// Returns the number of bytes that are missing in gaps.
    #[must_use]
    pub const fn missing(self) -> u64 {
        self.0.counters.missing
    }

    /// Returns whether a part of unknown length is missing, because the stream is damaged or cut.
    #[must_use]
    pub const fn is_damaged(self) -> bool {
        self.0.counters.is_damaged
    }
}

impl Serialize for Stats<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Stats", 9)?;
        out.serialize_field("bytes", &self.bytes())?;
        out.serialize_field("lines", &self.lines())?;
        out.serialize_field("events", &self.events())?;
        out.serialize_field("duplicates", &self.duplicates())?;
        out.serialize_field("parse_errors", &self.parse_errors())?;
        out.serialize_field("unknown", &self.0.counters.unknown)?;
        out.serialize_field("truncated", &self.is_truncated())?;
        // Only of streams with losses.
        if self.missing() > 0 {
            out.serialize_field("missing", &self.missing())?;
        }
        if self.is_damaged() {
            out.serialize_field("damaged", &true)?;
        }
        out.end()
    }
}
