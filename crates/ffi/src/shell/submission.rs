//! Prompts that are typed into a program, and the result.

use crate::core;
use crate::limits::duration;

/// How a prompt is typed into a program on a terminal.
#[derive(Clone, Copy, Debug, uniffi::Record)]
pub struct SubmitOptions {
    /// Whether to refuse a prompt with control characters instead of removing them.
    #[uniffi(default = false)]
    pub refuse_controls: bool,
    /// How long the program may take to enable bracketed paste, in milliseconds.
    #[uniffi(default = 5000)]
    pub ready_within_ms: u64,
    /// How long the output must be unchanged between the text and Enter, in milliseconds.
    #[uniffi(default = 150)]
    pub settle_ms: u64,
    /// How long the program may go without reading its input, in milliseconds.
    #[uniffi(default = 10000)]
    pub read_within_ms: u64,
    /// How long to wait for evidence that Enter was read, in milliseconds.
    #[uniffi(default = 2000)]
    pub verify_within_ms: u64,
}

impl From<SubmitOptions> for core::SubmitOptions {
    fn from(it: SubmitOptions) -> Self {
        Self {
            refuse_controls: it.refuse_controls,
            ready_within: duration(it.ready_within_ms),
            settle: duration(it.settle_ms),
            read_within: duration(it.read_within_ms),
            verify_within: duration(it.verify_within_ms),
        }
    }
}

/// The result of submitting a prompt.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Submission {
    /// Whether the prompt was submitted.
    pub outcome: SubmissionOutcome,
    /// The number of control characters and paste markers that were removed from the prompt.
    pub removed: u64,
    /// The number of bytes that were typed.
    pub typed_bytes: u64,
}

/// Whether a prompt was submitted.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum SubmissionOutcome {
    /// The program read the prompt and Enter, and wrote output after that.
    Submitted,
    /// The prompt and Enter were typed. There is no evidence that the program read them.
    TypedUnverified,
    /// The prompt was not typed, or not completely.
    Refused {
        /// What failed and what to do next.
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
            removed: it.stripped.paste_marks + it.stripped.controls,
            typed_bytes: it.typed,
        }
    }
}
