//! The open turn, and which result ends it.

use std::collections::BTreeSet;

use crate::names::Name;
use crate::uuids::Uuid;

/// Most superseded prompts that are remembered.
const MAX_SUPERSEDED: usize = 64;

/// The current turn, and the prompts that are still owed one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    pub(crate) is_open: bool,
    /// Whether the agent has begun it; otherwise there is only a pending prompt.
    pub(crate) has_begun: bool,
    /// The prompts of the turn, if the agent names them.
    about: BTreeSet<Uuid>,
    /// Prompts of turns that were followed by another before their result.
    superseded: Vec<Uuid>,
    /// Prompts of the host that no result has named yet.
    pub(crate) waiting: BTreeSet<Uuid>,
}

/// Which turn: its number from 1, or the agent's name of it; none by default.
///
/// A number is not interned: a session has any number of turns, and names are never dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TurnId(u32);

impl TurnId {
    const NAMED: u32 = 1 << 31;

    pub(crate) const fn numbered(number: u64) -> Self {
        Self((number % Self::NAMED as u64) as u32)
    }

    /// The empty name is no turn.
    pub(crate) const fn named(name: Name) -> Self {
        if name.is_empty() {
            Self(0)
        } else {
            Self(name.number() | Self::NAMED)
        }
    }

    pub(crate) const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Returns the number, or the name.
    pub(crate) const fn get(self) -> Result<u32, Name> {
        if self.0 & Self::NAMED == 0 {
            Ok(self.0)
        } else {
            Err(Name::from_number(self.0 & !Self::NAMED))
        }
    }
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
    pub(crate) fn begin(&mut self, about: BTreeSet<Uuid>, is_replaced: bool) {
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

    pub(crate) fn waits(&mut self, uuid: Uuid) {
        self.waiting.insert(uuid);
    }

    /// Ends the turn of a result that names these prompts.
    pub(crate) fn result(&mut self, named: &BTreeSet<Uuid>, is_unasked: bool) -> TurnOwner {
        let was_superseded =
            !named.is_empty() && named.iter().all(|it| self.superseded.contains(it));
        let is_unrelated = is_unasked && named.is_empty() && !self.about.is_empty();
        for uuid in named {
            self.waiting.remove(uuid);
        }
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
    pub(crate) fn drops(&mut self, uuid: Uuid) -> bool {
        self.waiting.remove(&uuid);
        self.is_open && !self.has_begun && self.waiting.is_empty()
    }

    pub(crate) fn close(&mut self) {
        *self = Self::default();
    }
}
