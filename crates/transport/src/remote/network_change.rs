//! Whether the networks of this machine change: links, addresses, routes.

use std::future::{Future, pending};
use std::pin::Pin;

/// Resolves when something changes after this call; never where nobody tells.
#[cfg(target_os = "linux")]
pub(crate) fn network_change() -> Pin<Box<dyn Future<Output = ()> + Send>> {
    match linux::Changes::open() {
        Ok(changes) => Box::pin(changes.next()),
        // A sandbox may forbid it. Whoever waits tries again by itself, only later.
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

    /// What is told of: rtnetlink(7), RTMGRP_LINK, and IFADDR and ROUTE of IPv4 and IPv6.
    const GROUPS: u32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400;

    /// One change is told of in many messages.
    const BURST: Duration = Duration::from_millis(50);

    /// A socket on which the kernel tells.
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
                tokio::time::sleep(BURST).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_is_told_before_it_happens() {
        let change = network_change();
        let early = tokio::time::timeout(std::time::Duration::ZERO, change).await;
        assert!(early.is_err());
    }
}
