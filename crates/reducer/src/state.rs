//! States, with the names that they have in the transcript's JSON.

use serde::Serialize;

/// Activity of a session, derived from what is open.
///
/// See [`Transcript::status`](crate::Transcript::status).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Phase {
    /// No output from the agent yet.
    #[default]
    Starting,
    /// No turn, tool, task or permission request is open.
    Idle,
    /// A turn, a tool or a task is open.
    Running,
    /// A permission request is unanswered.
    AwaitingPermission,
    /// The process has exited, or the recording is over.
    Ended,
}

/// Progress of an API message. See [`EntryKind::Assistant`](crate::EntryKind::Assistant).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MessageState {
    /// More of it is expected.
    Streaming,
    /// It is complete.
    #[default]
    Complete,
    /// It was cut short by an interrupt or the end of the stream.
    Aborted,
}

/// How a turn ended (`crates/jsonl/PROTOCOL.md`, Results). See
/// [`EntryKind::Result`](crate::EntryKind::Result).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// The agent finished.
    #[default]
    Completed,
    /// It was interrupted.
    Cancelled,
    /// It failed. API failures arrive as `subtype: "success"` with `is_error: true`.
    Failed,
    /// A hook deferred a tool call.
    Suspended,
}

/// State of a tool call. See [`ToolCall::state`](crate::ToolCall::state).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallState {
    /// Its input still streams.
    #[default]
    Pending,
    /// A permission request for it is open.
    AwaitingPermission,
    /// It runs.
    Running,
    /// It returned a result.
    Succeeded,
    /// It returned an error.
    Failed,
    /// An interrupt ended it.
    Interrupted,
    /// The turn or the process ended without its result.
    Lost,
}

impl CallState {
    /// Returns whether a result may still come.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(
            self,
            Self::Pending | Self::AwaitingPermission | Self::Running
        )
    }
}

/// State of a permission request. See [`Permission::state`](crate::Permission::state).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PermissionState {
    /// It is unanswered.
    #[default]
    Open,
    /// The host allowed it, or its answer was found in the stream.
    Allowed,
    /// The host denied it.
    Denied,
    /// Its tool call ended, so it was answered; the answer is not in the stream.
    Answered,
    /// The agent cancelled it.
    Withdrawn,
    /// The stream ended or the turn was interrupted before an answer.
    Expired,
    /// The stream ended before an answer, and the tool call was never announced.
    Orphaned,
}

/// State of a task. The agent's `stopped` and `killed` are one state. See
/// [`Task::state`](crate::Task::state).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskState {
    /// It has not started.
    Pending,
    /// It runs.
    #[default]
    Running,
    /// It finished.
    Completed,
    /// It failed.
    Failed,
    /// It was stopped.
    Killed,
    /// It is paused and may continue.
    Paused,
    /// Its end was not reported: the process ended, or it left the list of background tasks.
    Lost,
}

impl TaskState {
    /// Returns whether it may still make progress.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Running | Self::Paused)
    }

    /// Parses the agent's name of a state (`crates/jsonl/PROTOCOL.md`, Tasks).
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

/// Cause of an error entry. See [`EntryKind::Error`](crate::EntryKind::Error).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// A line is not an event.
    Parse,
    /// The input ended within a line.
    Truncated,
    /// The process ended without being asked to.
    UnexpectedExit,
    /// A lost connection was not restored.
    ReconnectFailed,
    /// The agent produced no output for too long.
    SessionTimeout,
    /// An answer to a permission request that no client gave was not written to the agent, which may wait for it.
    AnswerUndelivered,
    /// Part of the stream is missing.
    Gap,
}
