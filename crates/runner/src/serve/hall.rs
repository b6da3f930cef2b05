//! What all doors share.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bowline_transport::SessionId;
use bowline_transport::wire::Lease;

use super::gate::Gate;
use super::life::Life;
use super::pace::Pace;
use super::tickets::Tickets;
use super::{Directory, ServeLimits};
use crate::doors::{Metrics, Parked};
use crate::shim::SessionSpec;

/// Wrong tokens a second from one address before answers are held back.
const GUESSES: u32 = 5;

/// How long an answer to a wrong token is held back then.
const HOLD_BACK: Duration = Duration::from_secs(1);

/// What a ticket is good for.
#[derive(Clone, Debug)]
pub(crate) enum Grant {
    /// To attach to a session, with at most this lease.
    Attach(SessionId, Lease),
    /// To start a session of a panel's own.
    Create(Box<SessionSpec>),
}

/// What all doors share.
#[derive(Debug)]
pub(crate) struct Hall {
    pub(crate) gate: Gate,
    pub(crate) directory: Arc<Directory>,
    pub(crate) limits: ServeLimits,
    pub(crate) metrics: Metrics,
    pub(crate) parked: Parked,
    pub(crate) life: Life,
    tickets: Mutex<Tickets<Grant>>,
    guesses: Mutex<Pace<Option<IpAddr>>>,
    attaches: Mutex<Pace<SessionId>>,
}

impl Hall {
    pub(super) fn new(
        gate: Gate,
        directory: Arc<Directory>,
        limits: ServeLimits,
        life: Life,
    ) -> Self {
        let per_second = limits.attaches_per_second;
        Self {
            gate,
            directory,
            limits,
            metrics: Metrics::default(),
            parked: Parked::default(),
            life,
            tickets: Mutex::new(Tickets::new(limits.ticket_life)),
            guesses: Mutex::new(Pace::new(GUESSES, GUESSES)),
            attaches: Mutex::new(Pace::new(per_second.saturating_mul(2), per_second)),
        }
    }

    /// Remembers a ticket.
    pub(crate) fn issue(&self, secret: &str, grant: Grant) {
        locked(&self.tickets).issue(secret, grant, Instant::now());
    }

    /// Uses a ticket up.
    pub(crate) fn redeem(&self, shown: &str) -> Option<Grant> {
        locked(&self.tickets).redeem(shown.as_bytes(), Instant::now())
    }

    /// How long the answer to a wrong token is to be held back.
    pub(crate) fn guessed(&self, address: Option<IpAddr>) -> Duration {
        match locked(&self.guesses).take(address, Instant::now()) {
            Ok(()) => Duration::ZERO,
            Err(_) => HOLD_BACK,
        }
    }

    /// Whether a session may be attached to once more.
    ///
    /// # Errors
    ///
    /// Not yet; the time until it may.
    pub(crate) fn may_attach(&self, session: SessionId) -> Result<(), Duration> {
        locked(&self.attaches).take(session, Instant::now())
    }
}

/// What is behind these locks is whole between any two statements.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
