//! What a machine is made from.

use std::time::Duration;

use bowline_transport::SessionId;

use super::OverflowPolicy;
use crate::wire::{Epoch, SessionFacts, StreamId};

/// What a session is, for its machine.
#[derive(Clone, Debug)]
pub struct MachineConfiguration {
    /// The session's name.
    pub session: SessionId,
    /// This incarnation of its child.
    pub epoch: Epoch,
    /// What clients are told of it.
    pub facts: SessionFacts,
    /// Its streams.
    pub streams: Vec<StreamConfiguration>,
    /// Whether [`Effect::Snapshot`] can be answered.
    pub has_screen: bool,
    /// How long an exit is kept for somebody to acknowledge it; `None` is 24 hours.
    pub exit_retention: Option<Duration>,
}

/// One stream of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamConfiguration {
    /// Its name.
    pub id: StreamId,
    /// What happens when the ring is full.
    pub policy: OverflowPolicy,
    /// Bytes that are kept in memory.
    pub ring_bytes: usize,
}
