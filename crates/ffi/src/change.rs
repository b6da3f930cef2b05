//! Changes of a transcript as exported values.

mod call;
mod convert;
mod request;
mod session;
mod view;

pub(crate) use convert::{batch, block, call, entry};

pub use call::{
    ByteRange, CallContent, CallState, FileLocation, SubagentView, ThreadState, TokenUsage,
    ToolCallView, ToolKind, ToolResultView,
};
pub use request::{
    AnswerKind, DecidedBy, PermissionState, PermissionView, QuestionChoice, QuestionKind,
    RequestKind, RequestOption, RequestQuestion,
};
pub use session::{
    AgentCommand, ContextView, OptionChoice, PlanItem, PlanPriority, PlanState, QueuedPrompt,
    QueuedState, SessionOption, SessionView, ThreadView, UsageLimit,
};
pub use view::{
    BlockKind, EntryDetail, EntryErrorKind, EntryKind, MessageState, ModelUsage, Phase, StatsView,
    TaskState, TaskView, TurnOutcome, UnknownCount, UsageView,
};

/// The changes between two cursors of a transcript. Apply them in order.
#[derive(Clone, Debug, uniffi::Record)]
pub struct ChangeBatch {
    /// The cursor for the next read.
    pub cursor: u64,
    /// Whether to discard all earlier state before applying the batch. True for the first batch from
    /// cursor 0, and later when the changes after the given cursor are no longer kept.
    pub is_reset: bool,
    /// The changes. Each carries the new state of one item, not the difference.
    pub changes: Vec<Change>,
}

/// A change of a transcript.
///
/// Numbers name entries, blocks, calls, tasks and requests for the life of the transcript. Items are
/// ordered by number.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum Change {
    /// The conversation, agent, plan or settings changed.
    Session {
        /// The new state.
        value: SessionView,
    },
    /// The phase changed.
    Status {
        /// The new phase.
        phase: Phase,
        /// A short description of the evidence for the phase.
        reason: String,
    },
    /// An entry was added or changed. Its blocks are separate changes.
    Entry {
        /// The entry's number.
        entry: u32,
        /// The id of the tool call whose sub-agent wrote the entry, or the name of a thread that no
        /// call holds; absent on the main thread.
        thread: Option<String>,
        /// The entry's turn, time and place.
        detail: EntryDetail,
        /// The entry's content without blocks.
        value: EntryKind,
    },
    /// An entry was removed.
    EntryRemoved {
        /// The entry's number.
        entry: u32,
    },
    /// A block was added or replaced.
    Block {
        /// The block's number.
        block: u32,
        /// The number of the entry that contains the block.
        entry: u32,
        /// The block's lines in the agent's output.
        bytes: ByteRange,
        /// The block's content.
        value: BlockKind,
    },
    /// Text was appended to a block: keep the first `from` bytes, then append `text`.
    Append {
        /// The block's number.
        block: u32,
        /// The number of UTF-8 bytes to keep. Less than all if the agent corrected its text.
        from: u32,
        /// The new end of the block's lines in the agent's output, as a byte offset.
        end: u64,
        /// The text to append.
        text: String,
    },
    /// A block was removed.
    BlockRemoved {
        /// The block's number.
        block: u32,
    },
    /// A tool call was added or changed. Its sub-agent's entries are separate changes.
    ToolCall {
        /// The call's number.
        call: u32,
        /// The id of the tool call whose sub-agent made the call, or the name of a thread that no call
        /// holds; absent on the main thread. May change.
        thread: Option<String>,
        /// The new state.
        value: ToolCallView,
    },
    /// A tool call was removed.
    ToolCallRemoved {
        /// The call's number.
        call: u32,
    },
    /// A background task was added or changed.
    BackgroundTask {
        /// The task's number.
        number: u32,
        /// The new state.
        value: TaskView,
    },
    /// A permission request was added or changed.
    Permission {
        /// The request's number.
        number: u32,
        /// The new state.
        value: PermissionView,
    },
    /// The token usage or cost changed.
    Usage {
        /// The new totals.
        value: UsageView,
    },
    /// The counts of lines and events changed.
    Stats {
        /// The new totals.
        value: StatsView,
    },
}
