//! Tool calls and their results.

use std::sync::Arc;

use crate::arena::{ShortText, Text};
use crate::log::LogStamp;
use crate::model::{Content, Location, ToolKind};
use crate::names::Name;
use crate::record::ListLinks;
use crate::record::id::{CallId, EntryId, ResultId, ThreadId};
use crate::record::time::{LineEnd, Millis};
use crate::record::usage::Tokens;
use crate::state::CallState;

/// How a call came into the transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallPresence {
    /// A message contains it.
    Announced,
    /// Only its sub-agent or its result was seen.
    Placeholder,
    /// It was retracted.
    Removed,
}

#[derive(Clone, Debug)]
pub(crate) struct CallRecord {
    pub(crate) id: ShortText,
    pub(crate) name: Name,
    pub(crate) thread: ThreadId,
    pub(crate) links: ListLinks<CallId>,
    /// The newest message that contains it.
    pub(crate) entry: Option<EntryId>,
    /// End of the last line of its block in that message, if there is one.
    pub(crate) line_end: LineEnd,
    /// Raw JSON; empty while it streams.
    pub(crate) input: Text,
    /// What only some calls have.
    pub(crate) detail: Option<Box<CallDetail>>,
    pub(crate) state: CallState,
    pub(crate) presence: CallPresence,
    pub(crate) result: Option<ResultId>,
    pub(crate) subagent: Option<ThreadId>,
    /// When it was first seen, and the offset of that line.
    pub(crate) at: Millis,
    pub(crate) offset: u64,
    pub(crate) stamp: LogStamp,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ToolResultRecord {
    pub(crate) is_error: bool,
    /// Whether the call ended while its work continues as a task.
    pub(crate) is_async: bool,
    pub(crate) text: Text,
    /// Raw JSON of the content if it holds more than text; otherwise empty.
    pub(crate) raw: Text,
    /// Byte range of its line in the stream, which also holds the tool's structured output.
    pub(crate) offset: u64,
    pub(crate) end: u64,
    pub(crate) at: Millis,
}

/// What a dialect says of a call beyond its name, input and result; the host's input.
///
/// The lists are replaced as a whole and shared by copies.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallDetail {
    /// Raw JSON of the input that the host substituted.
    pub(crate) updated_input: Text,
    /// Whether a dialect says what it shows.
    pub(crate) is_shown: bool,
    pub(crate) title: Text,
    pub(crate) kind: Option<ToolKind>,
    pub(crate) locations: Arc<[Location]>,
    pub(crate) content: Arc<[Content]>,
    /// What the command printed so far.
    pub(crate) output: Option<Text>,
    pub(crate) exit_code: Option<i64>,
    pub(crate) usage: Option<Tokens>,
    /// When it ended without a result, and the offset after its last line.
    pub(crate) ended: Millis,
    pub(crate) end: u64,
}
