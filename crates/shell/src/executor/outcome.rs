//! What came of a command.

use std::fmt;
use std::time::Duration;

/// What came of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandResult {
    /// What the terminal showed, as lines; for a full-screen program there is little sense in it.
    pub stdout: String,
    /// What was written apart from it; nothing on a terminal of our own.
    pub stderr: String,
    /// The exit code, for a process that a signal ended 128 and its number; none where the terminal
    /// does not know.
    pub exit_code: Option<i32>,
    /// From the start to the last piece of evidence.
    pub duration: Duration,
    /// What shows that it has ended, and what is missing.
    pub evidence: Evidence,
    /// The reason that the agent gave for the session's end.
    pub session_end: Option<String>,
    /// The conversation to resume.
    pub conversation: Option<String>,
}

/// What shows that a command has ended, and what is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// There was nothing to do.
    Nothing,
    /// The process has exited and its session has ended.
    Complete,
    /// The process has exited; the end of its session was not told. So it is with an agent that was
    /// killed or does not run hooks.
    NoSessionEnd,
    /// The session has ended; the process did not exit in time, and was ended.
    NoExit,
    /// The longest time has passed with neither, and the process was ended.
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

    /// What was waited for in vain.
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
    /// Of a command that is empty.
    pub(super) const fn nothing() -> Self {
        Self {
            stdout: String::new(),
            stderr: String::new(),
            exit_code: Some(0),
            duration: Duration::ZERO,
            evidence: Evidence::Nothing,
            session_end: None,
            conversation: None,
        }
    }
}
