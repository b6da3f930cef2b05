//! The end of a session.

use bowline_transport::{Exit, TerminationReport};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::agent::UnknownOption;
use crate::machine::Machine;
use crate::stderr::StderrReport;

/// What remains of a session after its end.
#[derive(Debug)]
pub(super) struct EndedSession {
    pub(super) end: DialogueEnd,
    pub(super) machine: Mutex<Machine>,
    pub(super) start: Instant,
}

/// How a dialogue session ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DialogueEnd {
    /// How the agent's process ended.
    pub exit: Exit,
    /// Whether the host requested it.
    pub expected: bool,
    /// Whether the session was detached from: its agent continues at the runner.
    pub detached: bool,
    /// A description of the end.
    pub reason: String,
    /// What was terminated, and whether any process survived.
    pub report: TerminationReport,
    /// The agent's standard error.
    pub stderr: StderrReport,
    /// Why the recording is incomplete, if one was requested and it is.
    pub recording_failed: Option<String>,
    /// The option of the command line because of which the agent exited at once, if it did.
    pub unknown_option: Option<UnknownOption>,
}
