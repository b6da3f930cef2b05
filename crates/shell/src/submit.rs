//! A prompt typed into a program on a terminal, and an honest word on what became of it.

mod clean;
mod paste_mode;
mod typist;

use std::time::Duration;

use serde::Serialize;

pub(crate) use self::paste_mode::PasteMode;
pub(crate) use self::typist::{Activity, Typing, Typist};

/// How a prompt is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubmitOptions {
    /// Refuse a prompt with control characters instead of leaving them out.
    pub refuse_controls: bool,
    /// How long the program may take to ask for bracketed paste before the prompt is typed as keys
    /// or lines. A program that did not ask once is not waited for again.
    pub ready_within: Duration,
    /// How long the output must be quiet between the text and the Enter. Programs take an Enter
    /// that comes within 100 to 120 ms of a burst of keys as part of a paste.
    pub settle: Duration,
    /// How long the program may go without reading before it is given up.
    pub read_within: Duration,
    /// How long to look for evidence that the Enter was read.
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

/// What became of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Submission {
    /// What became of it.
    pub outcome: SubmitOutcome,
    /// What was left out of the text or changed in it.
    pub stripped: Stripped,
    /// Bytes that were typed, with the marks around a paste and the Enter. A refused prompt of
    /// which some were typed stands unfinished in the program.
    pub typed: u64,
}

/// What became of a prompt that was submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SubmitOutcome {
    /// All of it and the Enter were read by the program (on Linux the kernel says so), and
    /// output came after the Enter. Whether the program took the Enter as one is told by its
    /// transcript or its hooks alone.
    Submitted,
    /// All of it and the Enter were typed, and there is no sign that the program has read them.
    TypedUnverified,
    /// It was not submitted, or not to its end; [`Submission::typed`] says how far.
    Refused(Refusal),
}

/// Why a prompt was not submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Refusal {
    /// There is no text, or none is left without its control characters.
    #[error("submit: the prompt is empty, give it a text")]
    Empty,
    /// The text has control characters, and the host said to refuse them.
    #[error("submit: the prompt has control characters, take them out or let them be left out")]
    Controls,
    /// The terminal collects lines and would cut this one.
    #[error(
        "submit: a line of {length} bytes, the terminal cuts it at {limit}, break it up or wait \
             until the program has its own input line"
    )]
    LineTooLong {
        /// Bytes of the longest line, with what was typed before it.
        length: usize,
        /// Most bytes that the terminal hands over.
        limit: usize,
    },
    /// The program reads keys and knows no bracketed paste: each line would be a prompt of its
    /// own, and a tab a key.
    #[error("submit: the program takes keys and no paste, send one line without tabs")]
    NeedsPaste,
    /// Somebody else was typing for too long.
    #[error("submit: another prompt is being typed, wait for it")]
    Busy,
    /// The program did not read what was typed.
    #[error("submit: the program does not read, look at it or interrupt it")]
    NotRead,
    /// The program left the mode that the prompt was being typed in.
    #[error("submit: the program stopped taking the paste, look at it before you try again")]
    ModeChanged,
    /// The session is over.
    #[error("submit: the session has ended, create another one")]
    Ended,
}

/// What was left out of a prompt or changed in it, in numbers of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stripped {
    /// Marks of bracketed paste (`ESC [200~`, `ESC [201~`), which would have ended the paste.
    pub paste_marks: u64,
    /// Control characters other than newline and tab.
    pub controls: u64,
    /// Carriage returns that were made newlines, alone or together with the newline behind.
    pub carriage_returns: u64,
}

impl Stripped {
    /// Whether any character was left out; other line ends do not count.
    pub fn is_any(&self) -> bool {
        self.paste_marks + self.controls > 0
    }
}
