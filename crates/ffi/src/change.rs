//! Changes of a transcript, in shapes that cross a language border.

mod lower;
mod view;

pub(crate) use lower::{batch, block, call, entry};

pub use view::{
    BlockKind, CallState, EntryErrorKind, EntryKind, MessageState, ModelUsage, Outcome,
    PermissionState, PermissionView, Phase, SessionView, StatsView, SubagentView, TaskState,
    TaskView, ToolCallView, ToolResultView, UnknownCount, UsageView,
};

/// Changes between a cursor and a later one, to be applied in this order.
#[derive(Clone, Debug, uniffi::Record)]
pub struct ChangeBatch {
    /// The cursor to ask with the next time.
    pub cursor: u64,
    /// Forget everything first: what follows is the whole transcript as far as it goes. The first
    /// batch for cursor 0 is always one of these; a later one comes when what was in between is not
    /// kept any more.
    pub is_reset: bool,
    /// What changed. Each tells what holds now, and not how it came about.
    pub changes: Vec<Change>,
}

/// One change.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum Change {
    /// The session's conversation, model or mode.
    Session {
        /// What holds now.
        value: SessionView,
    },
    /// What the session is doing.
    Status {
        /// What it is doing.
        phase: Phase,
        /// The evidence, in a few words.
        reason: String,
    },
    /// An entry is new or changed. Its blocks come as changes of their own.
    Entry {
        /// Names the entry; entries stand in the order of their numbers.
        entry: u32,
        /// The tool call that holds its thread; none on the main thread.
        thread: Option<String>,
        /// When it began, in milliseconds since 1970; 0 in a recording.
        at_ms: u64,
        /// What it says, without blocks.
        value: EntryKind,
    },
    /// An entry was taken back.
    EntryRemoved {
        /// The entry.
        entry: u32,
    },
    /// A block is new, or changed as a whole.
    Block {
        /// Names the block; the blocks of an entry stand in the order of their numbers.
        block: u32,
        /// Its entry.
        entry: u32,
        /// What it holds.
        value: BlockKind,
    },
    /// The text of a block grew: keep its first `from` bytes of UTF-8, and append `text`.
    Append {
        /// The block.
        block: u32,
        /// Bytes of UTF-8 that stay; all of them, unless the agent corrected itself.
        from: u32,
        /// What stands behind them.
        text: String,
    },
    /// A block was taken back.
    BlockRemoved {
        /// The block.
        block: u32,
    },
    /// A tool call is new or changed. Its sub-agent's entries come as changes of their own.
    ToolCall {
        /// Names the call; the calls of a thread stand in the order of their numbers.
        call: u32,
        /// The tool call that holds its thread; none on the main thread. It may change.
        thread: Option<String>,
        /// What holds now.
        value: ToolCallView,
    },
    /// A tool call was taken back.
    ToolCallRemoved {
        /// The call.
        call: u32,
    },
    /// A task is new or changed.
    BackgroundTask {
        /// Names the task; tasks stand in the order of their numbers.
        number: u32,
        /// What holds now.
        value: TaskView,
    },
    /// A permission request is new or changed.
    Permission {
        /// Names the request; requests stand in the order of their numbers.
        number: u32,
        /// What holds now.
        value: PermissionView,
    },
    /// What was used.
    Usage {
        /// What holds now.
        value: UsageView,
    },
    /// What was counted.
    Stats {
        /// What holds now.
        value: StatsView,
    },
}
