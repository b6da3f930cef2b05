//! The decisions of a session's driver: lines of the control stream, each appended once.

use std::hash::{DefaultHasher, Hasher as _};

use bowline_transport::journal::Arrival;
use bytes::Bytes;

use super::request_dedup::RequestDedup;
use super::requests::REUSED_ID;
use super::{Effect, SessionMachine};
use crate::wire::{PromptStatus, StreamId};

/// The ids of the decisions, with a hash of each.
#[derive(Debug, Default)]
pub(super) struct Decisions(RequestDedup<u64>);

impl SessionMachine {
    /// Appends a decision to the control stream, unless one with its id is there. Its place is the end of the
    /// output at present.
    pub fn record_decision(&mut self, id: &str, line: &Bytes) -> PromptStatus {
        let refused = |reason: &str| PromptStatus::Refused {
            reason: reason.to_owned(),
        };
        if !self.streams.contains_key(&StreamId::CONTROL) {
            return refused("only a dialogue on pipes has a control stream");
        }
        let hash = hash(line);
        match self.decisions.0.get(id) {
            Some(known) if *known == hash => return PromptStatus::Written,
            Some(_) => return refused(REUSED_ID),
            None if self.exit.is_some() => return refused("the child has ended"),
            None => self.decisions.0.insert(id, hash),
        }
        let mut whole = line.to_vec();
        if whole.last() != Some(&b'\n') {
            whole.push(b'\n');
        }
        let arrival = Arrival {
            at_ms: self.wall_ms,
            output: Some(self.end(StreamId::STDOUT)),
        };
        self.append(StreamId::CONTROL, whole.into(), arrival);
        self.effects.push_back(Effect::Record(StreamId::CONTROL));
        PromptStatus::Written
    }
}

/// Hashes a line. Clients that have a lease do not construct collisions.
pub(super) fn hash(line: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(line);
    hasher.finish()
}
