//! Detection of dead connections by pings, in monotonic time.

use std::time::Duration;

use bowline_wire::{DEAD_AFTER, PING_AT_REST, PING_EVERY};

/// Time limit of the reply to the ping after a suspension.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

/// Delay of a timeout that indicates a suspension.
const SUSPEND_THRESHOLD: Duration = Duration::from_secs(2);

#[derive(Debug, PartialEq, Eq)]
enum Traffic {
    None,
    /// Only pings and pongs: both sides are idle.
    Pings,
    Other,
}

#[derive(Debug)]
pub(super) struct Liveness {
    ping_at: Duration,
    dead_at: Duration,
    /// The frames received since the last ping.
    traffic: Traffic,
    nonce: u64,
}

impl Liveness {
    pub(super) fn new() -> Self {
        Self {
            ping_at: Duration::ZERO,
            dead_at: Duration::ZERO,
            traffic: Traffic::None,
            nonce: 0,
        }
    }

    /// Records a received ping or pong.
    pub(super) fn received_ping(&mut self, now: Duration) {
        self.dead_at = now + DEAD_AFTER;
        if self.traffic == Traffic::None {
            self.traffic = Traffic::Pings;
        }
    }

    /// Records another received frame.
    pub(super) fn received_frame(&mut self, now: Duration) {
        self.dead_at = now + DEAD_AFTER;
        self.traffic = Traffic::Other;
    }

    /// Schedules the next ping and returns the nonce of the one to send now.
    pub(super) fn ping(&mut self, now: Duration) -> u64 {
        let pause = match std::mem::replace(&mut self.traffic, Traffic::None) {
            Traffic::Pings => PING_AT_REST,
            Traffic::None | Traffic::Other => PING_EVERY,
        };
        self.ping_at = now + pause;
        self.nonce += 1;
        self.nonce
    }

    /// Probes the connection after a suspension, during which nothing could be received.
    pub(super) fn woke(&mut self, now: Duration) {
        self.ping_at = now;
        self.dead_at = now + PROBE_TIMEOUT;
    }

    pub(super) fn is_dead(&self, now: Duration) -> bool {
        self.dead_at <= now
    }

    pub(super) fn deadline(&self) -> Duration {
        self.ping_at.min(self.dead_at)
    }
}

/// Returns whether the machine was suspended at a deadline.
pub(super) fn was_suspended(due: Duration, now: Duration) -> bool {
    now.saturating_sub(due) > SUSPEND_THRESHOLD
}
