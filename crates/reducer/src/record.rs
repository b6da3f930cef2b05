//! The records that a transcript is made of. They hold ids and spans, never text.

mod row;

use std::fmt;
use std::num::NonZeroU32;

use serde::{Serialize, Serializer};

use crate::arena::{Atom, Text};
use crate::ident::Ident;
use crate::log::Stamp;
use crate::names::Name;
use crate::number::U48;
use crate::state::{CallState, ErrorKind, MessageState, Outcome, PermissionState, TaskState};

macro_rules! id {
    ($(#[$doc:meta])* $vis:vis $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis struct $name(NonZeroU32);

        impl $name {
            // One more than the number, so that an id that may be missing is no larger.
            pub(crate) const fn new(number: u32) -> Self {
                Self(NonZeroU32::MIN.saturating_add(number))
            }

            /// The number; it is never used again for anything else in the transcript.
            #[must_use]
            $vis const fn number(self) -> u32 {
                self.0.get() - 1
            }

            pub(crate) const fn at(self) -> usize {
                self.number() as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.number()).finish()
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_u32(self.number())
            }
        }
    };
}

id! {
    /// Names an entry. Ids grow in the order in which entries stand.
    pub EntryId
}
id! {
    /// Names a block. Ids grow in the order in which the blocks of an entry stand.
    pub BlockId
}
id! {
    /// Names a tool call. Ids grow in the order of announcement.
    pub CallId
}
id! {
    /// Names a thread: the main one, or that of a sub-agent.
    pub ThreadId
}
id! {
    /// Names a task.
    pub TaskId
}
id! {
    /// Names a permission request.
    pub PermissionId
}

id! {
    /// Names what a tool gave back.
    pub(crate) ResultId
}

impl ThreadId {
    pub(crate) const MAIN: Self = Self::new(0);
}

/// A sequence of entries: the main one, or that of a sub-agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadRecord {
    /// The call that holds it; none for the main thread.
    pub(crate) call: Option<CallId>,
    pub(crate) agent_id: Atom,
    pub(crate) agent_type: Name,
    pub(crate) entries: Ends<EntryId>,
    pub(crate) calls: Ends<CallId>,
    /// Calls without a result.
    pub(crate) open: Vec<CallId>,
    /// How many sub-agents nest in it at most.
    pub(crate) height: u32,
    /// Calls that were turned down and may turn out to be interrupted.
    pub(crate) rejected: Vec<CallId>,
}

/// The ends of a list whose records point at each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends<I> {
    pub(crate) first: Option<I>,
    pub(crate) last: Option<I>,
}

impl<I> Default for Ends<I> {
    fn default() -> Self {
        Self {
            first: None,
            last: None,
        }
    }
}

impl<I> Default for Beside<I> {
    fn default() -> Self {
        Self {
            before: None,
            next: None,
        }
    }
}

/// The neighbours of a record in its list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside<I> {
    pub(crate) before: Option<I>,
    pub(crate) next: Option<I>,
}

#[derive(Clone, Debug)]
pub(crate) struct EntryRecord {
    pub(crate) thread: ThreadId,
    pub(crate) beside: Beside<EntryId>,
    pub(crate) is_removed: bool,
    pub(crate) at_ms: U48,
    pub(crate) offset: U48,
    pub(crate) stamp: Stamp,
    pub(crate) body: EntryBody,
}

