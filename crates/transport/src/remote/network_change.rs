//! Notification of changes of this machine's links, addresses and routes.

#[cfg(any(test, not(target_os = "linux")))]
mod route_message;

use std::future::{Future, pending};
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::time::Duration;

use tokio::io::unix::AsyncFd;

/// Delay after the first message, since one change causes many.
const DEBOUNCE: Duration = Duration::from_millis(50);

/// Resolves when the network changes after this call. Never resolves where the system does not report
/// changes.
pub(crate) fn network_change() -> Pin<Box<dyn Future<Output = ()> + Send>> {
    match platform::subscribe().and_then(register) {
        Ok(changes) => Box::pin(next(changes)),
        // A sandbox may forbid the socket. Retries then happen by timer alone.
        Err(_) => Box::pin(pending()),
    }
}

#[expect(unsafe_code, reason = "AsyncFd requires I/O safety of its caller")]
fn register(socket: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is valid until dropped, always returns the same number, and is neither
    // replaced nor closed while the `AsyncFd` owns it.
    Ok(unsafe { AsyncFd::register(socket) }?)
}

async fn next(changes: AsyncFd<OwnedFd>) {
    while let Ok(mut ready) = changes.readable().await {
        if platform::has_change(changes.get_ref()) {
            return tokio::time::sleep(DEBOUNCE).await;
        }
        ready.clear_ready();
    }
}

#[cfg(target_os = "linux")]
mod platform {
    use std::io;
    use std::os::fd::OwnedFd;

    use rustix::net::netlink::SocketAddrNetlink;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};

    /// Multicast groups of rtnetlink(7): RTMGRP_LINK, and IFADDR and ROUTE of IPv4 and IPv6.
    const GROUPS: u32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400;

    /// Returns a netlink socket that is subscribed to network changes.
    pub(super) fn subscribe() -> io::Result<OwnedFd> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
        Ok(socket)
    }

    /// Every message of the groups is a change.
    pub(super) fn has_change(_: &OwnedFd) -> bool {
        true
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use std::io;
    use std::os::fd::OwnedFd;

    use rustix::io::{FdFlags, fcntl_setfd, ioctl_fionbio, read};
    use rustix::net::{AddressFamily, SocketType, socket};

    use super::route_message;

    /// Size of the read buffer. A message has a header of 92 bytes and up to 8 addresses.
    const MESSAGE_BYTES: usize = 2048;

    /// Returns a socket of route(4), which gets every message of the system.
    pub(super) fn subscribe() -> io::Result<OwnedFd> {
        let socket = socket(AddressFamily::ROUTE, SocketType::RAW, None)?;
        fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
        ioctl_fionbio(&socket, true)?;
        Ok(socket)
    }

    /// Reads all messages, and returns whether one is a change.
    pub(super) fn has_change(socket: &OwnedFd) -> bool {
        let mut message = [0; MESSAGE_BYTES];
        let mut has_change = false;
        while let Ok(length) = read(socket, &mut message) {
            if length == 0 {
                break;
            }
            has_change |= message.get(..length).is_some_and(route_message::is_change);
        }
        has_change
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn unchanged_network_is_not_reported() {
        let change = network_change();
        let early = tokio::time::timeout(Duration::ZERO, change).await;
        assert!(early.is_err());
    }
}
