//! Submits a prompt to a program on a terminal, and reports the outcome.

mod clean;
mod paste_mode;
mod paste_writer;

use std::time::Duration;

use serde::Serialize;

pub(crate) use self::paste_mode::PasteMode;
pub(crate) use self::paste_writer::{Activity, PasteWriter, TypingState};

/// Options for submitting a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubmitOptions {
    /// Whether to refuse a prompt with control characters; by default they are removed.
    pub refuse_controls: bool,
    /// Time to wait for the program to enable bracketed paste before the prompt is typed as keys or
    /// lines. A program that once did not enable it is not waited for again.
    pub ready_within: Duration,
    /// Time without output between the text and Enter. Programs take an Enter within 100 to 120 ms of
    /// a burst of keys as part of a paste.
    pub settle: Duration,
    /// Time limit for the program to read more of the input.
    pub read_within: Duration,
    /// Time to look for evidence that Enter was read.
    pub verify_within: Duration,
}

impl Default for SubmitOptions {
    fn default() -> Self {
        Self {
            refuse_controls: false,
            ready_within: Duration::from_secs(5),
            settle: Duration::from_millis(150),
            read_within: Duration::from_secs(10),
            verify_within: Duration::from_secs(2),
        }
    }
}

/// The result of submitting a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Submission {
    /// The outcome.
    pub outcome: SubmitOutcome,
    /// What was removed from the text or changed in it.
    pub stripped: Stripped,
    /// Number of bytes written, including paste marks and Enter. After a refusal, these may be in the
    /// input line of the program.
    pub typed: u64,
}

/// The outcome of submitting a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SubmitOutcome {
    /// The program has read the prompt and Enter (known on Linux, by FIONREAD of ioctl_tty(2)), and
    /// wrote output after Enter. Whether it started a turn is known from its transcript or its hooks
    /// only.
    Submitted,
    /// The prompt and Enter were written; there is no evidence that the program has read them.
    TypedUnverified,
    /// The prompt was not submitted completely; see [`Submission::typed`].
    Refused(Refusal),
}

/// Why a prompt was not submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Refusal {
    /// The prompt is empty, or consists of control characters.
    #[error("the prompt is empty; give it text")]
    Empty,
    /// The prompt has control characters, and the options refuse them.
    #[error("the prompt has control characters; remove them or allow removing them")]
    Controls,
    /// The terminal is in canonical mode and would truncate this line (termios(3)).
    #[error(
        "the terminal truncates a line of {length} bytes at {limit}; break it up, or wait until the \
         program edits its own input line"
    )]
    LineTooLong {
        /// Bytes of the longest line, including input before the prompt.
        length: usize,
        /// Limit of the terminal, in bytes.
        limit: usize,
    },
    /// The program reads keys without bracketed paste: each line would be a prompt of its own, and a
    /// tab a key.
    #[error("the program does not support bracketed paste; send one line without tabs")]
    NeedsPaste,
    /// Another prompt was being typed for too long.
    #[error("another prompt is being typed; wait for it")]
    Busy,
    /// The program did not read its input.
    #[error("the program does not read its input; check or interrupt it")]
    NotRead,
    /// The program left the input mode in which the prompt was being typed.
    #[error("the program changed its input mode; check it before trying again")]
    ModeChanged,
    /// The session has ended.
    #[error("the session has ended; create another one")]
    Ended,
}

/// Counts of what was removed from a prompt or changed in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stripped {
    /// Marks of bracketed paste (`ESC [200~`, `ESC [201~`), which would have ended the paste.
    pub paste_marks: u64,
    /// Control characters other than newline and tab.
    pub controls: u64,
    /// Carriage returns converted to newlines, alone or with the newline after them.
    pub carriage_returns: u64,
}

impl Stripped {
    /// Whether any character was removed; converted line ends do not count.
    pub fn is_any(&self) -> bool {
        self.paste_marks + self.controls > 0
    }
}
