//! Tickets: secrets for one attach, made for whom the token must not be given to.
//!
//! Time is an argument. A ticket is gone with the look at it, so that no two can use the same one.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::token::TokenHash;

/// How long a ticket can be used.
pub(crate) const LIFE: Duration = Duration::from_secs(30);

/// Tickets that may wait to be used; the oldest go first beyond that.
const MOST: usize = 10_000;

/// Tickets that wait to be used, with what each is good for.
#[derive(Debug)]
pub(crate) struct Tickets<T> {
    life: Duration,
    waiting: HashMap<TokenHash, (Instant, T)>,
}

impl<T> Tickets<T> {
    pub(crate) fn new(life: Duration) -> Self {
        Self {
            life,
            waiting: HashMap::new(),
        }
    }

    /// Remembers a ticket, by its hash alone.
    pub(crate) fn issue(&mut self, secret: &str, good_for: T, now: Instant) {
        self.forget(now);
        self.waiting.insert(
            TokenHash::of(secret.as_bytes()),
            (now + self.life, good_for),
        );
    }

    /// Uses a ticket up. Gives nothing for one that is not known, was used or is too old.
    pub(crate) fn redeem(&mut self, shown: &[u8], now: Instant) -> Option<T> {
        let (until, good_for) = self.waiting.remove(&TokenHash::of(shown))?;
        (now < until).then_some(good_for)
    }

    fn forget(&mut self, now: Instant) {
        if self.waiting.len() < MOST {
            return;
        }
        self.waiting.retain(|_, (until, _)| now < *until);
        if self.waiting.len() < MOST {
            return;
        }
        let oldest = self.waiting.iter().min_by_key(|(_, (until, _))| *until);
        if let Some(oldest) = oldest.map(|(hash, _)| *hash) {
            self.waiting.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_good_once() {
        let now = Instant::now();
        let mut tickets = Tickets::new(LIFE);
        tickets.issue("one", 1, now);
        tickets.issue("two", 2, now);
        assert_eq!(tickets.redeem(b"one", now), Some(1));
        assert_eq!(tickets.redeem(b"one", now), None);
        assert_eq!(tickets.redeem(b"three", now), None);
        assert_eq!(tickets.redeem(b"two", now), Some(2));
    }

    #[test]
    fn a_ticket_ages() {
        let now = Instant::now();
        let mut tickets = Tickets::new(LIFE);
        tickets.issue("young", 1, now);
        tickets.issue("old", 2, now);
        let last = now + LIFE - Duration::from_nanos(1);
        assert_eq!(tickets.redeem(b"young", last), Some(1));
        assert_eq!(tickets.redeem(b"old", now + LIFE), None);
        // The look at it used it up, whatever the clock says.
        assert_eq!(tickets.redeem(b"old", now), None);
    }

    #[test]
    fn memory_for_tickets_is_bounded() {
        let now = Instant::now();
        let mut tickets = Tickets::new(LIFE);
        for n in 0..MOST as u32 + 10 {
            tickets.issue(&n.to_string(), n, now + Duration::from_nanos(n.into()));
        }
        assert_eq!(tickets.waiting.len(), MOST);
        assert_eq!(tickets.redeem(b"0", now), None, "the oldest went");
        assert_eq!(tickets.redeem(b"10", now), Some(10));
    }
}
