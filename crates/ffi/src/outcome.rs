//! How sessions end.

use crate::core;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ExitView {
    /// Its exit code, if it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it, as the platform counts them.
    pub signal: Option<i32>,
    /// Whether it was killed because memory had run out, as far as the system tells.
    pub is_out_of_memory: bool,
    /// Whether its streams came to their own end, so that nothing can be missing.
    pub is_drained: bool,
}

/// What was killed, and whether anything survived.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct TerminationView {
    /// Processes that were killed.
    pub killed: Vec<u32>,
    /// Processes that were still there in the end.
    pub survivors: Vec<u32>,
    /// How tightly the processes were held: `group`, `subreaper` or `cgroup`.
    pub level: String,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// What an agent wrote to standard error.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct StderrView {
    /// The text; where bytes are missing, a line says how many.
    pub text: String,
    /// Bytes that the agent wrote.
    pub written: u64,
    /// Bytes of these that were not kept.
    pub dropped: u64,
}

/// How a dialogue ended.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Ended {
    /// How the agent's process ended.
    pub exit: ExitView,
    /// Whether the host had asked for it.
    pub is_expected: bool,
    /// The end in words.
    pub reason: String,
    /// What was killed, and whether anything survived.
    pub report: TerminationView,
    /// What the agent wrote to standard error.
    pub stderr: StderrView,
    /// Why the recording is not whole, if one was asked for and it is not.
    pub recording_failed: Option<String>,
}

pub(crate) const fn code_and_signal(status: core::ExitStatus) -> (Option<i32>, Option<i32>) {
    match status {
        core::ExitStatus::Code(code) => (Some(code), None),
        core::ExitStatus::Signal(signal) => (None, Some(signal)),
        core::ExitStatus::Unknown => (None, None),
    }
}

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
            took_ms: millis(report.took),
            killed: report.killed,
            survivors: report.survivors,
        }
    }
}

impl From<core::Ended> for Ended {
    fn from(ended: core::Ended) -> Self {
        Self {
            exit: ended.exit.into(),
            is_expected: ended.expected,
            reason: ended.reason,
            report: ended.report.into(),
            stderr: StderrView {
                text: ended.stderr.text,
                written: ended.stderr.written,
                dropped: ended.stderr.dropped,
            },
            recording_failed: ended.recording_failed,
        }
    }
}
