//! Limits on TCP connections. Clients without the token cannot use up the descriptors that the Unix
//! socket and authenticated clients need.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;

/// Share of the process's descriptors that TCP connections may use: an attached client has up to
/// two more, for its shim.
const CONNECTION_SHARE: usize = 4;

/// Share of the connections that may be unauthenticated.
const UNAUTHENTICATED_SHARE: usize = 2;

/// Share of the unauthenticated connections that one address may have.
const ADDRESS_SHARE: usize = 2;

/// Maximum number of sessions that the runner's owner may attach over one HTTP/2 connection.
const MAX_ATTACHES: usize = 128;

/// Maximum number of connections of any kind.
const MAX_CONNECTIONS: usize = 16_384;

/// Maximum number of unauthenticated connections.
const MAX_UNAUTHENTICATED: usize = 1_024;

/// Counts connections against the limits.
#[derive(Clone, Debug)]
pub(super) struct Admission {
    limits: Limits,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    total: usize,
    unauthenticated: usize,
    per_address: usize,
}

#[derive(Debug, Default)]
struct Counts {
    total: usize,
    unauthenticated: usize,
    /// Unauthenticated connections of each address that has any.
    by_address: HashMap<IpAddr, usize>,
}

/// The slot of an admitted connection, freed on drop.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    counts: Arc<Mutex<Counts>>,
    address: IpAddr,
    /// Maximum number of sessions that the runner's owner may attach over the connection.
    attach_limit: usize,
    is_authenticated: Mutex<bool>,
}

impl Admission {
    /// Returns the limits for a process with this limit of descriptors.
    pub(super) fn new(descriptors: usize) -> Self {
        let total = (descriptors / CONNECTION_SHARE).clamp(4, MAX_CONNECTIONS);
        let unauthenticated = (total / UNAUTHENTICATED_SHARE).min(MAX_UNAUTHENTICATED);
        Self {
            limits: Limits {
                total,
                unauthenticated,
                per_address: unauthenticated / ADDRESS_SHARE,
            },
            counts: Arc::default(),
        }
    }

    /// Admits a connection; `None` if a limit is reached.
    pub(super) fn admit(&self, address: IpAddr) -> Option<ConnectionSlot> {
        let address = network_of(address);
        let mut counts = self.counts.lock();
        let of_address = counts.by_address.get(&address).copied().unwrap_or(0);
        if counts.total >= self.limits.total
            || counts.unauthenticated >= self.limits.unauthenticated
            || of_address >= self.limits.per_address
        {
            return None;
        }
        counts.total += 1;
        counts.unauthenticated += 1;
        counts.by_address.insert(address, of_address + 1);
        drop(counts);
        Some(ConnectionSlot {
            counts: Arc::clone(&self.counts),
            address,
            attach_limit: self.limits.total.min(MAX_ATTACHES),
            is_authenticated: Mutex::new(false),
        })
    }
}

impl ConnectionSlot {
    /// Counts the connection as authenticated from now on.
    pub(super) fn authenticate(&self) {
        let mut is_authenticated = self.is_authenticated.lock();
        if !std::mem::replace(&mut *is_authenticated, true) {
            self.counts.lock().remove_unauthenticated(self.address);
        }
    }

    /// Returns the maximum number of sessions that the runner's owner may attach over the connection.
    pub(super) const fn attach_limit(&self) -> usize {
        self.attach_limit
    }

    /// Returns whether a request on the connection was authenticated.
    pub(super) fn is_authenticated(&self) -> bool {
        *self.is_authenticated.lock()
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut counts = self.counts.lock();
        counts.total -= 1;
        if !*self.is_authenticated.get_mut() {
            counts.remove_unauthenticated(self.address);
        }
    }
}

impl Counts {
    fn remove_unauthenticated(&mut self, address: IpAddr) {
        self.unauthenticated -= 1;
        if let Some(count) = self.by_address.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&address);
            }
        }
    }
}

/// Returns what counts as one address: a host usually has a whole IPv6 network of 64 bits.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn one_address_cannot_take_all_slots() {
        let admission = Admission::new(256);
        let (one, other) = (address("10.0.0.1"), address("10.0.0.2"));
        let held: Vec<_> = std::iter::from_fn(|| admission.admit(one)).collect();
        assert_eq!(held.len(), 16);
        assert!(admission.admit(other).is_some());
        drop(held);
        assert!(admission.admit(one).is_some());
        assert!(admission.counts.lock().by_address.is_empty());
    }

    #[test]
    fn authenticated_connections_leave_room_for_others() {
        let admission = Admission::new(256);
        let one = address("10.0.0.1");
        let admit = || {
            let slot = admission.admit(one)?;
            slot.authenticate();
            slot.authenticate();
            Some(slot)
        };
        let held: Vec<_> = std::iter::from_fn(admit).collect();
        assert_eq!(held.len(), 64, "a quarter of the descriptors");
        drop(held);
        let counts = admission.counts.lock();
        assert_eq!((counts.total, counts.unauthenticated), (0, 0));
    }

    #[test]
    fn addresses_of_one_network_count_together() {
        assert_eq!(
            network_of(address("2001:db8::1")),
            network_of(address("2001:db8::2:3"))
        );
        assert_eq!(network_of(address("::ffff:10.0.0.1")), address("10.0.0.1"));
    }
}
