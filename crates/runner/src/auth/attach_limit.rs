//! Limits on the sessions that are attached over one HTTP/2 connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Principal;

/// Counts the sessions that are attached over one connection.
///
/// The owner of the runner may attach several, within the limit of the connection. Other clients may attach
/// one, as over a WebSocket: the limits on connections then also limit their sessions, each of which takes
/// a descriptor of the daemon and one of the session's process.
#[derive(Debug)]
pub(crate) struct ConnectionAttaches {
    owner_limit: usize,
    attached: AtomicUsize,
}

/// A session that is attached over a connection.
#[derive(Debug)]
pub(crate) struct AttachSlot(Arc<ConnectionAttaches>);

impl ConnectionAttaches {
    /// Returns the attaches of a new connection, with the limit of an owner.
    pub(crate) fn new(owner_limit: usize) -> Arc<Self> {
        Arc::new(Self {
            owner_limit,
            attached: AtomicUsize::new(0),
        })
    }

    /// Counts another session; `None` if the principal's limit is reached.
    pub(crate) fn attach(self: &Arc<Self>, principal: Option<&Principal>) -> Option<AttachSlot> {
        let limit = match principal {
            Some(Principal::Owner | Principal::Named { .. } | Principal::Link(_)) => {
                self.owner_limit
            }
            Some(Principal::Ticket(_)) | None => 1,
        };
        let next = |attached| (attached < limit).then_some(attached + 1);
        let counted = self
            .attached
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        counted.ok().map(|_| AttachSlot(Arc::clone(self)))
    }
}

impl Drop for AttachSlot {
    fn drop(&mut self) {
        self.0.attached.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owner_attaches_up_to_the_limit_and_others_once() {
        let connection = ConnectionAttaches::new(3);
        let owner = || connection.attach(Some(&Principal::Owner));
        let slots: Vec<_> = std::iter::from_fn(owner).collect();
        assert_eq!(slots.len(), 3);
        drop(slots);
        let ticket = Principal::Ticket("ticket-x".to_owned());
        let first = connection.attach(Some(&ticket));
        assert!(first.is_some() && connection.attach(Some(&ticket)).is_none());
        drop(first);
        assert!(connection.attach(Some(&ticket)).is_some());
    }
}
