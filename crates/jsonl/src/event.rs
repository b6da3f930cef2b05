//! One parsed line, borrowed.

mod block;
mod control;
mod line;
mod message;
mod name;
mod other;
mod result;
mod speculate;
mod stream;
mod system;
mod task;

pub use block::{Block, BlockBody, Blocks, ResultContent, ToolResult, ToolUse};
pub use control::{
    CanUseTool, ControlAnswer, ControlRequest, ControlResponse, HookCallback, McpMessage,
    RequestBody,
};
pub use message::{Assistant, Message, MessageContent, Origin, Usage, User};
pub use other::{
    AuthStatus, CommandLifecycle, ConversationReset, ToolProgress, ToolUseSummary, TranscriptMirror,
};
pub use result::{ModelUsage, TurnResult};
pub use stream::{Abandoned, ApiError, ApiEvent, Delta, MessageDelta, StopDelta, StreamEvent};
pub use system::{
    ApiRetry, CommandsChanged, CompactBoundary, CompactMetadata, ControlRequestProgress,
    ElicitationComplete, FilesPersisted, HookProgress, HookResponse, HookStarted, Informational,
    Init, LocalCommandOutput, MemoryRecall, MirrorError, ModelRefusal, Notification,
    PermissionCheckStatus, PermissionDenied, PluginInstall, SessionStateChanged,
    SessionTitleChanged, SessionWritesLost, Status, System, SystemBody, ThinkingTokens,
    WorkerShuttingDown,
};
pub use task::{
    BackgroundTasksChanged, TaskNotification, TaskPatch, TaskProgress, TaskStarted, TaskUpdated,
    TaskUsage,
};

pub(crate) use line::{Envelope, walk};
pub(crate) use speculate::Spelling;

use crate::raw::RawJson;
use crate::text::Str;

/// One parsed line (protocol, section A).
///
/// Fields that are named here are typed; every other field of the line is in [`Event::raw`].
#[derive(Clone, Debug)]
pub struct Event<'a> {
    /// Unique per line; control frames and heartbeats have none.
    pub uuid: Option<Str<'a>>,
    /// The agent's session; it changes in mid-stream after `/clear`.
    pub session_id: Option<Str<'a>>,
    /// The tool use that spawned the sub-agent this line belongs to; none on the main thread.
    pub parent_tool_use_id: Option<Str<'a>>,
    /// What the line says.
    pub body: Body<'a>,
    /// The whole line.
    pub raw: RawJson<'a>,
}

/// What a line says, by its `type` (protocol, section A.3).
///
/// Rare and large families are boxed, so that an event stays small.
#[derive(Clone, Debug)]
pub enum Body<'a> {
    /// `system`: the status family.
    System(Box<System<'a>>),
    /// `assistant`: one finished block (usually) of an API message.
    Assistant(Box<Assistant<'a>>),
    /// `user`: tool results, prompts that the agent wrote itself, echoes.
    User(Box<User<'a>>),
    /// `result`: the end of a turn.
    Result(Box<TurnResult<'a>>),
    /// `stream_event`: one streaming event of the API.
    Stream(StreamEvent<'a>),
    /// `control_request`: the agent asks the host.
    ControlRequest(Box<ControlRequest<'a>>),
    /// `control_response`: the agent answers the host.
    ControlResponse(Box<ControlResponse<'a>>),
    /// `control_cancel_request`: the agent withdraws its own request.
    ControlCancelRequest {
        /// The withdrawn request.
        request_id: Option<Str<'a>>,
    },
    /// `keep_alive`: a heartbeat.
    KeepAlive,
    /// `tool_progress`: a tool is still running.
    ToolProgress(Box<ToolProgress<'a>>),
    /// `tool_use_summary`: a summary of the tool calls before it.
    ToolUseSummary(Box<ToolUseSummary<'a>>),
    /// `rate_limit_event`: the limits of the subscription changed.
    RateLimit {
        /// The `rate_limit_info` object.
        info: Option<RawJson<'a>>,
    },
    /// `auth_status`: output of a login.
    AuthStatus(Box<AuthStatus<'a>>),
    /// `prompt_suggestion`: what the user might ask next.
    PromptSuggestion {
        /// The suggested prompt.
        suggestion: Option<Str<'a>>,
    },
    /// `conversation_reset`: the conversation was replaced.
    ConversationReset(Box<ConversationReset<'a>>),
    /// `active_goal`: the state of a goal.
    ActiveGoal {
        /// The goal, or none.
        value: Option<RawJson<'a>>,
    },
    /// `command_lifecycle`: what became of a prompt that carried a uuid.
    CommandLifecycle(Box<CommandLifecycle<'a>>),
    /// `transcript_mirror`: copies of transcript lines.
    TranscriptMirror(Box<TranscriptMirror<'a>>),
    /// A type that this crate does not know, or no type at all.
    Unknown {
        /// The `type`, when it is a string.
        kind: Option<Str<'a>>,
    },
}
