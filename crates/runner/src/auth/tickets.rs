//! One-time tickets: secrets for a single attach, for clients that must not have the token.
//!
//! Time is an argument. Looking a ticket up consumes it, so that it cannot be used twice.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bowline_transport::SessionId;
use bowline_transport::wire::Lease;

use super::token::TokenHash;
use crate::shim::SessionSpec;

/// Maximum number of unused tickets; beyond it, the oldest is dropped.
const MAX_TICKETS: usize = 10_000;

/// What a ticket permits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OneTimeTicket {
    /// Attaching to a session, with at most this lease.
    Attach(SessionId, Lease),
    /// Starting a session that ends with its web terminal.
    Create(Box<SessionSpec>),
    /// Logging in a page.
    Login,
}

/// The unused tickets, by the hash of their secret.
#[derive(Debug)]
pub(crate) struct TicketStore {
    life: Duration,
    unused: HashMap<TokenHash, (Instant, OneTimeTicket)>,
}

impl TicketStore {
    /// A store whose tickets expire after `life`.
    pub(crate) fn new(life: Duration) -> Self {
        Self {
            life,
            unused: HashMap::new(),
        }
    }

    /// Stores a ticket.
    pub(crate) fn issue(&mut self, secret: &str, ticket: OneTimeTicket, now: Instant) {
        self.make_room(now);
        let hash = TokenHash::of(secret.as_bytes());
        self.unused.insert(hash, (now + self.life, ticket));
    }

    /// Consumes a ticket. Returns `None` if it is unknown, used or expired.
    pub(crate) fn redeem(&mut self, secret: &[u8], now: Instant) -> Option<OneTimeTicket> {
        let (expiry, ticket) = self.unused.remove(&TokenHash::of(secret))?;
        (now < expiry).then_some(ticket)
    }

    fn make_room(&mut self, now: Instant) {
        if self.unused.len() < MAX_TICKETS {
            return;
        }
        self.unused.retain(|_, (expiry, _)| now < *expiry);
        if self.unused.len() < MAX_TICKETS {
            return;
        }
        let oldest = self.unused.iter().min_by_key(|(_, (expiry, _))| *expiry);
        if let Some(oldest) = oldest.map(|(hash, _)| *hash) {
            self.unused.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: Duration = Duration::from_secs(30);

    fn ticket() -> OneTimeTicket {
        OneTimeTicket::Attach(SessionId::random(), Lease::Write)
    }

    #[test]
    fn ticket_is_valid_once() {
        let now = Instant::now();
        let mut tickets = TicketStore::new(LIFE);
        let (one, two) = (ticket(), ticket());
        tickets.issue("one", one.clone(), now);
        tickets.issue("two", two.clone(), now);
        assert_eq!(tickets.redeem(b"one", now), Some(one));
        assert_eq!(tickets.redeem(b"one", now), None);
        assert_eq!(tickets.redeem(b"three", now), None);
        assert_eq!(tickets.redeem(b"two", now), Some(two));
    }

    #[test]
    fn ticket_expires() {
        let now = Instant::now();
        let mut tickets = TicketStore::new(LIFE);
        tickets.issue("young", ticket(), now);
        tickets.issue("old", ticket(), now);
        let last_moment = now + LIFE - Duration::from_nanos(1);
        assert!(tickets.redeem(b"young", last_moment).is_some());
        assert_eq!(tickets.redeem(b"old", now + LIFE), None);
        // The failed attempt consumed it, even for an earlier time.
        assert_eq!(tickets.redeem(b"old", now), None);
    }

    #[test]
    fn oldest_ticket_is_dropped_when_full() {
        let now = Instant::now();
        let mut tickets = TicketStore::new(LIFE);
        for n in 0..MAX_TICKETS as u32 + 10 {
            let issued = now + Duration::from_nanos(n.into());
            tickets.issue(&n.to_string(), ticket(), issued);
        }
        assert_eq!(tickets.unused.len(), MAX_TICKETS);
        assert_eq!(tickets.redeem(b"0", now), None, "the oldest was dropped");
        assert!(tickets.redeem(b"10", now).is_some());
    }
}
