//! Turns, and which result ends which (`crates/jsonl/PROTOCOL.md`, Turns).
//!
//! A result may be late: that of an interrupted turn may follow the beginning of the next one, and
//! that of a turn of the agent's own may come while a prompt is answered. A late result is an entry
//! and closes nothing.

use bowline_jsonl::{CommandLifecycle, Init, RawJson, Str, TurnResult};

use crate::transcript::Transcript;
use crate::uuids::Uuid;

/// Most superseded prompts that are remembered.
const MAX_SUPERSEDED: usize = 64;

/// The current turn, and the prompts that are still owed one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    pub(crate) is_open: bool,
    /// Whether the agent has begun it; otherwise there is only a pending prompt.
    has_begun: bool,
    /// The prompts of the turn, if the agent names them.
    about: Vec<Uuid>,
    /// Prompts of turns that were followed by another before their result.
    superseded: Vec<Uuid>,
    /// Prompts of the host that no result has named yet, the oldest first.
    waiting: Vec<Uuid>,
}

/// The turn that a result belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnOwner {
    /// The open turn.
    Open,
    /// Another turn.
    Other,
}

impl Turn {
    /// Begins a turn for these prompts. A replaced conversation is not a new turn.
    fn begin(&mut self, about: Vec<Uuid>, is_replaced: bool) {
        if !is_replaced {
            let before = std::mem::take(&mut self.about);
            self.superseded
                .extend(before.into_iter().filter(|it| !about.contains(it)));
            let excess = self.superseded.len().saturating_sub(MAX_SUPERSEDED);
            self.superseded.drain(..excess);
        }
        if !about.is_empty() {
            self.about = about;
        }
    }

    fn waits(&mut self, uuid: Uuid) {
        self.waiting.push(uuid);
    }

    /// Ends the turn of a result that names these prompts.
    fn result(&mut self, named: &[Uuid], is_unasked: bool) -> TurnOwner {
        let was_superseded =
            !named.is_empty() && named.iter().all(|it| self.superseded.contains(it));
        let is_unrelated = is_unasked && named.is_empty() && !self.about.is_empty();
        self.waiting.retain(|it| !named.contains(it));
        self.superseded.retain(|it| !named.contains(it));
        if was_superseded || is_unrelated {
            return TurnOwner::Other;
        }
        if named.is_empty() && !is_unasked {
            // An agent that names no prompts has answered all of them.
            self.waiting.clear();
        }
        self.about.clear();
        self.has_begun = false;
        TurnOwner::Open
    }

    /// Drops a prompt that gets no result; returns whether the turn has thereby ended.
    fn drops(&mut self, uuid: Uuid) -> bool {
        self.waiting.retain(|it| *it != uuid);
        self.is_open && !self.has_begun && self.waiting.is_empty()
    }

    pub(crate) fn close(&mut self) {
        *self = Self::default();
    }
}

impl Transcript {
    /// Records that the agent works on a turn.
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

    /// Records a prompt of the host, for which a turn will follow.
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

    pub(crate) fn result_owner(&mut self, result: &TurnResult<'_>) -> TurnOwner {
        let named = named(result.user_message_uuid, result.user_message_uuids);
        self.evidence.turn.result(&named, result.origin.is_some())
    }

    /// Closes the turn unless prompts are pending.
    pub(crate) fn end_turn(&mut self, queued: u64) {
        let turn = &mut self.evidence.turn;
        turn.is_open = queued > 0 || !turn.waiting.is_empty();
    }

    /// Drops a prompt that gets no result.
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
