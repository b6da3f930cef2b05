//! One line on standard error, and the exit code.

use std::fmt::Display;
use std::process::ExitCode;

use crate::view::{clean, tell};

/// Why the command did not do what it was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    /// One line; empty when everything was said already.
    text: String,
}

/// The agent or the session failed.
const FAILED: u8 = 1;
/// The command line is wrong.
const USAGE: u8 = 2;
/// The user interrupted: 128 and SIGINT's number, as shells count.
pub(crate) const INTERRUPTED: u8 = 130;

impl Failure {
    /// The agent or the session failed.
    pub(crate) fn failed(text: impl Display) -> Self {
        Self {
            code: FAILED,
            text: text.to_string(),
        }
    }

    /// The command line is wrong.
    pub(crate) fn usage(text: impl Display) -> Self {
        Self {
            code: USAGE,
            text: text.to_string(),
        }
    }

    /// The user interrupted.
    pub(crate) fn interrupted(text: impl Display) -> Self {
        Self {
            code: INTERRUPTED,
            text: text.to_string(),
        }
    }

    /// Nobody reads the output any more, which is the reader's right (`bowline … | head`).
    pub(crate) const fn unread() -> Self {
        Self {
            code: 0,
            text: String::new(),
        }
    }

    /// Writes the line and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        let text = clean(&self.text);
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        let lines: Vec<_> = lines.into_iter().filter(|it| !it.is_empty()).collect();
        if !lines.is_empty() {
            tell(&format!("bowline: {}\n", lines.join("; ")));
        }
        ExitCode::from(self.code)
    }
}
