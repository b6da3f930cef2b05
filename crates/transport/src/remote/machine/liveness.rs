//! Whether the other side is there, by what is heard of it. Monotonic time only.

use std::time::Duration;

use crate::wire::{DEAD_AFTER, PING_EVERY};

/// What has slept hears within this whether its connection has survived.
const PROBE: Duration = Duration::from_secs(3);

/// A deadline that is looked at so much too late was slept over.
const OVERSLEPT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Liveness {
    ping_at: Duration,
    dead_at: Duration,
    nonce: u64,
}

impl Liveness {
    pub(super) fn new() -> Self {
        Self {
            ping_at: Duration::ZERO,
            dead_at: Duration::ZERO,
            nonce: 0,
        }
    }

    /// Something was heard.
    pub(super) fn heard(&mut self, now: Duration) {
        self.dead_at = now + DEAD_AFTER;
    }

    /// The nonce of a question that is asked now.
    pub(super) fn ping(&mut self, now: Duration) -> u64 {
        self.ping_at = now + PING_EVERY;
        self.nonce += 1;
        self.nonce
    }

    /// This machine has slept: the silence is its own, so far.
    pub(super) fn woke(&mut self, now: Duration) {
        self.ping_at = now;
        self.dead_at = now + PROBE;
    }

    pub(super) fn is_dead(&self, now: Duration) -> bool {
        self.dead_at <= now
    }

    pub(super) fn deadline(&self) -> Duration {
        self.ping_at.min(self.dead_at)
    }
}

/// Whether a deadline was slept over.
pub(super) fn overslept(due: Duration, now: Duration) -> bool {
    now.saturating_sub(due) > OVERSLEPT
}
