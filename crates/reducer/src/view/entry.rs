//! Entries and their blocks.

use serde::ser::SerializeSeq as _;
use serde::{Serialize, Serializer};

use crate::arena::{Text, TextRef};
use crate::ident::ApiId;
use crate::names::Name;
use crate::record::{BlockBody, BlockId, EntryBody, EntryId, Stage};
use crate::state::{ErrorKind, MessageState, Outcome};
use crate::transcript::Transcript;
use crate::view::{Raw, Thread};

/// Levels of JSON around a raw block on the main thread: the transcript, the entries, the entry,
/// the blocks, the block.
const LEVELS: usize = 5;

/// One row of a transcript.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    transcript: &'a Transcript,
    id: EntryId,
}

/// What an entry says.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EntryKind<'a> {
    /// A prompt: of a person, of the agent in a person's stead, or of a sub-agent's parent.
    User {
        /// The uuid of the line, or of the host's prompt.
        uuid: Option<&'a str>,
        /// What was said.
        text: TextRef<'a>,
        /// The agent echoed it.
        replay: bool,
        /// The agent wrote it itself.
        synthetic: bool,
    },
    /// A message of the model.
    Assistant {
        /// The API's `message.id`.
        message_id: ApiId<'a>,
        /// The model; `<synthetic>` when the agent made the message up.
        model: Option<&'a str>,
        /// Where it stands.
        state: MessageState,
        /// Its parts, in order.
        blocks: Blocks<'a>,
    },
    /// The end of a turn.
    Result {
        /// `success`, `error_during_execution`, …
        subtype: &'a str,
        /// Whether the turn failed; independent of `subtype`.
        is_error: bool,
        /// How it ended.
        outcome: Outcome,
        /// The final text, or what went wrong.
        text: Option<TextRef<'a>>,
        /// What started the turn, when the host did not.
        origin: Option<&'a str>,
        /// Round trips to the model.
        num_turns: u64,
        /// Wall time in milliseconds.
        duration_ms: u64,
    },
    /// Something to know beside the conversation.
    Notice {
        /// The type or system subtype of its line.
        notice: &'a str,
        /// What to know.
        text: TextRef<'a>,
    },
    /// Something went wrong with the stream.
    Error {
        /// What it is about.
        error: ErrorKind,
        /// What went wrong.
        text: TextRef<'a>,
    },
}

impl<'a> Entry<'a> {
    pub(crate) const fn new(transcript: &'a Transcript, id: EntryId) -> Self {
        Self { transcript, id }
    }

    /// Names the entry; ids grow in the order in which entries stand.
    #[must_use]
    pub const fn id(self) -> EntryId {
        self.id
    }

    /// The thread it belongs to.
    #[must_use]
    pub fn thread(self) -> Thread<'a> {
        Thread::new(
            self.transcript,
            self.transcript.entries.at(self.id.at()).thread,
        )
    }

    /// When it began, in the host's milliseconds.
    #[must_use]
    pub fn at_ms(self) -> u64 {
        self.transcript.entries.at(self.id.at()).at_ms.get()
    }

    /// Offset in the stream of the line that began it, in bytes.
    #[must_use]
    pub fn offset(self) -> u64 {
        self.transcript.entries.at(self.id.at()).offset.get()
    }

    /// Why the agent ended the turn, for a result: `completed`, `aborted_tools`, `api_error`, …
    #[must_use]
    pub fn terminal_reason(self) -> Option<&'a str> {
        match &self.transcript.entries.at(self.id.at()).body {
            EntryBody::Result(result) => result.terminal_reason.map(|it| self.str(it)),
            _ => None,
        }
    }

    /// Whether it is a prompt of the host that the agent has not echoed.
    #[must_use]
    pub fn is_unconfirmed(self) -> bool {
        let body = &self.transcript.entries.at(self.id.at()).body;
        matches!(body, EntryBody::User(user) if user.is_unconfirmed)
    }

    /// What it says.
    #[must_use]
    pub fn kind(self) -> EntryKind<'a> {
        let text = |text| self.transcript.arena.text(text);
        match &self.transcript.entries.at(self.id.at()).body {
            EntryBody::User(user) => EntryKind::User {
                uuid: self.transcript.id_of(user.uuid),
                text: text(user.text),
                replay: user.is_replay,
                synthetic: user.is_synthetic,
            },
            EntryBody::Assistant(message) => EntryKind::Assistant {
                message_id: self.transcript.arena.id(message.message_id),
                model: self.transcript.name(message.model),
                state: message.state,
                blocks: Blocks {
                    transcript: self.transcript,
                    first: message.first,
                },
            },
            EntryBody::Result(result) => EntryKind::Result {
                subtype: self.str(result.subtype),
                is_error: result.is_error,
                outcome: result.outcome,
                text: result.text.map(text),
                origin: result.origin.map(|it| self.str(it)),
                num_turns: result.num_turns,
                duration_ms: result.duration_ms,
            },
            EntryBody::Notice { notice, text: said } => EntryKind::Notice {
                notice: self.str(*notice),
                text: text(*said),
            },
            EntryBody::Error { error, text: said } => EntryKind::Error {
                error: *error,
                text: text(*said),
            },
        }
    }

    /// What it says, the blocks of a message left out.
    pub(crate) fn head(self) -> EntryKind<'a> {
        let mut kind = self.kind();
        if let EntryKind::Assistant { blocks, .. } = &mut kind {
            blocks.first = None;
        }
        kind
    }

    fn str(self, name: Name) -> &'a str {
        self.transcript.names.str(name)
    }
}

