//! What changes hold.

use crate::core::reducer;

use crate::mirror::mirror;

/// The session's conversation, model and mode.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct SessionView {
    /// The agent's session that is in force; `/clear` replaces it.
    pub session_id: Option<String>,
    /// Every session of the agent, in order.
    pub conversations: Vec<String>,
    /// The model in force.
    pub model: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The agent's version.
    pub cli_version: Option<String>,
    /// The permission mode, such as `default`, `acceptEdits` or `plan`.
    pub permission_mode: Option<String>,
}

mirror! {
    /// What a session is doing. It is derived from evidence and never set.
    Phase = reducer::Phase {
        /// The agent has given no sign of life yet.
        Starting,
        /// Nothing is open.
        Idle,
        /// A turn, a tool or a task is open.
        Running,
        /// The agent waits for an answer to a permission request.
        AwaitingPermission,
        /// The process is gone, or the recording is over.
        Ended,
    }
}

mirror! {
    /// Where a message stands.
    MessageState = reducer::MessageState {
        /// It grows.
        Streaming,
        /// It is whole.
        Complete,
        /// It was cut, by an interrupt or by the end of the stream.
        Aborted,
    }
}

mirror! {
    /// How a turn ended.
    Outcome = reducer::Outcome {
        /// The agent finished.
        Completed,
        /// It was interrupted.
        Cancelled,
        /// It failed.
        Failed,
        /// A hook put a tool call off.
        Suspended,
    }
}

mirror! {
    /// What became of a tool call.
    CallState = reducer::CallState {
        /// Its input is still being written.
        Pending,
        /// The agent asks whether it may run.
        AwaitingPermission,
        /// It runs.
        Running,
        /// It gave a result.
        Succeeded,
        /// It gave an error.
        Failed,
        /// An interrupt ended it.
        Interrupted,
        /// Its result will not come.
        Lost,
    }
}

mirror! {
    /// What became of a permission request.
    PermissionState = reducer::PermissionState {
        /// Nobody has answered yet.
        Open,
        /// The host allowed it.
        Allowed,
        /// The host denied it.
        Denied,
        /// Somebody answered; the answer is not in the stream.
        Answered,
        /// The agent took it back.
        Withdrawn,
        /// The stream ended, or the turn was interrupted, before an answer.
        Expired,
        /// The stream ended before an answer, and the call was never announced.
        Orphaned,
    }
}

mirror! {
    /// What became of a task.
    TaskState = reducer::TaskState {
        /// It waits to run.
        Pending,
        /// It runs.
        Running,
        /// It finished.
        Completed,
        /// It failed.
        Failed,
        /// Somebody stopped it.
        Killed,
        /// It rests, and may run on.
        Paused,
        /// Its end was not told.
        Lost,
    }
}

mirror! {
    /// What an error entry is about.
    EntryErrorKind = reducer::ErrorKind {
        /// A line is not an event.
        Parse,
        /// The input ended inside a line.
        Truncated,
        /// The process ended without being asked to.
        UnexpectedExit,
        /// A lost connection could not be restored.
        ReconnectFailed,
        /// The agent was silent for too long.
        SessionTimeout,
        /// A part of the stream is missing; the text says which.
        Gap,
    }
}

/// What an entry says.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum EntryKind {
    /// A prompt.
    User {
        /// The uuid of the line, or of the host's prompt.
        uuid: Option<String>,
        /// What was said.
        text: String,
        /// The agent echoed it.
        is_replay: bool,
        /// The agent wrote it itself.
        is_synthetic: bool,
    },
    /// A message of the model; its blocks come as changes of their own.
    Assistant {
        /// The API's `message.id`.
        message_id: String,
        /// The model.
        model: Option<String>,
        /// Where it stands.
        state: MessageState,
    },
    /// The end of a turn.
    Result {
        /// `success`, `error_during_execution`, …
        subtype: String,
        /// Whether the turn failed; independent of `subtype`.
        is_error: bool,
        /// How it ended.
        outcome: Outcome,
        /// The final text, or what went wrong.
        text: Option<String>,
        /// What started the turn, when the host did not.
        origin: Option<String>,
        /// Round trips to the model.
        num_turns: u64,
        /// Wall time in milliseconds.
        duration_ms: u64,
    },
    /// Something to know beside the conversation.
    Notice {
        /// The type or system subtype of its line.
        notice: String,
        /// What to know.
        text: String,
    },
    /// Something went wrong with the stream.
    Error {
        /// What it is about.
        kind: EntryErrorKind,
        /// What went wrong.
        text: String,
    },
}

