//! Entries and their blocks.

use std::borrow::Cow;
use std::ops::Range;

use serde::Serialize;

use crate::arena::{Text, TextRef};
use crate::names::Name;
use crate::record::{BlockBody, BlockId, BlockStage, EntryBody, EntryId};
use crate::schema::Schema;
use crate::state::{ErrorKind, MessageState, Outcome};
use crate::transcript::Transcript;
use crate::view::handle::{Block, Entry, Thread};
use crate::view::raw::Raw;

/// Levels of JSON around a raw block on the main thread: transcript, entries, entry, blocks, block.
const LEVELS: usize = 5;

/// The content of an entry. See [`Entry::kind`].
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EntryKind<'a> {
    /// A prompt of the user, of the agent, or of a sub-agent's parent.
    User {
        /// The uuid of the line, or of the host's prompt.
        uuid: Option<&'a str>,
        /// Its text.
        text: TextRef<'a>,
        /// Whether the agent echoed it.
        replay: bool,
        /// Whether the agent wrote it.
        synthetic: bool,
    },
    /// A message of the model.
    Assistant {
        /// The API's `message.id`.
        message_id: &'a str,
        /// The model; `<synthetic>` if the agent made up the message.
        model: Option<&'a str>,
        /// Its progress.
        state: MessageState,
        /// Its parts in order.
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
        /// The final text, or the error.
        text: Option<TextRef<'a>>,
        /// The trigger of the turn if it was not the host.
        origin: Option<&'a str>,
        /// Round trips to the model.
        num_turns: u64,
        /// Wall time in milliseconds.
        duration_ms: u64,
    },
    /// A message outside of the conversation; the crate documentation lists them.
    Notice {
        /// The type or system subtype of its line.
        notice: &'a str,
        /// Its text.
        text: TextRef<'a>,
    },
    /// An error of the stream.
    Error {
        /// Its cause.
        error: ErrorKind,
        /// Its description.
        text: TextRef<'a>,
    },
}

impl<'a> Entry<'a> {
    /// Returns its id. Ids grow in the order of the entries.
    #[must_use]
    pub const fn id(self) -> EntryId {
        self.id
    }

    /// Returns the thread that it belongs to.
    #[must_use]
    pub fn thread(self) -> Thread<'a> {
        Thread::new(self.transcript, self.transcript.entries[self.id].thread)
    }

    /// Returns when its first line arrived, in milliseconds by the host's clock.
    #[must_use]
    pub fn at_ms(self) -> u64 {
        self.transcript.entries[self.id].at.get()
    }

    /// Returns the offset of its first line in the stream, in bytes.
    #[must_use]
    pub fn offset(self) -> u64 {
        self.transcript.entries[self.id].offset
    }

    /// Returns the byte range of its lines in the stream, from the first to the last that added to
    /// it, without the last line end.
    #[must_use]
    pub fn bytes(self) -> Range<u64> {
        let record = &self.transcript.entries[self.id];
        let from = record.offset;
        let to = match &record.body {
            EntryBody::User(it) => it.line_end.after(from),
            EntryBody::Result(it) => it.line_end.after(from),
            EntryBody::Notice(it) => it.line_end.after(from),
            EntryBody::Error(it) => it.line_end.after(from),
            EntryBody::Assistant(message) => {
                let blocks = Blocks {
                    transcript: self.transcript,
                    first: message.first,
                    schema: Schema::Two,
                };
                let ends = blocks.iter().map(|block| block.bytes().end);
                ends.max().unwrap_or(from)
            }
        };
        from..to
    }

    /// Returns the turn that it is part of: the agent's id of it, else its number in the session,
    /// from 1; `None` between turns.
    #[must_use]
    pub fn turn(self) -> Option<Cow<'a, str>> {
        let turn = self.transcript.entries[self.id].turn;
        match turn.get() {
            _ if turn.is_none() => None,
            Ok(number) => Some(Cow::Owned(number.to_string())),
            Err(name) => self.transcript.name(name).map(Cow::Borrowed),
        }
    }

    /// Returns whether it was repeated from the agent's own history.
    #[must_use]
    pub fn is_history(self) -> bool {
        self.transcript.entries[self.id].is_history
    }

    /// Returns why the agent ended the turn, for a result: `completed`, `aborted_tools`,
    /// `api_error`, …
    #[must_use]
    pub fn terminal_reason(self) -> Option<&'a str> {
        match &self.transcript.entries[self.id].body {
            EntryBody::Result(result) => result.terminal_reason.map(|it| self.str(it)),
            _ => None,
        }
    }

    /// Returns whether it is a prompt of the host that the agent has not echoed.
    #[must_use]
    pub fn is_unconfirmed(self) -> bool {
        let body = &self.transcript.entries[self.id].body;
        matches!(body, EntryBody::User(user) if user.is_unconfirmed)
    }

    /// Returns the last entry before the point at which the agent took up this prompt, if entries come between: a
    /// prompt that waited for the end of a turn follows that turn. `None` for a prompt that was taken up at once.
    #[must_use]
    pub fn taken_up_after(self) -> Option<EntryId> {
        self.transcript.taken_up.get(&self.id).copied()
    }

    /// Returns its content.
    #[must_use]
    pub fn kind(self) -> EntryKind<'a> {
        self.kind_in(Schema::Two)
    }

    /// Its content, whose blocks serialize in this version of the schema.
    pub(crate) fn kind_in(self, schema: Schema) -> EntryKind<'a> {
        let text = |text| self.transcript.arena.text(text);
        match &self.transcript.entries[self.id].body {
            EntryBody::User(user) => EntryKind::User {
                uuid: self.transcript.id_of(user.uuid),
                text: text(user.text),
                replay: user.is_replay,
                synthetic: user.is_synthetic,
            },
            EntryBody::Assistant(message) => EntryKind::Assistant {
                message_id: self.transcript.arena.str(message.message_id),
                model: self.transcript.name(message.model),
                state: message.state,
                blocks: Blocks {
                    transcript: self.transcript,
                    first: message.first,
                    schema,
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
            EntryBody::Notice(it) => EntryKind::Notice {
                notice: self.str(it.notice),
                text: text(it.text),
            },
            EntryBody::Error(it) => EntryKind::Error {
                error: it.error,
                text: text(it.text),
            },
        }
    }

    /// Its content without the blocks of a message.
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

/// The blocks of a message, in order. See [`EntryKind::Assistant`].
#[derive(Clone, Copy, Debug)]
pub struct Blocks<'a> {
    transcript: &'a Transcript,
    first: Option<BlockId>,
    schema: Schema,
}

