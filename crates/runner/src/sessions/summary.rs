//! Sessions as the REST API represents them, from their records.

use bowline_transport::wire::ExitNotice;
use bowline_transport::{
    ExitStatus, SessionActivity, SessionDamage, SessionExit, SessionSummary, SessionSummaryState,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::record::SessionRecord;
use super::termination::Termination;

/// Returns a session as the REST API lists it.
pub(crate) fn summary_of(record: &SessionRecord) -> SessionSummary {
    let (info, state) = (&record.info, record.state());
    let cwd = info.cwd.as_ref();
    SessionSummary {
        id: info.id,
        name: info.name.clone(),
        kind: info.kind,
        stdio: info.stdio,
        program: info.program.clone(),
        cwd: cwd.map(|it| it.to_string_lossy().into_owned()),
        labels: info.labels.clone(),
        metadata: None,
        state,
        epoch: info.epoch,
        pid: info.pid.filter(|_| state == SessionSummaryState::Running),
        started_ms: info.started_ms,
        ended_ms: info.ended_ms,
        exit: info.exit.as_ref().map(SessionExit::from),
        damage: record.damage.clone().map(SessionDamage::elsewhere),
        activity: SessionActivity {
            phase: final_phase(state),
            ..record.activity.clone().unwrap_or_default()
        },
    }
}

/// Returns the phase of a session that does not run.
fn final_phase(state: SessionSummaryState) -> Option<String> {
    let phase = match state {
        SessionSummaryState::Exited => "ended",
        SessionSummaryState::Lost => "lost",
        _ => return None,
    };
    Some(phase.to_owned())
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
    /// Whether the log and the metadata were removed. They can be restored for an hour.
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

/// Describes an exit, and returns whether an agent is expected to exit like that.
pub(crate) fn describe_exit(exit: &ExitNotice) -> (String, bool) {
    match exit.status {
        ExitStatus::Code(code) => (format!("exit code {code}"), code == 0),
        ExitStatus::Signal(signal) => (format!("signal {signal}"), false),
        ExitStatus::Unknown => ("unknown exit status".to_owned(), false),
    }
}
