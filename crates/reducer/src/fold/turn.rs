//! Whose turn is open, and which result ends it (protocol, sections A.16 and B.6).
//!
//! A result may come late: that of an interrupted turn behind the beginning of the next one, that
//! of the agent's own turn while a prompt is being answered. Such a result is an entry, and closes
//! nothing.

use bowline_jsonl::{CommandLifecycle, Init, RawJson, Str, TurnResult};

use crate::transcript::Transcript;
use crate::uuids::Uuid;

/// Most turns that are remembered to have begun without a result.
const OVERTAKEN: usize = 64;

/// The turn, and the prompts that are owed one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    pub(crate) is_open: bool,
    /// Whether the agent has given a sign of it; without one there is only a prompt that waits.
    has_begun: bool,
    /// The prompts that the turn is about, as far as the agent names them.
    about: Vec<Uuid>,
    /// The prompts of turns that began, and were followed by another before their result.
    overtaken: Vec<Uuid>,
    /// Prompts of the host that no result has named yet, the oldest first.
    waiting: Vec<Uuid>,
}

/// Whose result it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// That of the turn that is open.
    Open,
    /// That of another one.
    Other,
}

impl Turn {
    /// The agent begins a turn about these prompts. A conversation that is replaced is no new turn.
    fn begin(&mut self, about: Vec<Uuid>, is_replaced: bool) {
        if !is_replaced {
            let before = std::mem::take(&mut self.about);
            self.overtaken
                .extend(before.into_iter().filter(|it| !about.contains(it)));
            let excess = self.overtaken.len().saturating_sub(OVERTAKEN);
            self.overtaken.drain(..excess);
        }
        if !about.is_empty() {
            self.about = about;
        }
    }

    fn waits(&mut self, uuid: Uuid) {
        self.waiting.push(uuid);
    }

    /// Takes a result that names these prompts.
    fn result(&mut self, named: &[Uuid], is_unasked: bool) -> Owner {
        let was_overtaken = !named.is_empty() && named.iter().all(|it| self.overtaken.contains(it));
        let is_beside = is_unasked && named.is_empty() && !self.about.is_empty();
        self.waiting.retain(|it| !named.contains(it));
        self.overtaken.retain(|it| !named.contains(it));
        if was_overtaken || is_beside {
            return Owner::Other;
        }
        if named.is_empty() && !is_unasked {
            // An agent that names no prompts has answered all that it has.
            self.waiting.clear();
        }
        self.about.clear();
        self.has_begun = false;
        Owner::Open
    }

    /// No result will come of a prompt. Whether that was all there was of the turn.
    fn drops(&mut self, uuid: Uuid) -> bool {
        self.waiting.retain(|it| *it != uuid);
        self.is_open && !self.has_begun && self.waiting.is_empty()
    }

    pub(crate) fn close(&mut self) {
        *self = Self::default();
    }
}

impl Transcript {
    /// The agent gives a sign of a turn.
    pub(crate) fn open_turn(&mut self) {
        self.evidence.turn.has_begun = true;
        self.expect_turn();
    }

    fn expect_turn(&mut self) {
        if !self.evidence.turn.is_open {
            self.evidence.turn.is_open = true;
            self.touch_status();
        }
    }

    /// The host has sent a prompt: a turn about it will come.
    pub(crate) fn await_turn(&mut self, uuid: &str) {
        if !uuid.is_empty() {
            self.evidence.turn.waits(Uuid::new(uuid));
        }
        self.expect_turn();
    }

    pub(crate) fn begin_turn(&mut self, init: &Init<'_>, is_replaced: bool) {
        let about = named(None, init.user_message_uuids);
        self.evidence.turn.begin(about, is_replaced);
        self.open_turn();
    }

    pub(crate) fn owner_of(&mut self, result: &TurnResult<'_>) -> Owner {
        let named = named(result.user_message_uuid, result.user_message_uuids);
        self.evidence.turn.result(&named, result.origin.is_some())
    }

    /// The turn is over, unless prompts wait.
    pub(crate) fn end_turn(&mut self, queued: u64) {
        let turn = &mut self.evidence.turn;
        turn.is_open = queued > 0 || !turn.waiting.is_empty();
    }

    /// No result will come of a prompt.
    pub(crate) fn drop_prompt(&mut self, uuid: &str) {
        if self.evidence.turn.drops(Uuid::new(uuid)) {
            self.evidence.turn.is_open = false;
            self.touch_status();
        }
    }

    pub(crate) fn command(&mut self, command: &CommandLifecycle<'_>) {
        match &*command.state.unwrap_or_default().decode() {
            "started" => self.open_turn(),
            "completed" | "cancelled" | "discarded" | "refused" => {
                if let Some(uuid) = command.command_uuid {
                    self.drop_prompt(&uuid.decode());
                }
            }
            _ => {}
        }
    }
}

/// The prompts that a line names.
fn named(last: Option<Str<'_>>, all: Option<RawJson<'_>>) -> Vec<Uuid> {
    let all = all.into_iter().flat_map(RawJson::elements);
    let all = all.filter_map(RawJson::as_str).chain(last);
    all.map(|uuid| Uuid::new(&uuid.decode())).collect()
}
