//! Activity of a session, and the outcomes of its turns.

use bowline_reducer::owned::EntryValue;
use bowline_reducer::{Outcome, Phase, TranscriptChange};

use crate::api::acp::update::{Progress, Stop};

/// The state of a session that an editor knows.
#[derive(Debug, Default)]
pub(super) struct SessionProgress {
    /// `None` before the first changes.
    reported: Option<Progress>,
    phase: Phase,
    last_stop: Option<Stop>,
    /// Whether a turn has ended that the editor does not know of.
    has_ended: bool,
}

impl SessionProgress {
    pub(super) const fn last_stop(&self) -> Option<&Stop> {
        self.last_stop.as_ref()
    }

    /// Updates the phase and the ends of turns from changes; returns the state of the session during the changes, if
    /// the editor must receive it before them.
    pub(super) fn begins(&mut self, changes: &[TranscriptChange]) -> Option<Progress> {
        for change in changes {
            match change {
                TranscriptChange::Status { status } => self.phase = status.phase,
                TranscriptChange::Entry {
                    thread: None,
                    value:
                        EntryValue::Result {
                            outcome,
                            subtype,
                            text,
                            ..
                        },
                    ..
                } => {
                    self.last_stop = Some(stop(*outcome, subtype, text.as_deref()));
                    self.has_ended = true;
                }
                _ => {}
            }
        }
        let is_idle = matches!(self.reported, Some(Progress::Idle(_)));
        let is_work = self.has_ended || self.phase == Phase::Running;
        (is_idle && is_work).then(|| {
            self.reported = Some(Progress::Running);
            Progress::Running
        })
    }

    /// Returns the state of the session after the changes, if the editor does not know it. The first is a
    /// snapshot, in which no work ends.
    pub(super) fn settles(&mut self) -> Option<Progress> {
        let now = match self.phase {
            Phase::Running => Progress::Running,
            Phase::AwaitingPermission => Progress::RequiresAction,
            _ => Progress::Idle(None),
        };
        let is_first = self.reported.is_none();
        self.has_ended &= !is_first;
        if self.reported.as_ref() == Some(&now) {
            return None;
        }
        self.reported = Some(now.clone());
        match now {
            Progress::Idle(_) => {
                let stop = self.last_stop.clone().filter(|_| self.has_ended);
                self.has_ended = false;
                Some(Progress::Idle(stop))
            }
            now => Some(now),
        }
    }
}

fn stop(outcome: Outcome, subtype: &str, text: Option<&str>) -> Stop {
    match (outcome, subtype) {
        (Outcome::Cancelled, _) => Stop::Cancelled,
        (_, "max_tokens") => Stop::MaxTokens,
        (_, "max_turn_requests" | "error_max_turns") => Stop::MaxTurnRequests,
        (_, "refusal") => Stop::Refusal,
        (Outcome::Failed, subtype) => {
            let text = text.filter(|text| !text.is_empty());
            Stop::Failed(text.unwrap_or(subtype).to_owned())
        }
        _ => Stop::EndTurn,
    }
}
