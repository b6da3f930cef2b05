//! The hosts that are attached to each session.

use std::collections::HashMap;
use std::sync::Arc;

use bowline_transport::SessionId;
use parking_lot::Mutex;

/// Counts the hosts that are attached to each session through this daemon.
#[derive(Debug, Default)]
pub(crate) struct AttachedHosts(Arc<Mutex<HashMap<SessionId, u64>>>);

/// One host, which is attached until this is dropped.
#[derive(Debug)]
pub(crate) struct AttachedHost {
    session: SessionId,
    hosts: Arc<Mutex<HashMap<SessionId, u64>>>,
}

impl AttachedHosts {
    /// Counts a host.
    pub(crate) fn add(&self, session: SessionId) -> AttachedHost {
        *self.0.lock().entry(session).or_default() += 1;
        AttachedHost {
            session,
            hosts: Arc::clone(&self.0),
        }
    }

    /// Returns the number of hosts of a session.
    pub(crate) fn count(&self, session: SessionId) -> u64 {
        self.0.lock().get(&session).copied().unwrap_or(0)
    }
}

impl Drop for AttachedHost {
    fn drop(&mut self) {
        let mut hosts = self.hosts.lock();
        if let Some(count) = hosts.get_mut(&self.session) {
            *count -= 1;
            if *count == 0 {
                hosts.remove(&self.session);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_counted_until_they_leave() {
        let (hosts, id) = (AttachedHosts::default(), SessionId::random());
        let (first, second) = (hosts.add(id), hosts.add(id));
        assert_eq!((hosts.count(id), hosts.count(SessionId::random())), (2, 0));
        drop(first);
        assert_eq!(hosts.count(id), 1);
        drop(second);
        assert!(hosts.0.lock().is_empty());
    }
}
