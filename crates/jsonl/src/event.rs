//! Events: parsed lines, borrowed from their window.

mod block;
mod body;
mod control;
mod line;
mod message;
mod other;
mod result;
mod stream;
mod system;
mod task;
mod template;
mod unknown;

pub use block::{Block, BlockBody, Blocks, ResultContent, ToolResult, ToolUse};
pub use body::{Body, Event};
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

pub(crate) use line::event;
pub(crate) use template::LineTemplate;
