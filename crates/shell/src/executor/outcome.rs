//! The result of a command.

use std::fmt;
use std::time::Duration;

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandResult {
    /// The output in the terminal, as lines; not meaningful for a full-screen program.
    pub stdout: String,
    /// Bytes of the output before `stdout` that were not kept; `stdout` begins at a line all the same.
    pub dropped_bytes: u64,
    /// Standard error, where it is separate; empty on a PTY.
    pub stderr: String,
    /// The exit code, or 128 + signal; `None` if the terminal does not know it.
    pub exit_code: Option<i32>,
    /// Time from the start to the last evidence.
    pub duration: Duration,
    /// The evidence of the end.
    pub evidence: Evidence,
    /// The reason in the `SessionEnd` hook.
    pub session_end: Option<String>,
    /// The id of the conversation, to resume it.
    pub conversation: Option<String>,
}

/// The evidence that a command has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The command was empty.
    Nothing,
    /// The process has exited and its session has ended.
    Complete,
    /// The process has exited without a `SessionEnd` hook, as an agent does that was killed or runs no
    /// hooks.
    NoSessionEnd,
    /// The session has ended; the process did not exit in time and was killed.
    NoExit,
    /// Neither arrived within the time limit; the process was killed.
    Neither,
}

impl Evidence {
    pub(super) const fn of(has_exited: bool, has_session_end: bool) -> Self {
        match (has_exited, has_session_end) {
            (true, true) => Self::Complete,
            (true, false) => Self::NoSessionEnd,
            (false, true) => Self::NoExit,
            (false, false) => Self::Neither,
        }
    }

    /// Returns the missing evidence, in words.
    #[must_use]
    pub const fn missing(self) -> &'static [&'static str] {
        match self {
            Self::Nothing | Self::Complete => &[],
            Self::NoSessionEnd => &["the SessionEnd hook"],
            Self::NoExit => &["the exit of the process"],
            Self::Neither => &["the SessionEnd hook", "the exit of the process"],
        }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.missing() {
            [] => f.write_str("complete"),
            missing => write!(f, "without {}", missing.join(" and ")),
        }
    }
}

impl CommandResult {
    /// Returns the result of an empty command.
    pub(super) const fn nothing() -> Self {
        Self {
            stdout: String::new(),
            dropped_bytes: 0,
            stderr: String::new(),
            exit_code: Some(0),
            duration: Duration::ZERO,
            evidence: Evidence::Nothing,
            session_end: None,
            conversation: None,
        }
    }
}
