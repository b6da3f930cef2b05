//! Whether the other side is there, by what is heard of it. Monotonic time only.

use std::time::Duration;

use bowline_wire::{DEAD_AFTER, PING_AT_REST, PING_EVERY};

/// What has slept hears within this whether its connection has survived.
const PROBE: Duration = Duration::from_secs(3);

/// A deadline that is looked at so much too late was slept over.
const OVERSLEPT: Duration = Duration::from_secs(2);

#[derive(Debug, PartialEq, Eq)]
enum Since {
    Nothing,
    /// The other side is there, and both are at rest.
    Answers,
    More,
}

#[derive(Debug)]
pub(super) struct Liveness {
    ping_at: Duration,
    dead_at: Duration,
    /// What was heard since the last question.
    since: Since,
    nonce: u64,
}

impl Liveness {
    pub(super) fn new() -> Self {
        Self {
            ping_at: Duration::ZERO,
            dead_at: Duration::ZERO,
            since: Since::Nothing,
            nonce: 0,
        }
    }

    /// An answer to a question was heard, or a question.
    pub(super) fn answered(&mut self, now: Duration) {
        self.dead_at = now + DEAD_AFTER;
        if self.since == Since::Nothing {
            self.since = Since::Answers;
        }
    }

    /// Something else was heard.
    pub(super) fn heard(&mut self, now: Duration) {
        self.dead_at = now + DEAD_AFTER;
        self.since = Since::More;
    }

    /// The nonce of a question that is asked now.
    pub(super) fn ping(&mut self, now: Duration) -> u64 {
        let pause = match std::mem::replace(&mut self.since, Since::Nothing) {
            Since::Answers => PING_AT_REST,
            Since::Nothing | Since::More => PING_EVERY,
        };
        self.ping_at = now + pause;
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
