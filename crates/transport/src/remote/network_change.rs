//! Notification of changes of this machine's links, addresses and routes.

use std::future::{Future, pending};
use std::pin::Pin;

/// Resolves when the network changes after this call. Never resolves where the system does not report
/// changes.
#[cfg(target_os = "linux")]
pub(crate) fn network_change() -> Pin<Box<dyn Future<Output = ()> + Send>> {
    match linux::Changes::open() {
        Ok(changes) => Box::pin(changes.next()),
        // A sandbox may forbid netlink sockets. Retries then happen by timer alone.
        Err(_) => Box::pin(pending()),
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn network_change() -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(pending())
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    use rustix::net::netlink::SocketAddrNetlink;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
    use tokio::io::unix::AsyncFd;

    /// Multicast groups of rtnetlink(7): RTMGRP_LINK, and IFADDR and ROUTE of IPv4 and IPv6.
    const GROUPS: u32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400;

    /// Delay after the first message, since one change causes many.
    const DEBOUNCE: Duration = Duration::from_millis(50);

    /// A netlink socket that is subscribed to network changes.
    pub(super) struct Changes(AsyncFd<OwnedFd>);

    impl Changes {
        #[expect(unsafe_code, reason = "AsyncFd requires I/O safety of its caller")]
        pub(super) fn open() -> io::Result<Self> {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
            bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
            // SAFETY: an `OwnedFd` is valid until dropped, always returns the same number, and is
            // neither replaced nor closed while the `AsyncFd` owns it.
            Ok(Self(unsafe { AsyncFd::register(socket) }?))
        }

        pub(super) async fn next(self) {
            if self.0.readable().await.is_ok() {
                tokio::time::sleep(DEBOUNCE).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn unchanged_network_is_not_reported() {
        let change = network_change();
        let early = tokio::time::timeout(std::time::Duration::ZERO, change).await;
        assert!(early.is_err());
    }
}
