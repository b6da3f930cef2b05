//! The lease of a runner: its record, renewed before its age.

use std::time::{Duration, Instant};

use super::records::LEASE_AGE;

/// Interval between renewals.
pub const RENEW_EVERY: Duration = Duration::from_secs(5);

/// Pause after a renewal that failed.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// A runner's lease on its own id. A lapsed lease ends nothing: it only makes sessions takeable.
#[derive(Debug)]
pub struct Lease {
    boot: String,
    revision: Option<u64>,
    due: Instant,
    renewed: Option<Instant>,
    taken_by: Option<String>,
}

/// How to write the runner's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseStep {
    /// The key must not exist.
    Create,
    /// The key must have this revision.
    Update(u64),
}

/// The result of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseReply {
    /// It has this revision.
    Written(u64),
    /// The key has another revision: that of this boot, or none.
    Found(Option<(u64, String)>),
    /// The result is unknown.
    Failed,
}

/// The state of a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseState {
    /// It was renewed within its age.
    Held,
    /// It lapsed, or was never acquired.
    Lapsed,
    /// Another daemon with the same id, of this boot id, has it.
    Taken(String),
}

impl Lease {
    /// Returns a lease that is due at once.
    #[must_use]
    pub const fn new(boot: String, now: Instant) -> Self {
        Self {
            boot,
            revision: None,
            due: now,
            renewed: None,
            taken_by: None,
        }
    }

    /// Returns the next write, if one is due.
    #[must_use]
    pub fn poll(&self, now: Instant) -> Option<LeaseStep> {
        (now >= self.due).then_some(match self.revision {
            Some(revision) => LeaseStep::Update(revision),
            None => LeaseStep::Create,
        })
    }

    /// When [`poll`](Self::poll) is due next.
    #[must_use]
    pub const fn deadline(&self) -> Instant {
        self.due
    }

    /// Handles the result of a write that began at `sent`, from which the lease's age is counted.
    pub fn on_reply(&mut self, reply: LeaseReply, sent: Instant, now: Instant) {
        match reply {
            LeaseReply::Written(revision) => {
                self.revision = Some(revision);
                self.renewed = Some(sent);
                self.taken_by = None;
                self.due = sent + RENEW_EVERY;
            }
            // It expired, or the server lost it.
            LeaseReply::Found(None) => {
                self.revision = None;
                self.due = now;
            }
            // A write whose reply was lost.
            LeaseReply::Found(Some((revision, boot))) if boot == self.boot => {
                self.revision = Some(revision);
                self.due = now;
            }
            LeaseReply::Found(Some((_, boot))) => {
                self.revision = None;
                self.taken_by = Some(boot);
                self.due = now + RENEW_EVERY;
            }
            LeaseReply::Failed => self.due = now + RETRY_AFTER,
        }
    }

    /// Makes the next write due, as after a connect.
    pub const fn renew_now(&mut self, now: Instant) {
        self.due = now;
    }

    /// Returns the state at `now`, by this machine's monotonic clock.
    #[must_use]
    pub fn state(&self, now: Instant) -> LeaseState {
        match (&self.taken_by, self.renewed) {
            (Some(boot), _) => LeaseState::Taken(boot.clone()),
            (None, Some(at)) if now.saturating_duration_since(at) < LEASE_AGE => LeaseState::Held,
            _ => LeaseState::Lapsed,
        }
    }
}