impl Serialize for Entry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.kind().serialize(serializer)
    }
}

/// The blocks of a message, in order.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<'a> {
    transcript: &'a Transcript,
    first: Option<BlockId>,
}

impl<'a> Blocks<'a> {
    /// The blocks one by one.
    pub fn iter(self) -> impl Iterator<Item = Block<'a>> + use<'a> {
        let transcript = self.transcript;
        let next = move |id: &BlockId| transcript.blocks.at(id.at()).next;
        std::iter::successors(self.first, next)
            .filter(move |id| !transcript.blocks.at(id.at()).is_removed)
            .map(move |id| Block::new(transcript, id))
    }
}

impl Serialize for Blocks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(None)?;
        for block in self.iter() {
            seq.serialize_element(&block.kind())?;
        }
        seq.end()
    }
}

/// One part of a message.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    transcript: &'a Transcript,
    id: BlockId,
}

/// What a block holds.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum BlockKind<'a> {
    /// Something said.
    Text {
        /// The text, as far as it has come.
        text: TextRef<'a>,
    },
    /// Reasoning.
    Thinking {
        /// The text, as far as it has come; empty when the agent does not show it.
        text: TextRef<'a>,
    },
    /// Reasoning that nobody may read.
    RedactedThinking,
    /// A call of a tool; see [`Transcript::tool_call`].
    ToolCall {
        /// The `tool_use` id.
        id: ApiId<'a>,
    },
    /// A block of another type.
    Other {
        /// The block as it was written.
        raw: Raw<'a>,
    },
}

impl<'a> Block<'a> {
    pub(crate) const fn new(transcript: &'a Transcript, id: BlockId) -> Self {
        Self { transcript, id }
    }

    /// Names the block; ids grow in the order in which the blocks of an entry stand.
    #[must_use]
    pub const fn id(self) -> BlockId {
        self.id
    }

    /// The entry it belongs to.
    #[must_use]
    pub fn entry(self) -> Entry<'a> {
        Entry::new(
            self.transcript,
            self.transcript.blocks.at(self.id.at()).entry,
        )
    }

    /// Whether it still grows.
    #[must_use]
    pub fn is_growing(self) -> bool {
        self.transcript.blocks.at(self.id.at()).stage == Stage::Open
    }

    /// What it holds.
    #[must_use]
    pub fn kind(self) -> BlockKind<'a> {
        let text = |text| self.transcript.arena.text(text);
        match self.transcript.blocks.at(self.id.at()).body {
            BlockBody::Text(said) => BlockKind::Text { text: text(said) },
            BlockBody::Thinking(said) => BlockKind::Thinking { text: text(said) },
            BlockBody::Redacted => BlockKind::RedactedThinking,
            BlockBody::Call(call) => BlockKind::ToolCall {
                id: self.transcript.call_id(call),
            },
            BlockBody::Other(raw) => BlockKind::Other { raw: self.raw(raw) },
        }
    }

    fn raw(self, text: Text) -> Raw<'a> {
        let thread = self.entry().thread().id;
        self.transcript.raw_in(thread, LEVELS, text)
    }

    /// The text of a text or thinking block; none for every other kind.
    #[must_use]
    pub fn text(self) -> Option<TextRef<'a>> {
        match self.kind() {
            BlockKind::Text { text } | BlockKind::Thinking { text } => Some(text),
            _ => None,
        }
    }
}

impl Serialize for Block<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.kind().serialize(serializer)
    }
}
