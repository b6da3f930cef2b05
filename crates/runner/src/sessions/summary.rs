//! Sessions as the REST API represents them, for its responses and its clients.

use std::collections::BTreeMap;

use bowline_transport::wire::{Epoch, ExitNotice, SessionKind, StdioKind};
use bowline_transport::{ExitStatus, SessionId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::damage::SessionDamage;
use super::record::{SessionRecord, SessionSummaryState};
use super::termination::Termination;

/// A session as the REST API lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Session)]
#[non_exhaustive]
pub struct SessionSummary {
    /// Id of the session.
    #[schema(value_type = String)]
    pub id: SessionId,
    /// Display name.
    pub name: Option<String>,
    /// Kind of session.
    #[schema(value_type = Kind)]
    pub kind: SessionKind,
    /// The child's standard streams: `pipes` or `pty`.
    #[schema(value_type = String)]
    pub stdio: StdioKind,
    /// The program that was started.
    pub program: String,
    /// The working directory, if one was given.
    pub cwd: Option<String>,
    /// Labels that the creator has set.
    pub labels: BTreeMap<String, String>,
    /// State of the session.
    pub state: SessionSummaryState,
    /// Incarnation of the child.
    #[schema(value_type = String)]
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
}

/// The exit status of a session's child. Both `code` and `signal` are absent if it is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Exit)]
#[non_exhaustive]
pub struct SessionExit {
    /// The exit code, unless a signal ended the child.
    pub code: Option<i32>,
    /// The signal that ended the child.
    pub signal: Option<i32>,
    /// Whether the kernel killed the child for lack of memory.
    pub oom: bool,
}

impl SessionSummary {
    pub(crate) fn of(record: &SessionRecord) -> Self {
        let (info, state) = (&record.info, record.state());
        let cwd = info.cwd.as_ref();
        Self {
            id: info.id,
            name: info.name.clone(),
            kind: info.kind,
            stdio: info.stdio,
            program: info.program.clone(),
            cwd: cwd.map(|it| it.to_string_lossy().into_owned()),
            labels: info.labels.clone(),
            state,
            epoch: info.epoch,
            pid: info.pid.filter(|_| state == SessionSummaryState::Running),
            started_ms: info.started_ms,
            ended_ms: info.ended_ms,
            exit: info.exit.as_ref().map(SessionExit::from),
            damage: record.damage.clone().map(SessionDamage::elsewhere),
        }
    }
}

/// All sessions.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Sessions)]
pub(crate) struct SessionList {
    /// The sessions, oldest first.
    pub(crate) sessions: Vec<SessionSummary>,
}

/// How a session was ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Ended)]
#[non_exhaustive]
pub struct EndedSession {
    /// The child's exit status, if it is known.
    pub exit: Option<SessionExit>,
    /// Process ids that were killed.
    pub killed: Vec<u32>,
    /// Process ids that survived.
    pub survivors: Vec<u32>,
    /// Whether the log and the metadata were removed.
    pub removed: bool,
}

impl EndedSession {
    pub(crate) fn new(termination: Termination, removed: bool) -> Self {
        let report = termination.report;
        let (killed, survivors) = report
            .map(|it| (it.killed, it.survivors))
            .unwrap_or_default();
        Self {
            exit: termination.exit.as_ref().map(SessionExit::from),
            killed,
            survivors,
            removed,
        }
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

/// Kind of session.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(
    dead_code,
    reason = "the schema of SessionKind, which is in another crate"
)]
pub(crate) enum Kind {
    /// A structured conversation with an agent.
    Dialogue,
    /// A shell or a full-screen program.
    Terminal,
}
