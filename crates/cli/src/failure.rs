//! Why a command failed, and its exit code.

use std::error::Error;
use std::fmt::Display;

use bowline_lifecycle::error_chain;

use crate::text::sanitize;

/// Exit code when the agent or the session failed.
const FAILED: u8 = 1;

/// Exit code when the command line is wrong.
const USAGE: u8 = 2;

/// Exit code after an interrupt: 128 and the number of SIGINT, as shells report it.
pub(crate) const INTERRUPTED: u8 = 130;

/// A failed command: an exit code and one line for standard error.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    text: String,
}

impl Failure {
    /// The agent or the session failed.
    pub(crate) fn failed(text: impl Display) -> Self {
        Self::new(FAILED, text)
    }

    /// An operation failed. The message is `prefix`, the error and its causes.
    pub(crate) fn caused(prefix: &str, error: &dyn Error) -> Self {
        Self::failed(format!("{prefix} {}", error_chain(error)))
    }

    /// The command line is wrong. An empty text prints nothing.
    pub(crate) fn usage(text: impl Display) -> Self {
        Self::new(USAGE, text)
    }

    /// The user interrupted.
    pub(crate) fn interrupted(text: impl Display) -> Self {
        Self::new(INTERRUPTED, text)
    }

    /// The reader closed standard output, which is no error (`bowline … | head`).
    pub(crate) fn broken_pipe() -> Self {
        Self::new(0, "")
    }

    fn new(code: u8, text: impl Display) -> Self {
        let text = text.to_string();
        Self { code, text }
    }

    /// The exit code.
    pub(crate) const fn code(&self) -> u8 {
        self.code
    }

    /// The message as one sanitized line; empty if there is none.
    pub(crate) fn line(&self) -> String {
        let text = sanitize(&self.text);
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join("; ")
    }
}
