//! Sessions as the REST API of a runner represents them.

use std::collections::BTreeMap;
use std::fmt;

use bowline_journal::Damage;
use bowline_process::{ExitStatus, SessionId};
use bowline_wire::{Epoch, ExitNotice, SessionKind, StdioKind};
use serde::{Deserialize, Serialize};

/// The sessions of a runner: the response to `GET /api/sessions`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Sessions))]
pub struct SessionList {
    /// The sessions, oldest first.
    pub sessions: Vec<SessionSummary>,
    /// Where the list continues, if it was limited: the parameter `after` of the next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A session as the REST API lists it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Session))]
pub struct SessionSummary {
    /// Id of the session.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub id: SessionId,
    /// Display name.
    pub name: Option<String>,
    /// Kind of session.
    pub kind: SessionKind,
    /// The child's standard streams: `pipes` or `pty`.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub stdio: StdioKind,
    /// The program that was started.
    pub program: String,
    /// The working directory, if one was given.
    pub cwd: Option<String>,
    /// Labels that the creator has set.
    pub labels: BTreeMap<String, String>,
    /// Text of the session's hosts, at most 64 KiB, from a request for one session; a list omits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<String>,
    /// State of the session.
    pub state: SessionSummaryState,
    /// Incarnation of the child.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub epoch: Epoch,
    /// Process id of the child, while it runs.
    pub pid: Option<u32>,
    /// When the session was started, in milliseconds since the Unix epoch.
    pub started_ms: u64,
    /// When the session ended, in milliseconds since the Unix epoch.
    pub ended_ms: Option<u64>,
    /// How the session ended.
    pub exit: Option<SessionExit>,
    /// What of the session cannot be read, if anything. If that is its metadata, the other fields are
    /// defaults, except `id` and `state`. Only a request for one session reads its log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damage: Option<SessionDamage>,
    /// What the session does, as far as the runner knows it.
    #[serde(flatten)]
    pub activity: SessionActivity,
}

/// What a session does, as its runner knows it: of a dialogue that it drives. All is `null` that is not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Activity))]
#[serde(default)]
pub struct SessionActivity {
    /// What the conversation is about: its title, or its first prompt.
    pub title: Option<String>,
    /// The phase: `starting`, `idle`, `running`, `awaiting_permission`, `ended` or `lost`.
    pub phase: Option<String>,
    /// Why it is in this phase, as text.
    pub reason: Option<String>,
    /// The agent's id of its conversation.
    pub conversation: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Cost so far, in US dollars.
    pub cost_usd: Option<f64>,
    /// Tokens of the context that are used.
    pub context_used: Option<u64>,
    /// Tokens of the context that there are.
    pub context_size: Option<u64>,
    /// Number of open permission requests.
    pub open_permissions: Option<u64>,
    /// Number of hosts that are attached through this daemon.
    pub hosts: Option<u64>,
}

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = State))]
#[non_exhaustive]
pub enum SessionSummaryState {
    /// The session runs.
    Running,
    /// The session has ended.
    Exited,
    /// The session's process was killed; its descendants were killed too.
    Lost,
}

/// The exit status of a session's child. Both `code` and `signal` are absent if it is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Exit))]
pub struct SessionExit {
    /// The exit code, unless a signal ended the child.
    pub code: Option<i32>,
    /// The signal that ended the child.
    pub signal: Option<i32>,
    /// Whether the kernel killed the child for lack of memory.
    pub oom: bool,
}

/// Why a part of a session's log, or its metadata, cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Damage))]
pub struct SessionDamage {
    /// The damaged segment of the log's journal, unless the metadata is damaged or the journal is of
    /// another version.
    pub segment: Option<u32>,
    /// Offset in the segment's file of the first byte that cannot be read.
    pub offset: Option<u64>,
    /// What is wrong, as text.
    pub reason: String,
}

impl fmt::Display for SessionSummaryState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running => "running",
            Self::Exited => "exited",
            Self::Lost => "lost",
        })
    }
}

impl From<&ExitNotice> for SessionExit {
    fn from(notice: &ExitNotice) -> Self {
        let (code, signal) = match notice.status {
            ExitStatus::Code(code) => (Some(code), None),
            ExitStatus::Signal(signal) => (None, Some(signal)),
            ExitStatus::Unknown => (None, None),
        };
        let oom = notice.oom;
        Self { code, signal, oom }
    }
}

impl SessionDamage {
    /// Returns damage that is not at an offset of the log.
    #[must_use]
    pub const fn elsewhere(reason: String) -> Self {
        Self {
            segment: None,
            offset: None,
            reason,
        }
    }
}

impl From<&Damage> for SessionDamage {
    fn from(damage: &Damage) -> Self {
        Self {
            segment: Some(damage.segment),
            offset: Some(damage.offset),
            reason: damage.to_string(),
        }
    }
}
