//! How a prompt is typed into a program, and what became of it.

use std::time::Duration;

use crate::core;

/// How a prompt is submitted to a program on a terminal.
#[derive(Clone, Copy, Debug, uniffi::Record)]
pub struct SubmitOptions {
    /// Refuse a prompt with control characters instead of leaving them out.
    #[uniffi(default = false)]
    pub refuse_controls: bool,
    /// How long the program may take to ask for bracketed paste, in milliseconds.
    #[uniffi(default = 5000)]
    pub ready_within_ms: u64,
    /// How long the output must be quiet between the text and the Enter, in milliseconds.
    #[uniffi(default = 150)]
    pub settle_ms: u64,
    /// How long the program may go without reading, in milliseconds.
    #[uniffi(default = 10000)]
    pub read_within_ms: u64,
    /// How long to look for evidence that the Enter was read, in milliseconds.
    #[uniffi(default = 2000)]
    pub verify_within_ms: u64,
}

impl From<SubmitOptions> for core::SubmitOptions {
    fn from(it: SubmitOptions) -> Self {
        Self {
            refuse_controls: it.refuse_controls,
            ready_within: Duration::from_millis(it.ready_within_ms),
            settle: Duration::from_millis(it.settle_ms),
            read_within: Duration::from_millis(it.read_within_ms),
            verify_within: Duration::from_millis(it.verify_within_ms),
        }
    }
}

/// What became of a prompt that was typed.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Submission {
    /// What became of it.
    pub outcome: SubmissionOutcome,
    /// Characters that were left out, marks of a paste among them.
    pub left_out: u64,
    /// Bytes that were typed.
    pub typed: u64,
}

/// What became of a prompt that was submitted.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum SubmissionOutcome {
    /// All of it and the Enter were read by the program, and output came after the Enter.
    Submitted,
    /// All of it and the Enter were typed, and there is no sign that the program has read them.
    TypedUnverified,
    /// It was not submitted, or not to its end.
    Refused {
        /// Why, and what to do.
        reason: String,
    },
}

impl From<core::Submission> for Submission {
    fn from(it: core::Submission) -> Self {
        Self {
            outcome: match it.outcome {
                core::SubmitOutcome::Submitted => SubmissionOutcome::Submitted,
                core::SubmitOutcome::Refused(refusal) => SubmissionOutcome::Refused {
                    reason: refusal.to_string(),
                },
                _ => SubmissionOutcome::TypedUnverified,
            },
            left_out: it.stripped.paste_marks + it.stripped.controls,
            typed: it.typed,
        }
    }
}
