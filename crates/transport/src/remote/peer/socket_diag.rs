//! Owners of single TCP sockets, from the kernel's socket diagnostics: sock_diag(7).
//!
//! A request names one socket by its addresses, which the kernel looks up as it does for a packet. It replies
//! before send(2) returns, so that nothing is waited for.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::netlink::SOCK_DIAG;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

/// `SOCK_DIAG_BY_FAMILY` of linux/sock_diag.h: the type of the request and of its reply.
const BY_FAMILY: u16 = 20;

/// `NLM_F_REQUEST` of linux/netlink.h.
const REQUEST: u16 = 1;

/// `IPPROTO_TCP` of linux/in.h.
const TCP: u8 = 6;

/// `AF_INET` and `AF_INET6` of linux/socket.h.
const FAMILIES: [u8; 2] = [2, 10];

/// The state of a listening socket, `TCP_LISTEN` of linux/tcp_states.h.
const LISTEN: u8 = 10;

/// `INET_DIAG_NOCOOKIE` of linux/inet_diag.h, twice: any socket with these addresses.
const ANY_COOKIE: [u8; 8] = [0xff; 8];

/// Sizes of `struct nlmsghdr` of linux/netlink.h, and of `struct inet_diag_req_v2` of linux/inet_diag.h.
const HEADER_BYTES: usize = 16;
const REQUEST_BYTES: usize = 56;

/// Offsets of `idiag_state` and `idiag_uid` of `struct inet_diag_msg`, after the header.
const STATE: usize = HEADER_BYTES + 1;
const OWNER: usize = HEADER_BYTES + 64;

/// A TCP socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TcpSocket {
    state: u8,
    uid: u32,
}

/// Returns the owners of the socket that listens at `peer`, and of the one that is connected from there to `own`.
/// Returns `None` unless the kernel knows both.
///
/// The listener comes first: one that is closed later has accepted the connection, which then has its owner.
pub(super) fn owners(peer: SocketAddr, own: SocketAddr) -> Option<[u32; 2]> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let kernel = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        flags,
        Some(SOCK_DIAG),
    )
    .ok()?;
    let listener = find(&kernel, peer, SocketAddr::new(own.ip(), 0))?;
    // Without a connection, the lookup finds the listener.
    let connection = find(&kernel, peer, own)?;
    let is_both = listener.state == LISTEN && connection.state != LISTEN;
    is_both.then_some([listener.uid, connection.uid])
}

fn find(kernel: &OwnedFd, local: SocketAddr, remote: SocketAddr) -> Option<TcpSocket> {
    send(kernel, &request(local, remote)?, SendFlags::empty()).ok()?;
    let mut reply = [0; 1024];
    let (_, length) = recv(kernel, &mut reply, RecvFlags::empty()).ok()?;
    parse(reply.get(..length)?)
}

/// Encodes the request for a socket. Returns `None` if the addresses are of different families.
fn request(local: SocketAddr, remote: SocketAddr) -> Option<Vec<u8>> {
    let (family, addresses) = match (local.ip().to_canonical(), remote.ip().to_canonical()) {
        (IpAddr::V4(local), IpAddr::V4(remote)) => {
            let padded = [local, remote].map(|it| [&it.octets()[..], &[0; 12]].concat());
            (FAMILIES[0], padded.concat())
        }
        (IpAddr::V6(local), IpAddr::V6(remote)) => {
            let whole = [local, remote].map(|it| it.octets());
            (FAMILIES[1], whole.concat())
        }
        _ => return None,
    };
    let length = u32::try_from(HEADER_BYTES + REQUEST_BYTES).ok()?;
    let mut message = Vec::new();
    message.extend(length.to_ne_bytes());
    message.extend(BY_FAMILY.to_ne_bytes());
    message.extend(REQUEST.to_ne_bytes());
    // The number of the request, and the port of the sender, which the kernel sets.
    message.extend([0; 8]);
    message.extend([family, TCP, 0, 0]);
    // All states.
    message.extend([0xff; 4]);
    message.extend(local.port().to_be_bytes());
    message.extend(remote.port().to_be_bytes());
    message.extend(addresses);
    // Any interface.
    message.extend([0; 4]);
    message.extend(ANY_COOKIE);
    Some(message)
}

/// Parses a reply. Returns `None` for an error, such as that there is no such socket.
fn parse(reply: &[u8]) -> Option<TcpSocket> {
    let kind = reply.get(4..6)?.try_into().ok()?;
    if u16::from_ne_bytes(kind) != BY_FAMILY {
        return None;
    }
    let uid = reply.get(OWNER..OWNER + 4)?.try_into().ok()?;
    Some(TcpSocket {
        state: *reply.get(STATE)?,
        uid: u32::from_ne_bytes(uid),
    })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use rustix::process::geteuid;

    use super::*;

    #[test]
    fn listener_and_accepted_connection_are_found() {
        let user = geteuid().as_raw();
        for address in ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0", "[::]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                continue; // a machine without IPv6
            };
            let port = listener.local_addr().unwrap().port();
            let host = if address.starts_with("[::1]") {
                "::1"
            } else {
                "127.0.0.1"
            };
            let stream = TcpStream::connect((host, port)).unwrap();
            let (peer, own) = (stream.peer_addr().unwrap(), stream.local_addr().unwrap());
            let _accepted = listener.accept().unwrap();
            assert_eq!(owners(peer, own), Some([user, user]), "{address}");
            // No connection is from there: only the listener is found.
            let other = SocketAddr::new(own.ip(), port);
            assert_eq!(owners(peer, other), None, "{address}");
        }
    }

    #[test]
    fn requests_have_layout_of_kernel() {
        let of = |local: &str, remote: &str| {
            request(local.parse().unwrap(), remote.parse().unwrap()).unwrap()
        };
        let v4 = of("127.0.0.1:7420", "[::ffff:127.0.0.1]:40000");
        let v6 = of("[::1]:7420", "[::1]:40000");
        for (bytes, family, local) in [
            (&v4, 2, [&[127, 0, 0, 1][..], &[0; 12]].concat()),
            (&v6, 10, [&[0; 15][..], &[1]].concat()),
        ] {
            assert_eq!(bytes.len(), 72);
            assert_eq!(bytes[16..18], [family, 6]);
            assert_eq!(bytes[24..28], [0x1c, 0xfc, 0x9c, 0x40]);
            assert_eq!(bytes[28..44], local);
        }
        assert_eq!(
            request("127.0.0.1:1".parse().unwrap(), "[::1]:1".parse().unwrap()),
            None
        );
    }

    #[test]
    fn errors_and_cut_replies_are_no_sockets() {
        let mut reply = vec![0; 88];
        reply[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
        reply[STATE] = LISTEN;
        reply[OWNER..OWNER + 4].copy_from_slice(&1001_u32.to_ne_bytes());
        let socket = TcpSocket {
            state: LISTEN,
            uid: 1001,
        };
        assert_eq!(parse(&reply), Some(socket));
        assert_eq!(parse(&reply[..OWNER]), None);
        // NLMSG_ERROR of linux/netlink.h.
        reply[4..6].copy_from_slice(&2_u16.to_ne_bytes());
        assert_eq!(parse(&reply), None);
        assert_eq!(parse(&[]), None);
    }
}
