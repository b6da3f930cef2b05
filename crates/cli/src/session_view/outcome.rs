//! How a session ended.

use bowline_lifecycle::DialogueEnd;
use bowline_reducer::{EntryKind, Outcome, Transcript};

use crate::failure::Failure;

/// The end of a session and the outcome of its last turn.
#[derive(Debug)]
pub(crate) struct SessionOutcome {
    pub(crate) ended: DialogueEnd,
    pub(crate) last_turn: Option<TurnOutcome>,
    /// The conversation to resume. `None` if the agent has not opened one.
    pub(crate) conversation: Option<String>,
    /// In US dollars.
    pub(crate) cost: f64,
    /// The user requested an end.
    pub(crate) was_interrupted: bool,
    /// The user requested the end of the session by a signal other than SIGINT.
    pub(crate) was_terminated: bool,
    /// Running work was cancelled.
    pub(crate) was_cancelled: bool,
    /// The last prompt was answered.
    pub(crate) is_answered: bool,
    /// Background work ended with the agent.
    pub(crate) has_lost_tasks: bool,
}

/// The result of a turn.
#[derive(Debug)]
pub(crate) struct TurnOutcome {
    pub(crate) is_error: bool,
    pub(crate) is_complete: bool,
    /// The final text, or the error.
    pub(crate) text: String,
}

impl SessionOutcome {
    /// Returns the failure to report if the recording is incomplete.
    pub(crate) fn recording_failure(&self) -> Option<Failure> {
        let reason = self.ended.recording_failed.as_ref()?;
        let text = format!("the recording is incomplete: {reason}");
        Some(Failure::failed(text))
    }

    /// Whether the agent exited when it was expected to. After its answer it may exit in any way: whether it
    /// was asked to exit before is a matter of microseconds.
    pub(crate) fn is_orderly(&self) -> bool {
        self.ended.expected || self.is_answered && !self.has_lost_tasks
    }

    /// Whether the agent completed all its work, even if it was interrupted.
    pub(crate) fn is_complete(&self) -> bool {
        let is_complete = self.last_turn.as_ref().is_some_and(|turn| turn.is_complete);
        self.is_answered && is_complete && !self.was_cancelled
    }
}

impl TurnOutcome {
    /// Returns the outcome of the last turn that has one.
    pub(super) fn last_of(transcript: &Transcript) -> Option<Self> {
        let entries = transcript.entries().rev();
        let mut entries = entries.filter(|entry| !entry.is_history());
        entries.find_map(|entry| match entry.kind() {
            EntryKind::Result {
                subtype,
                is_error,
                outcome,
                text,
                ..
            } => Some(Self {
                is_error: is_error || outcome == Outcome::Failed,
                is_complete: !is_error && outcome == Outcome::Completed,
                text: text.map_or_else(|| subtype.to_owned(), |text| text.to_cow().into_owned()),
            }),
            _ => None,
        })
    }
}
