//! The records of a transcript. They hold ids and spans; their text is in the arena.

mod call;
mod draft;
mod evidence;
mod id;
mod request;
mod session;
mod thread;
mod time;
mod turn;
mod usage;

pub(crate) use call::{CallDetail, CallPresence, CallRecord, ToolResultRecord};
pub(crate) use draft::{Draft, DraftBlocks, DraftedBlocks};
pub(crate) use evidence::{Ended, Evidence};
pub(crate) use id::ResultId;
pub use id::{BlockId, CallId, EntryId, PermissionId, TaskId, ThreadId};
pub(crate) use request::{PermissionRecord, RequestDetail};
pub(crate) use session::{Counters, NeutralRecord, SessionRecord};
pub(crate) use thread::{ThreadDetail, ThreadRecord};
pub(crate) use time::{LineEnd, Millis};
pub(crate) use turn::{TurnId, TurnOwner};
pub(crate) use usage::{Tokens, UsageRecord};

use crate::arena::{ShortText, Text};
use crate::log::LogStamp;
use crate::names::Name;
use crate::state::{ErrorKind, MessageState, Outcome, TaskState};

/// First and last element of a linked list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListEnds<I> {
    pub(crate) first: Option<I>,
    pub(crate) last: Option<I>,
}

impl<I> Default for ListEnds<I> {
    fn default() -> Self {
        Self {
            first: None,
            last: None,
        }
    }
}

impl<I> Default for ListLinks<I> {
    fn default() -> Self {
        Self {
            previous: None,
            next: None,
        }
    }
}

/// Neighbours of a record in its linked list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListLinks<I> {
    pub(crate) previous: Option<I>,
    pub(crate) next: Option<I>,
}

#[derive(Clone, Debug)]
pub(crate) struct EntryRecord {
    pub(crate) thread: ThreadId,
    pub(crate) links: ListLinks<EntryId>,
    pub(crate) is_removed: bool,
    /// Whether it was repeated from the agent's own history.
    pub(crate) is_history: bool,
    pub(crate) at: Millis,
    /// The turn that it is part of; empty between turns.
    pub(crate) turn: TurnId,
    pub(crate) offset: u64,
    pub(crate) stamp: LogStamp,
    pub(crate) body: EntryBody,
}

#[derive(Clone, Debug)]
pub(crate) enum EntryBody {
    User(UserRecord),
    Assistant(MessageRecord),
    Result(Box<ResultRecord>),
    Notice(NoticeRecord),
    Error(ErrorRecord),
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UserRecord {
    pub(crate) uuid: ShortText,
    pub(crate) text: Text,
    pub(crate) is_replay: bool,
    pub(crate) is_synthetic: bool,
    /// Written by the host, so that its uuid belongs to no other line.
    pub(crate) is_sent: bool,
    /// Written by the host and not yet echoed by the agent.
    pub(crate) is_unconfirmed: bool,
    pub(crate) line_end: LineEnd,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct NoticeRecord {
    pub(crate) notice: Name,
    pub(crate) text: Text,
    pub(crate) line_end: LineEnd,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorRecord {
    pub(crate) error: ErrorKind,
    pub(crate) text: Text,
    pub(crate) line_end: LineEnd,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MessageRecord {
    pub(crate) message_id: ShortText,
    pub(crate) model: Name,
    pub(crate) state: MessageState,
    /// Whether its stream has ended: it is not streamed again.
    pub(crate) is_finished: bool,
    /// Whether its tokens are part of those of its thread.
    pub(crate) is_counted: bool,
    /// The blocks are a linked list: first, last, and each points to the next.
    pub(crate) first: Option<BlockId>,
    pub(crate) last: Option<BlockId>,
    /// Number of blocks that are not removed.
    pub(crate) live_blocks: u32,
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
    pub(crate) line_end: LineEnd,
}

#[derive(Clone, Debug)]
pub(crate) struct BlockRecord {
    pub(crate) entry: EntryId,
    pub(crate) next: Option<BlockId>,
    /// `index` in the API's stream.
    pub(crate) index: u32,
    /// The next block that the same line added or finished, for `supersedes`.
    pub(crate) next_of_line: Option<BlockId>,
    pub(crate) body: BlockBody,
    pub(crate) stage: BlockStage,
    /// Bytes of its lines in the stream.
    pub(crate) line_start: LineEnd,
    pub(crate) line_end: LineEnd,
    /// Pending first half of a surrogate pair at the end of the text, or 0.
    pub(crate) high_surrogate: u16,
    /// When the block or its text was last logged.
    pub(crate) stamp: LogStamp,
    /// Whether only its text was logged then.
    pub(crate) was_text: bool,
}

impl BlockRecord {
    /// Whether it is not removed and its line has not come.
    pub(crate) fn is_drafted(&self) -> bool {
        matches!(self.stage, BlockStage::Open | BlockStage::Stopped)
    }

    pub(crate) const fn is_removed(&self) -> bool {
        matches!(self.stage, BlockStage::Removed)
    }

    /// Whether it may be a part of a message that is found by its number.
    pub(crate) const fn is_part(&self) -> bool {
        matches!(self.body, BlockBody::Text(_) | BlockBody::Thinking(_)) && !self.is_removed()
    }
}

/// Progress of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockStage {
    /// A draft that grows.
    Open,
    /// A draft after its `content_block_stop`, before its line.
    Stopped,
    /// Complete: its line has come.
    Final,
    /// It was retracted.
    Removed,
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
    /// The text that deltas extend.
    pub(crate) const fn text_mut(&mut self) -> Option<&mut Text> {
        match self {
            Self::Text(text) | Self::Thinking(text) => Some(text),
            _ => None,
        }
    }

    /// Whether both are of the same type; for calls, whether they are the same call.
    pub(crate) fn is_like(self, other: Self) -> bool {
        match (self, other) {
            (Self::Call(one), Self::Call(two)) => one == two,
            _ => std::mem::discriminant(&self) == std::mem::discriminant(&other),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct TaskRecord {
    pub(crate) id: ShortText,
    pub(crate) run: ShortText,
    pub(crate) kind: Name,
    pub(crate) state: TaskState,
    pub(crate) description: Text,
    pub(crate) activity: Text,
    pub(crate) summary: Text,
    pub(crate) tool_use_id: Option<ShortText>,
    /// The next task of the same call.
    pub(crate) next_of_call: Option<TaskId>,
    pub(crate) is_backgrounded: bool,
    pub(crate) stamp: LogStamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These dominate the heap of a transcript of short texts.
    #[test]
    fn record_sizes_are_as_designed() {
        let sizes = [
            size_of::<EntryRecord>(),
            size_of::<BlockRecord>(),
            size_of::<CallRecord>(),
            size_of::<ToolResultRecord>(),
        ];
        assert_eq!(sizes, [80, 56, 96, 56]);
    }
}
