//! The words for states, as they stand in the transcript's JSON.

use serde::Serialize;

/// What a session is doing. It is derived from evidence and never set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The agent has given no sign of life yet.
    #[default]
    Starting,
    /// No turn, tool, task or permission request is open.
    Idle,
    /// A turn, a tool or a task is open.
    Running,
    /// The agent waits for an answer to a permission request.
    AwaitingPermission,
    /// The process is gone, or the recording is over.
    Ended,
}

/// Where an API message stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageState {
    /// It grows.
    Streaming,
    /// It is whole.
    #[default]
    Complete,
    /// It was cut, by an interrupt or by the end of the stream.
    Aborted,
}

/// How a turn ended (protocol, section A.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The agent finished.
    #[default]
    Completed,
    /// It was interrupted.
    Cancelled,
    /// It failed; API failures come as `subtype: "success"` with `is_error: true`.
    Failed,
    /// A hook put a tool call off.
    Suspended,
}

/// What became of a tool call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// Its input is still being written.
    #[default]
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
    /// Its result will not come: the turn or the process ended without it.
    Lost,
}

impl CallState {
    /// Whether a result may still come.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(
            self,
            Self::Pending | Self::AwaitingPermission | Self::Running
        )
    }
}

/// What became of a permission request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionState {
    /// Nobody has answered yet.
    #[default]
    Open,
    /// The host allowed it, or the stream holds the host's own answer.
    Allowed,
    /// The host denied it.
    Denied,
    /// Its tool call ended, so somebody answered; the answer is not in the stream.
    Answered,
    /// The agent took it back.
    Withdrawn,
    /// The stream ended, or the turn was interrupted, before an answer.
    Expired,
    /// The stream ended before an answer, and the call it asks for was never announced.
    Orphaned,
}

/// What became of a task. The agent's `stopped` and `killed` are one state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// It waits to run.
    Pending,
    /// It runs.
    #[default]
    Running,
    /// It finished.
    Completed,
    /// It failed.
    Failed,
    /// Somebody stopped it.
    Killed,
    /// It rests, and may run on.
    Paused,
    /// Its end was not told: the process ended, or it left the list of background tasks.
    Lost,
}

impl TaskState {
    /// Whether it may still do something.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Running | Self::Paused)
    }

    /// The agent's words (protocol, section A.12), `stopped` among them.
    pub(crate) fn of(word: &str) -> Option<Self> {
        Some(match word {
            "pending" => Self::Pending,
            "running" => Self::Running,
            "completed" => Self::Completed,
            "failed" => Self::Failed,
            "killed" | "stopped" => Self::Killed,
            "paused" => Self::Paused,
            _ => return None,
        })
    }
}

/// What an error entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
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
    /// A part of the stream is missing.
    Gap,
}
