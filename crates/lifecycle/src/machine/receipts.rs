//! What became of each prompt, from what the agent says about its uuid.

use std::collections::HashMap;

use bowline_jsonl::{CommandLifecycle, RawJson, Str, TurnResult};

/// How far a prompt has come. A prompt only moves forward, and one that has ended stays ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ReceiptState {
    /// The session has taken it.
    Accepted,
    /// The kernel has taken its line.
    Written,
    /// The agent has repeated it: it is in the conversation.
    Echoed,
    /// A turn about it runs.
    Started,
    /// A turn about it has ended; the result says how.
    Answered,
    /// It was answered together with a later one.
    Merged,
    /// The agent knows its uuid from an earlier run: it repeats the prompt and does not answer it.
    Duplicate,
    /// The agent gave it up unanswered.
    Cancelled,
    /// The process ended before the agent said what became of it, or its line could not be written
    /// whole: it stalled, or another host took the session before this one knew that it arrived.
    Unknown,
}

impl ReceiptState {
    /// Whether nothing more will come of the prompt.
    #[must_use]
    pub fn is_final(self) -> bool {
        self >= Self::Answered
    }
}

/// The prompts of a session, by uuid.
#[derive(Debug, Default)]
pub(crate) struct Receipts {
    states: HashMap<String, Sent>,
    /// Uuids in the order of sending.
    order: Vec<String>,
    /// How many are open.
    open: usize,
    /// Whether the agent tells the life of each prompt.
    tells_lifecycle: bool,
    /// Whether a turn has begun in this run.
    has_begun: bool,
}

/// A prompt that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    state: ReceiptState,
    /// Whether the agent has told that it takes it up.
    is_queued: bool,
}

/// A step that a prompt has made.
pub(crate) type Step = (String, ReceiptState);

impl Receipts {
    pub(crate) fn contains(&self, uuid: &str) -> bool {
        self.states.contains_key(uuid)
    }

    pub(crate) fn accept(&mut self, uuid: &str) {
        let sent = Sent {
            state: ReceiptState::Accepted,
            is_queued: false,
        };
        self.states.insert(uuid.to_owned(), sent);
        self.order.push(uuid.to_owned());
        self.open += 1;
    }

    /// Moves a prompt forward; nothing when it is there already or not ours.
    pub(crate) fn advance(&mut self, uuid: &str, state: ReceiptState) -> Option<Step> {
        let current = &mut self.states.get_mut(uuid)?.state;
        if current.is_final() || *current >= state {
            return None;
        }
        *current = state;
        if state.is_final() {
            self.open -= 1;
        }
        Some((uuid.to_owned(), state))
    }

    /// The agent has begun a turn.
    pub(crate) const fn turn_begins(&mut self) {
        self.has_begun = true;
    }

    /// An echo. That of a prompt which the agent never took up is all that will come of it: its
    /// uuid is in the conversation already (protocol, section B.2). An agent that tells nothing of
    /// its prompts is believed to begin a turn before the first echo.
    pub(crate) fn echo(&mut self, uuid: &str) -> Option<Step> {
        let is_taken_up = self.states.get(uuid)?.is_queued;
        let is_known = !is_taken_up && (self.tells_lifecycle || !self.has_begun);
        let state = if is_known {
            ReceiptState::Duplicate
        } else {
            ReceiptState::Echoed
        };
        self.advance(uuid, state)
    }

    pub(crate) fn lifecycle(&mut self, line: &CommandLifecycle<'_>) -> Option<Step> {
        self.tells_lifecycle = true;
        if let Some(uuid) = line.command_uuid
            && let Some(sent) = self.states.get_mut(&*uuid.decode())
        {
            sent.is_queued = true;
        }
        let state = match &*line.state.unwrap_or_default().decode() {
            "started" => ReceiptState::Started,
            "cancelled" | "discarded" | "refused" => ReceiptState::Cancelled,
            // `queued` says no more than the echo, and `completed` less than the result.
            _ => return None,
        };
        self.advance(&line.command_uuid?.decode(), state)
    }

    /// A result names the prompts of its turn; the last one started it, the others joined.
    pub(crate) fn result(&mut self, line: &TurnResult<'_>) -> Vec<Step> {
        let last = line.user_message_uuid.map(Str::decode);
        let named: Vec<_> = line
            .user_message_uuids
            .into_iter()
            .flat_map(RawJson::elements)
            .collect();
        let mut steps = Vec::new();
        for uuid in named
            .into_iter()
            .filter_map(RawJson::as_str)
            .map(Str::decode)
        {
            let merged = last.as_ref().is_some_and(|last| *last != uuid);
            let state = if merged {
                ReceiptState::Merged
            } else {
                ReceiptState::Answered
            };
            steps.extend(self.advance(&uuid, state));
        }
        if let Some(uuid) = &last {
            steps.extend(self.advance(uuid, ReceiptState::Answered));
        } else if steps.is_empty() && line.origin.is_none() {
            // An agent that names no prompts answers them in the order in which they came.
            let oldest = self.open_ones().next().map(str::to_owned);
            if let Some(oldest) = oldest {
                steps.extend(self.advance(&oldest, ReceiptState::Answered));
            }
        }
        steps
    }

    /// Ends every open prompt.
    pub(crate) fn close(&mut self) -> Vec<Step> {
        let open: Vec<_> = self.open_ones().map(str::to_owned).collect();
        open.iter()
            .filter_map(|uuid| self.advance(uuid, ReceiptState::Unknown))
            .collect()
    }

    pub(crate) const fn any_open(&self) -> bool {
        self.open > 0
    }

    /// How many prompts are open.
    pub(crate) const fn open(&self) -> usize {
        self.open
    }

    /// The open prompts, the oldest first.
    fn open_ones(&self) -> impl Iterator<Item = &str> {
        let is_open = |uuid: &&String| {
            self.states
                .get(*uuid)
                .is_some_and(|it| !it.state.is_final())
        };
        self.order.iter().filter(is_open).map(String::as_str)
    }
}
