//! How processes and sessions end.

use crate::agent::UnknownOption;
use crate::core;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ExitView {
    /// The exit code, if the process exited by itself.
    pub code: Option<i32>,
    /// The number of the signal that ended the process.
    pub signal: Option<i32>,
    /// Whether the kernel killed the process for lack of memory, as far as known.
    pub is_out_of_memory: bool,
    /// Whether all output was read to its end.
    pub is_drained: bool,
}

/// The result of terminating a process and its descendants.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct TerminationView {
    /// The ids of the processes that were killed.
    pub killed: Vec<u32>,
    /// The ids of the processes that could not be killed.
    pub survivors: Vec<u32>,
    /// The process containment: `group`, `subreaper` or `cgroup`.
    pub level: String,
    /// How long the termination took, in milliseconds.
    pub duration_ms: u64,
}

/// The standard error output of an agent.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct StderrView {
    /// The text. A line in it gives the number of bytes that were dropped at that point.
    pub text: String,
    /// The number of bytes that the agent wrote.
    pub written: u64,
    /// How many of them were dropped.
    pub dropped: u64,
}

/// How a dialogue session ended.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct DialogueEnd {
    /// How the agent's process ended.
    pub exit: ExitView,
    /// Whether the host ended the session.
    pub is_expected: bool,
    /// Whether the host detached: the agent continues at its runner.
    pub is_detached: bool,
    /// A description of the end.
    pub reason: String,
    /// What was terminated.
    pub report: TerminationView,
    /// The agent's standard error output.
    pub stderr: StderrView,
    /// Why the recording is incomplete, if it is.
    pub recording_error: Option<String>,
    /// The option of the command line because of which the agent exited at once, if it did.
    pub unknown_option: Option<UnknownOption>,
}

pub(crate) const fn code_and_signal(status: core::ExitStatus) -> (Option<i32>, Option<i32>) {
    match status {
        core::ExitStatus::Code(code) => (Some(code), None),
        core::ExitStatus::Signal(signal) => (None, Some(signal)),
        core::ExitStatus::Unknown => (None, None),
    }
}

/// Converts a duration to milliseconds, saturating.
pub(crate) fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl From<core::Exit> for ExitView {
    fn from(exit: core::Exit) -> Self {
        let (code, signal) = code_and_signal(exit.status);
        Self {
            code,
            signal,
            is_out_of_memory: exit.oom,
            is_drained: exit.drained == core::Drained::Clean,
        }
    }
}

impl From<core::TerminationReport> for TerminationView {
    fn from(report: core::TerminationReport) -> Self {
        Self {
            level: report.level.to_string(),
            duration_ms: millis(report.took),
            killed: report.killed,
            survivors: report.survivors,
        }
    }
}

impl From<core::DialogueEnd> for DialogueEnd {
    fn from(end: core::DialogueEnd) -> Self {
        Self {
            exit: end.exit.into(),
            is_expected: end.expected,
            is_detached: end.detached,
            reason: end.reason,
            report: end.report.into(),
            stderr: StderrView {
                text: end.stderr.text,
                written: end.stderr.written,
                dropped: end.stderr.dropped,
            },
            recording_error: end.recording_failed,
            unknown_option: end.unknown_option.map(Into::into),
        }
    }
}
