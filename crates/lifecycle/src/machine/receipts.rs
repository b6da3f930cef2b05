//! Delivery state of each prompt, from what the agent reports about its uuid
//! (`crates/jsonl/PROTOCOL.md`).

use std::collections::HashMap;

/// Delivery state of a prompt. A prompt only moves forward, and a final state stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ReceiptState {
    /// The session has accepted it.
    Accepted,
    /// The kernel has accepted its line.
    Written,
    /// The agent has echoed it: it is part of the conversation.
    Echoed,
    /// A turn that includes it is running.
    Started,
    /// A turn that includes it has ended; the result shows the outcome.
    Answered,
    /// It was answered together with a later prompt.
    Merged,
    /// The agent knows its uuid from an earlier run: it echoes the prompt and does not answer it.
    Duplicate,
    /// It was dropped unanswered.
    Cancelled,
    /// Its outcome is not known: the process exited first, or its line was not written completely,
    /// because the agent stopped reading or another host took over the session.
    Unknown,
}

impl ReceiptState {
    /// Returns whether the state can no longer change.
    #[must_use]
    pub fn is_final(self) -> bool {
        self >= Self::Answered
    }
}

/// The prompts of a turn that has ended, by uuid.
#[derive(Debug)]
pub(super) struct TurnPrompts {
    /// All that the agent names.
    pub(super) named: Vec<String>,
    /// The one that started the turn.
    pub(super) last: Option<String>,
    /// Whether the turn answers a prompt of the host.
    pub(super) is_of_host: bool,
}

/// The prompts of a session, by uuid.
#[derive(Debug, Default)]
pub(super) struct Receipts {
    prompts: HashMap<String, SentPrompt>,
    /// Uuids in the order of sending.
    order: Vec<String>,
    /// Number of prompts that are not final.
    open: usize,
    /// Whether the agent writes `command_lifecycle` lines.
    reports_lifecycle: bool,
    /// Whether a turn has begun in this run.
    has_begun: bool,
}

#[derive(Clone, Copy, Debug)]
struct SentPrompt {
    state: ReceiptState,
    /// Whether a `command_lifecycle` line has mentioned it.
    is_queued: bool,
}

/// A prompt's uuid with its new state.
pub(super) type ReceiptUpdate = (String, ReceiptState);

impl Receipts {
    pub(super) fn contains(&self, uuid: &str) -> bool {
        self.prompts.contains_key(uuid)
    }

    pub(super) fn accept(&mut self, uuid: &str) {
        let sent = SentPrompt {
            state: ReceiptState::Accepted,
            is_queued: false,
        };
        self.prompts.insert(uuid.to_owned(), sent);
        self.order.push(uuid.to_owned());
        self.open += 1;
    }

    /// Moves a prompt forward. Returns `None` if it is not known, or in that state already.
    pub(super) fn advance(&mut self, uuid: &str, state: ReceiptState) -> Option<ReceiptUpdate> {
        let current = &mut self.prompts.get_mut(uuid)?.state;
        if current.is_final() || *current >= state {
            return None;
        }
        *current = state;
        if state.is_final() {
            self.open -= 1;
        }
        Some((uuid.to_owned(), state))
    }

    /// Notes that the agent has begun a turn.
    pub(super) const fn turn_begins(&mut self) {
        self.has_begun = true;
    }

    /// Handles an echo. A prompt that is echoed and was never queued is in the conversation already
    /// and gets no answer. An agent without `command_lifecycle` lines begins a turn before its first
    /// echo.
    pub(super) fn echo(&mut self, uuid: &str) -> Option<ReceiptUpdate> {
        let is_queued = self.prompts.get(uuid)?.is_queued;
        let is_duplicate = !is_queued && (self.reports_lifecycle || !self.has_begun);
        let state = if is_duplicate {
            ReceiptState::Duplicate
        } else {
            ReceiptState::Echoed
        };
        self.advance(uuid, state)
    }

    /// Handles a report of what the agent does with a prompt.
    pub(super) fn report(
        &mut self,
        uuid: Option<&str>,
        state: Option<ReceiptState>,
    ) -> Option<ReceiptUpdate> {
        self.reports_lifecycle = true;
        if let Some(sent) = uuid.and_then(|uuid| self.prompts.get_mut(uuid)) {
            sent.is_queued = true;
        }
        self.advance(uuid?, state?)
    }

    /// Handles the end of a turn: the last of its prompts started it, the others were merged into it.
    pub(super) fn turn_ended(&mut self, prompts: &TurnPrompts) -> Vec<ReceiptUpdate> {
        let mut updates = Vec::new();
        for uuid in &prompts.named {
            let is_merged = prompts.last.as_ref().is_some_and(|last| last != uuid);
            let state = if is_merged {
                ReceiptState::Merged
            } else {
                ReceiptState::Answered
            };
            updates.extend(self.advance(uuid, state));
        }
        if let Some(uuid) = &prompts.last {
            updates.extend(self.advance(uuid, ReceiptState::Answered));
        } else if updates.is_empty() && prompts.is_of_host {
            // An agent that names no prompts answers them in the order of sending.
            let oldest = self.open_uuids().next().map(str::to_owned);
            updates.extend(oldest.and_then(|it| self.advance(&it, ReceiptState::Answered)));
        }
        updates
    }

    /// Closes every open prompt, at the end of the session.
    pub(super) fn close(&mut self) -> Vec<ReceiptUpdate> {
        let open: Vec<_> = self.open_uuids().map(str::to_owned).collect();
        open.iter()
            .filter_map(|uuid| self.advance(uuid, ReceiptState::Unknown))
            .collect()
    }

    pub(super) const fn any_open(&self) -> bool {
        self.open > 0
    }

    /// Returns the number of prompts that are not final.
    pub(super) const fn open(&self) -> usize {
        self.open
    }

    /// Returns the open prompts, the oldest first.
    fn open_uuids(&self) -> impl Iterator<Item = &str> {
        let is_open = |uuid: &&String| {
            self.prompts
                .get(*uuid)
                .is_some_and(|it| !it.state.is_final())
        };
        self.order.iter().filter(is_open).map(String::as_str)
    }
}