impl<'a> Blocks<'a> {
    pub(crate) const fn schema(self) -> Schema {
        self.schema
    }

    /// Returns an iterator over the blocks.
    pub fn iter(self) -> impl Iterator<Item = Block<'a>> + use<'a> {
        let transcript = self.transcript;
        let next = move |id: &BlockId| transcript.blocks[id].next;
        std::iter::successors(self.first, next)
            .filter(move |id| !transcript.blocks[id].is_removed())
            .map(move |id| Block::new(transcript, id))
    }
}

/// The content of a block. See [`Block::kind`].
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum BlockKind<'a> {
    /// Text.
    Text {
        /// The text so far.
        text: TextRef<'a>,
    },
    /// Reasoning.
    Thinking {
        /// The text so far; empty if the agent does not show it.
        text: TextRef<'a>,
    },
    /// Encrypted reasoning.
    RedactedThinking,
    /// A tool call; see [`Transcript::tool_call`].
    ToolCall {
        /// The `tool_use` id.
        id: &'a str,
    },
    /// A block of another type.
    Other {
        /// The block as it was written.
        raw: Raw<'a>,
    },
}

impl<'a> Block<'a> {
    /// Returns its id. Ids grow in the order of the blocks of an entry.
    #[must_use]
    pub const fn id(self) -> BlockId {
        self.id
    }

    /// Returns the entry that it belongs to.
    #[must_use]
    pub fn entry(self) -> Entry<'a> {
        Entry::new(self.transcript, self.transcript.blocks[self.id].entry)
    }

    /// Returns the byte range of its lines in the stream, from the first to the last that added to
    /// it, without the last line end.
    #[must_use]
    pub fn bytes(self) -> Range<u64> {
        let record = &self.transcript.blocks[self.id];
        let entry = self.transcript.entries.get(record.entry);
        let entry = entry.map_or(0, |entry| entry.offset);
        record.line_start.after(entry)..record.line_end.after(entry)
    }

    /// Returns whether no block of its message comes after it.
    #[must_use]
    pub fn is_last(self) -> bool {
        let blocks = &self.transcript.blocks;
        let later = std::iter::successors(blocks[self.id].next, |id| blocks[id].next);
        later.into_iter().all(|id| blocks[id].is_removed())
    }

    /// Returns whether it still grows.
    #[must_use]
    pub fn is_growing(self) -> bool {
        self.transcript.blocks[self.id].stage == BlockStage::Open
    }

    /// Returns its content.
    #[must_use]
    pub fn kind(self) -> BlockKind<'a> {
        let text = |text| self.transcript.arena.text(text);
        match self.transcript.blocks[self.id].body {
            BlockBody::Text(content) => BlockKind::Text {
                text: text(content),
            },
            BlockBody::Thinking(content) => BlockKind::Thinking {
                text: text(content),
            },
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

    /// Returns the text of a text or thinking block; `None` for other kinds.
    #[must_use]
    pub fn text(self) -> Option<TextRef<'a>> {
        match self.kind() {
            BlockKind::Text { text } | BlockKind::Thinking { text } => Some(text),
            _ => None,
        }
    }
}