/// What a block holds.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum BlockKind {
    /// Something said.
    Text {
        /// The text, as far as it has come.
        text: String,
    },
    /// Reasoning; empty when the agent does not show it.
    Thinking {
        /// The text, as far as it has come.
        text: String,
    },
    /// Reasoning that nobody may read.
    RedactedThinking,
    /// A call of a tool.
    ToolCall {
        /// The `tool_use` id.
        id: String,
    },
    /// A block of another type.
    Other {
        /// The block as it was written, a JSON value.
        json: String,
    },
}

/// A tool call and what became of it.
#[derive(Clone, Debug, uniffi::Record)]
pub struct ToolCallView {
    /// The `tool_use` id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments, a JSON value; absent while the model writes them.
    pub input: Option<String>,
    /// What became of it.
    pub state: CallState,
    /// What it gave back.
    pub result: Option<ToolResultView>,
    /// The sub-agent that it started.
    pub subagent: Option<SubagentView>,
}

/// What a tool gave back.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ToolResultView {
    /// Whether the tool failed.
    pub is_error: bool,
    /// Its text, with placeholders for everything else.
    pub text: String,
}

/// A sub-agent; what it says comes as entries of its thread.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct SubagentView {
    /// Its id, the `task_id` of its task.
    pub agent_id: Option<String>,
    /// Its kind, such as `general-purpose`.
    pub agent_type: Option<String>,
}

/// Background work that the agent announced.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct TaskView {
    /// Its `task_id`.
    pub id: String,
    /// Its type: `local_bash`, `local_agent`, …
    pub kind: Option<String>,
    /// What became of it.
    pub state: TaskState,
    /// What it is for.
    pub description: String,
    /// The call that started it.
    pub tool_use_id: Option<String>,
}

/// A permission request.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct PermissionView {
    /// Names the request in the host's answer.
    pub request_id: String,
    /// The call.
    pub tool_use_id: Option<String>,
    /// The tool.
    pub tool_name: String,
    /// What became of it.
    pub state: PermissionState,
    /// While it is open, the arguments that the tool would run with, a JSON object.
    pub input: Option<String>,
}

/// What was used, over all conversations of the session.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct UsageView {
    /// Cost in US dollars.
    pub cost_usd: f64,
    /// The same as the shortest decimal number that means it, for types that count money exactly.
    pub cost_decimal: String,
    /// Tokens by model.
    pub models: Vec<ModelUsage>,
}

/// What one model has used, in tokens.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ModelUsage {
    /// The model.
    pub model: String,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Tokens read from the cache.
    pub cache_read_tokens: u64,
    /// Tokens written to the cache.
    pub cache_creation_tokens: u64,
}

/// What was counted.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct StatsView {
    /// Bytes of the lines, each with its LF.
    pub bytes: u64,
    /// Lines, the blank ones left out.
    pub lines: u64,
    /// Lines that are events.
    pub events: u64,
    /// Events that came before.
    pub duplicates: u64,
    /// Lines that are not events.
    pub parse_errors: u64,
    /// Lines of a type that this version does not know.
    pub unknown: Vec<UnknownCount>,
    /// Whether the input ended inside a line.
    pub is_truncated: bool,
}

/// Lines of one type that this version does not know.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct UnknownCount {
    /// The `type/subtype`.
    pub name: String,
    /// How many.
    pub count: u64,
}
