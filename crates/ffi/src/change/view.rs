//! The other values that changes carry.

use super::call::ByteRange;
use crate::core::reducer;
use crate::mirror::mirror;

mirror! {
    /// The activity of a session. It is derived from the agent's output and process state.
    Phase = reducer::Phase, else Running {
        /// The agent has written nothing yet.
        Starting,
        /// No turn, tool or task is open.
        Idle,
        /// A turn, tool or task is open.
        Running,
        /// The agent waits for the answer to a permission request.
        AwaitingPermission,
        /// The process has exited, or the recording is complete.
        Ended,
    }
}

mirror! {
    /// The state of an assistant message.
    MessageState = reducer::MessageState, else Complete {
        /// The message is being written.
        Streaming,
        /// The message is complete.
        Complete,
        /// The message was cut off by an interrupt or by the end of the stream.
        Aborted,
    }
}

mirror! {
    /// How a turn ended.
    TurnOutcome = reducer::Outcome, else Failed {
        /// The agent finished.
        Completed,
        /// The turn was interrupted.
        Cancelled,
        /// The turn failed.
        Failed,
        /// A hook deferred a tool call.
        Suspended,
    }
}

mirror! {
    /// The state of a background task.
    TaskState = reducer::TaskState, else Running {
        /// The task waits to run.
        Pending,
        /// The task is running.
        Running,
        /// The task finished.
        Completed,
        /// The task failed.
        Failed,
        /// The task was stopped.
        Killed,
        /// The task is paused and can continue.
        Paused,
        /// The stream ended before the task did.
        Lost,
    }
}

mirror! {
    /// The kind of an error entry.
    EntryErrorKind = reducer::ErrorKind, else Parse {
        /// A line could not be parsed.
        Parse,
        /// The input ended inside a line.
        Truncated,
        /// The process exited without being asked to.
        UnexpectedExit,
        /// A lost connection could not be restored.
        ReconnectFailed,
        /// The agent was silent for longer than the watchdog allows.
        SessionTimeout,
        /// An answer to a permission request that no client gave could not be written to the agent, which may
        /// wait for it.
        AnswerUndelivered,
        /// A part of the stream is missing. The text names the byte range.
        Gap,
    }
}

/// What every entry has beside its content.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct EntryDetail {
    /// The turn: the agent's id, or its number in the session from `1`; absent between turns.
    pub turn: Option<String>,
    /// When the entry began, in milliseconds since 1970; absent in most recordings.
    pub at_ms: Option<u64>,
    /// The entry's lines in the agent's output. An entry with blocks ends with the last of them.
    pub bytes: ByteRange,
    /// Whether the agent repeated the entry from its own history.
    pub is_history: bool,
}

/// The content of a transcript entry.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum EntryKind {
    /// A prompt.
    User {
        /// The uuid of the line or of the host's prompt.
        uuid: Option<String>,
        /// The prompt's text.
        text: String,
        /// Whether the agent echoed the prompt.
        is_replay: bool,
        /// Whether the agent generated the prompt.
        is_synthetic: bool,
    },
    /// A message of the model. Its blocks are separate changes.
    Assistant {
        /// The API's `message.id`.
        message_id: String,
        /// The model.
        model: Option<String>,
        /// The state of the message.
        state: MessageState,
    },
    /// The end of a turn.
    Result {
        /// The agent's result subtype, such as `success` or `error_during_execution`.
        subtype: String,
        /// Whether the turn failed. Independent of `subtype`.
        is_error: bool,
        /// How the turn ended.
        outcome: TurnOutcome,
        /// The final text or the error message.
        text: Option<String>,
        /// What started the turn, if not a prompt of the host.
        origin: Option<String>,
        /// The number of requests to the model.
        num_turns: u64,
        /// The wall-clock time of the turn in milliseconds.
        duration_ms: u64,
    },
    /// An informational message outside the conversation.
    Notice {
        /// The type, or the system subtype, of the line.
        notice: String,
        /// The message.
        text: String,
    },
    /// An error of the stream or the process.
    Error {
        /// The kind of error.
        kind: EntryErrorKind,
        /// The message.
        text: String,
    },
}

/// The content of a block.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum BlockKind {
    /// Text of the model.
    Text {
        /// The text so far.
        text: String,
    },
    /// Reasoning of the model. Empty if the agent does not include it.
    Thinking {
        /// The text so far.
        text: String,
    },
    /// Encrypted reasoning.
    RedactedThinking,
    /// A tool call.
    ToolCall {
        /// The `tool_use` id.
        id: String,
    },
    /// A block of another type.
    Other {
        /// The block as a JSON value.
        json: String,
    },
}

/// A background task of the agent.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct TaskView {
    /// The task's `task_id`.
    pub id: String,
    /// The task's type, such as `local_bash` or `local_agent`.
    pub kind: Option<String>,
    /// The state of the task.
    pub state: TaskState,
    /// The task's description.
    pub description: String,
    /// The tool call that started the task.
    pub tool_use_id: Option<String>,
}

/// Token usage and cost of all conversations of the session.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct UsageView {
    /// The cost in US dollars.
    pub cost_usd: f64,
    /// The cost as a decimal number, for types that represent money exactly.
    pub cost_decimal: String,
    /// Tokens by model.
    pub models: Vec<ModelUsage>,
}

/// The token usage of one model.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ModelUsage {
    /// The model.
    pub model: String,
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Tokens read from the prompt cache.
    pub cache_read_tokens: u64,
    /// Tokens written to the prompt cache.
    pub cache_creation_tokens: u64,
}

/// Counts of the agent's output.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct StatsView {
    /// Bytes of all lines including their line feeds.
    pub bytes: u64,
    /// Lines that are not blank.
    pub lines: u64,
    /// Lines that are events.
    pub events: u64,
    /// Events that were received before.
    pub duplicates: u64,
    /// Lines that could not be parsed.
    pub parse_errors: u64,
    /// Lines of types that this version does not know.
    pub unknown: Vec<UnknownCount>,
    /// Whether the input ended inside a line.
    pub is_truncated: bool,
    /// Bytes that are missing in gaps.
    pub missing: u64,
    /// Whether a part of unknown length is missing, because the stream is damaged or cut.
    pub is_damaged: bool,
}

/// The number of lines of one unknown type.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct UnknownCount {
    /// The type as `type/subtype`.
    pub name: String,
    /// The number of lines.
    pub count: u64,
}
