//! Which runner owns a session.

use bowline_wire::Epoch;

use super::names::RunnerId;
use super::records::SessionRecord;

/// What an owner does with its record of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum OwnershipDecision {
    /// It writes this record.
    Put(Box<SessionRecord>),
    /// Another runner took the session over: the record stays as it is. The local session is fenced from the
    /// fleet and continues until its user ends it.
    Superseded {
        /// The owner.
        by: RunnerId,
        /// Its generation.
        generation: u64,
    },
}

/// Decides what a runner writes, given the stored record and its own. Its own generation is that which it acquired,
/// or 1.
#[must_use]
pub fn decide_ownership(
    stored: Option<&SessionRecord>,
    mut own: SessionRecord,
) -> OwnershipDecision {
    let Some(stored) = stored else {
        return OwnershipDecision::Put(Box::new(own));
    };
    let is_same_owner = stored.runner == own.runner;
    if !is_same_owner && stored.generation >= own.generation {
        return OwnershipDecision::Superseded {
            by: stored.runner.clone(),
            generation: stored.generation,
        };
    }
    own.earlier.clone_from(&stored.earlier);
    if stored.epoch == own.epoch {
        own.generation = own.generation.max(stored.generation);
    } else {
        own.earlier.push(stored.as_earlier());
        own.generation = own.generation.max(stored.generation.saturating_add(1));
    }
    OwnershipDecision::Put(Box::new(own))
}

/// Returns the record with which a runner takes a session over, in a new epoch.
#[must_use]
pub fn take_over(stored: &SessionRecord, by: RunnerId, epoch: Epoch) -> SessionRecord {
    let mut record = stored.clone();
    record.earlier.push(stored.as_earlier());
    record.generation = stored.generation.saturating_add(1);
    record.runner = by;
    record.epoch = epoch;
    record.ends = crate::log::Positions::default();
    record.copied = crate::log::Positions::default();
    record.index = super::index::LogIndex::default();
    record.claimed_by = None;
    record.git = None;
    record
}
