//! Lines of this host on their way to the agent, and what they change in the transcript.
//!
//! A line changes the transcript where it is in the input. A runner that reports input says where that is, so
//! that every host and the log give the same transcript. Without one, the line is folded when it is written.

use bowline_jsonl::Decision;
use bowline_reducer::{HostDecision, HostEvent};
use bytes::Bytes;

use super::{LinePurpose, Machine, Reply, Ticket};

/// Lines that were written, or are to be written, and that the input has not shown.
#[derive(Debug, Default)]
pub(super) struct OwnLines(Vec<(Bytes, LinePurpose)>);

impl OwnLines {
    pub(super) fn keep(&mut self, line: Bytes, purpose: LinePurpose) {
        self.0.push((line, purpose));
    }

    /// Removes a line that the input shows, with or without its end.
    pub(super) fn take(&mut self, line: &[u8]) -> Option<LinePurpose> {
        let line = line.trim_ascii_end();
        let at = self
            .0
            .iter()
            .position(|(it, _)| it.trim_ascii_end() == line)?;
        Some(self.0.remove(at).1)
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = (Bytes, LinePurpose)> {
        std::mem::take(&mut self.0).into_iter()
    }

    fn has_prompt(&self, uuid: &str) -> bool {
        let is_it = |it: &LinePurpose| matches!(it, LinePurpose::Prompt(it) if it == uuid);
        self.0.iter().any(|(_, purpose)| is_it(purpose))
    }
}

/// What lines of this host change in the transcript and for its callers, until they are folded.
#[derive(Debug, Default)]
pub(super) struct LineEffects {
    /// Host events by the purpose of their line, in a protocol whose transcript is no fold over the input.
    events: Vec<(LinePurpose, LineEvent)>,
    /// Lines that the runner has not reported.
    unreported: OwnLines,
    /// Commands that are complete once the prompt with a uuid is in the transcript.
    awaiting: Vec<(String, Ticket)>,
    /// Whether the reply to a prompt waits for that.
    pub(super) reply_when_folded: bool,
}

/// A host event without what its line's purpose has.
#[derive(Debug)]
pub(super) enum LineEvent {
    Prompt { text: String },
    Answer(Decision),
}

impl LineEffects {
    /// Sets what the next line with a purpose leads to.
    pub(super) fn expect(&mut self, purpose: LinePurpose, event: LineEvent) {
        self.events.push((purpose, event));
    }

    fn take_event(&mut self, purpose: &LinePurpose) -> Option<LineEvent> {
        let at = self.events.iter().position(|(it, _)| it == purpose)?;
        Some(self.events.remove(at).1)
    }
}

impl Machine {
    /// Folds a line that is being written, at once or when the runner reports it.
    pub(super) fn fold_own_line(&mut self, line: &Bytes, purpose: &LinePurpose) {
        if self.reported_input.is_none() {
            if let Ok(text) = std::str::from_utf8(line) {
                self.fold_line(text.trim_end());
            }
            self.fold_effect(purpose);
        } else if !matches!(purpose, LinePurpose::Request(_) | LinePurpose::Other) {
            self.effects.unreported.keep(line.clone(), purpose.clone());
        }
    }

    /// Folds a line of input, in a dialect whose transcript needs it.
    pub(super) fn fold_line(&mut self, line: &str) {
        let meta = self.meta();
        self.transcript.apply_input(line, meta);
    }

    /// Folds a line of the input, which may be one of this host.
    pub(super) fn fold_reported(&mut self, line: &str) {
        self.fold_line(line);
        if let Some(purpose) = self.effects.unreported.take(line.as_bytes()) {
            self.fold_effect(&purpose);
        }
    }

    /// Folds a line of which the runner may not report that it was written.
    pub(super) fn fold_unreported(&mut self, line: &[u8]) {
        if let Some(purpose) = self.effects.unreported.take(line) {
            self.fold_effect(&purpose);
        }
    }

    /// Folds the lines that the runner will not report: a part of the input is missing, or the session is over.
    pub(super) fn fold_all_unreported(&mut self) {
        let lines: Vec<_> = self.effects.unreported.drain().collect();
        for (_, purpose) in lines {
            self.fold_effect(&purpose);
        }
    }

    /// Folds what a line of this host leads to beyond the line itself.
    pub(super) fn fold_effect(&mut self, purpose: &LinePurpose) {
        let event = self.effects.take_event(purpose);
        match (purpose, event) {
            (LinePurpose::Prompt(uuid), Some(LineEvent::Prompt { text })) => {
                self.host(HostEvent::PromptSent {
                    uuid: Some(uuid),
                    text: &text,
                });
            }
            (
                LinePurpose::PermissionAnswer(id) | LinePurpose::Denial(id),
                Some(LineEvent::Answer(decision)),
            ) => {
                let decision = match &decision {
                    Decision::Allow { updated_input, .. } => HostDecision::Allow {
                        updated_input: updated_input.as_deref(),
                    },
                    Decision::Deny { .. } => HostDecision::Deny,
                };
                self.host(HostEvent::PermissionAnswered {
                    request_id: id,
                    decision,
                });
            }
            _ => {}
        }
        if let LinePurpose::Prompt(uuid) = purpose {
            self.prompt_folded(uuid);
        }
    }

    /// Completes the command that sent a prompt, at once or when the prompt is in the transcript.
    pub(super) fn reply_to_prompt(&mut self, uuid: String, ticket: Ticket) {
        let effects = &mut self.effects;
        if effects.reply_when_folded && effects.unreported.has_prompt(&uuid) {
            effects.awaiting.push((uuid, ticket));
        } else {
            self.reply(ticket, Ok(Reply::Done));
        }
    }

    fn prompt_folded(&mut self, uuid: &str) {
        let (folded, awaiting) = std::mem::take(&mut self.effects.awaiting)
            .into_iter()
            .partition::<Vec<_>, _>(|(it, _)| it == uuid);
        self.effects.awaiting = awaiting;
        for (_, ticket) in folded {
            self.reply(ticket, Ok(Reply::Done));
        }
    }
}