#[derive(Clone, Debug)]
pub(crate) enum EntryBody {
    User(UserRecord),
    Assistant(MessageRecord),
    Result(Box<ResultRecord>),
    Notice { notice: Name, text: Text },
    Error { error: ErrorKind, text: Text },
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UserRecord {
    pub(crate) uuid: Atom,
    pub(crate) text: Text,
    pub(crate) is_replay: bool,
    pub(crate) is_synthetic: bool,
    /// The host said it: its uuid names nothing else.
    pub(crate) is_sent: bool,
    /// The host said it; the agent has not echoed it yet.
    pub(crate) is_unconfirmed: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MessageRecord {
    pub(crate) message_id: Ident,
    pub(crate) model: Name,
    pub(crate) state: MessageState,
    /// Its blocks are a list: the first, the last, and each points to the next.
    pub(crate) first: Option<BlockId>,
    pub(crate) last: Option<BlockId>,
    /// How many blocks stand.
    pub(crate) live: u32,
    /// How many of them are drafts, and where the first of those is found at the earliest: a line
    /// is not to pass every block that came before it.
    pub(crate) drafted: u32,
    pub(crate) first_drafted: Option<BlockId>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ResultRecord {
    pub(crate) subtype: Name,
    pub(crate) is_error: bool,
    pub(crate) outcome: Outcome,
    pub(crate) text: Option<Text>,
    pub(crate) origin: Option<Name>,
    pub(crate) terminal_reason: Option<Name>,
    pub(crate) num_turns: u64,
    pub(crate) duration_ms: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct BlockRecord {
    pub(crate) entry: EntryId,
    pub(crate) next: Option<BlockId>,
    /// `index` in the API's stream.
    pub(crate) index: u32,
    /// The first block of the line that brought it, for `supersedes`; none before its line.
    pub(crate) line: Option<BlockId>,
    pub(crate) body: BlockBody,
    pub(crate) stage: Stage,
    pub(crate) is_removed: bool,
    /// Half of a surrogate pair at the end of the text, or 0.
    pub(crate) high: u16,
    /// When the block or its text was logged last.
    pub(crate) stamp: Stamp,
    /// Whether it was its text alone that was logged last.
    pub(crate) was_text: bool,
}

impl BlockRecord {
    /// Whether it stands and its line has not come.
    pub(crate) fn is_drafted(&self) -> bool {
        !self.is_removed && self.stage != Stage::Final
    }
}

/// How far a block has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// A draft that grows.
    Open,
    /// A draft that was stopped; its line has not come.
    Stopped,
    /// Its line has come.
    Final,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockBody {
    Text(Text),
    Thinking(Text),
    Redacted,
    Call(CallId),
    /// Raw JSON.
    Other(Text),
}

impl BlockBody {
    /// The text that deltas add to.
    pub(crate) const fn text_mut(&mut self) -> Option<&mut Text> {
        match self {
            Self::Text(text) | Self::Thinking(text) => Some(text),
            _ => None,
        }
    }

    /// Whether both are of the same type; calls, when they are the same call.
    pub(crate) fn is_like(self, other: Self) -> bool {
        match (self, other) {
            (Self::Call(one), Self::Call(two)) => one == two,
            _ => std::mem::discriminant(&self) == std::mem::discriminant(&other),
        }
    }
}

/// Whether a call stands in the transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// A message holds it.
    Announced,
    /// Its sub-agent was seen; the call itself was not.
    Placeholder,
    /// It was taken back.
    Removed,
}

#[derive(Clone, Debug)]
pub(crate) struct CallRecord {
    pub(crate) id: Ident,
    pub(crate) name: Name,
    pub(crate) thread: ThreadId,
    pub(crate) beside: Beside<CallId>,
    /// The newest message that holds it.
    pub(crate) entry: Option<EntryId>,
    /// Raw JSON; empty while it is being written.
    pub(crate) input: Text,
    /// Raw JSON of what the host let run instead.
    pub(crate) updated_input: Option<Box<Text>>,
    pub(crate) state: CallState,
    pub(crate) standing: Standing,
    pub(crate) result: Option<ResultId>,
    pub(crate) subagent: Option<ThreadId>,
    pub(crate) stamp: Stamp,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ToolResultRecord {
    pub(crate) is_error: bool,
    /// The call closed, and its work goes on as a task.
    pub(crate) is_async: bool,
    pub(crate) text: Text,
    /// Raw JSON of the content, when it holds more than text; otherwise empty.
    pub(crate) raw: Text,
    /// Where the line stands in the log; it holds the tool's structured output.
    pub(crate) offset: U48,
    pub(crate) end: U48,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct TaskRecord {
    pub(crate) id: Atom,
    pub(crate) run: Atom,
    pub(crate) kind: Name,
    pub(crate) state: TaskState,
    pub(crate) description: Text,
    pub(crate) activity: Text,
    pub(crate) summary: Text,
    pub(crate) tool_use_id: Option<Atom>,
    /// The next task of the same call.
    pub(crate) next_of_call: Option<TaskId>,
    pub(crate) is_backgrounded: bool,
    pub(crate) stamp: Stamp,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct PermissionRecord {
    pub(crate) request_id: Atom,
    pub(crate) tool_use_id: Option<Atom>,
    pub(crate) tool_name: Name,
    pub(crate) agent_id: Option<Atom>,
    pub(crate) state: PermissionState,
    /// Raw JSON of the whole request.
    pub(crate) request: Text,
    pub(crate) at_ms: u64,
    pub(crate) stamp: Stamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a transcript of short texts weighs is mostly these.
    #[test]
    fn records_are_as_small_as_they_were_made() {
        let sizes = [
            size_of::<EntryRecord>(),
            size_of::<BlockRecord>(),
            size_of::<CallRecord>(),
            size_of::<ToolResultRecord>(),
        ];
        assert_eq!(sizes, [88, 48, 88, 48]);
    }
}
