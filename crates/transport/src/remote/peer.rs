//! The user that listens at an address of this machine.
//!
//! A Unix socket or a loopback port without TLS does not authenticate the listener: any user can listen
//! there while the runner does not. Before anything is sent, the listener is checked to belong to this
//! user or to root.

use std::io;
use std::net::SocketAddr;

use rustix::process::geteuid;
use tokio::net::{TcpStream, UnixStream};

/// The process at the other end belongs to another user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the process that listens there has user id {uid}, which is neither yours nor root's; end it, or \
     use the address of your own runner"
)]
pub(super) struct ForeignPeer {
    uid: u32,
}

/// Returns the foreign owner that an error of connecting reports, if it does.
pub(super) fn foreign_peer(error: &io::Error) -> Option<&ForeignPeer> {
    error.get_ref()?.downcast_ref()
}

/// Returns the user whose listeners are trusted, besides root.
pub(super) fn current_user() -> u32 {
    geteuid().as_raw()
}

/// Checks the owner of the listener of a Unix socket, by its peer credentials: `SO_PEERCRED` of unix(7), on macOS
/// getpeereid(3), which reads `LOCAL_PEERCRED` of <sys/un.h>.
pub(super) fn check_unix(stream: &UnixStream, user: u32) -> io::Result<()> {
    check(user, [stream.peer_cred()?.uid()])
}

/// Checks the owners of the sockets that may be at the other end of a loopback connection. Other
/// connections pass, and so do ports that no process of this machine and network namespace has, such as
/// those that the kernel forwards to a container.
pub(super) async fn check_loopback(stream: &TcpStream, user: u32) -> io::Result<()> {
    let (peer, own) = (stream.peer_addr()?, stream.local_addr()?);
    if !peer.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    check(user, owners(peer, own).await)
}

pub(super) fn check(user: u32, owners: impl IntoIterator<Item = u32>) -> io::Result<()> {
    let is_foreign = |uid: &u32| *uid != user && *uid != 0;
    match owners.into_iter().find(is_foreign) {
        Some(uid) => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            ForeignPeer { uid },
        )),
        None => Ok(()),
    }
}

/// Returns the owners of all sockets that listen at `peer` or are connected from there to `own`.
///
/// Both are needed: the kernel attributes a connection that is not accepted yet to root, and a listener
/// can be closed after it has accepted.
#[cfg(target_os = "linux")]
async fn owners(peer: SocketAddr, own: SocketAddr) -> Vec<u32> {
    let mut owners = Vec::new();
    for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        // A kernel without IPv6 has no second table.
        let text = tokio::fs::read_to_string(table).await.unwrap_or_default();
        owners.extend(socket_table::owners(&text, peer, own));
    }
    owners
}

/// Other systems have no table of sockets with their owners.
#[cfg(not(target_os = "linux"))]
async fn owners(_: SocketAddr, _: SocketAddr) -> Vec<u32> {
    Vec::new()
}

/// The tables of TCP sockets in proc(5).
#[cfg(target_os = "linux")]
mod socket_table {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

    /// The state of a listening socket, `TCP_LISTEN` of linux/tcp_states.h.
    const LISTEN: &str = "0A";

    /// Returns the owners of the table's sockets that listen at `peer` or are connected to `own`.
    pub(super) fn owners(
        table: &str,
        peer: SocketAddr,
        own: SocketAddr,
    ) -> impl Iterator<Item = u32> {
        let rows = table.lines().skip(1);
        rows.filter_map(move |row| {
            let mut fields = row.split_ascii_whitespace().skip(1);
            let local = address(fields.next()?)?;
            let remote = address(fields.next()?)?;
            let is_listener = fields.next()? == LISTEN;
            let uid = fields.nth(3)?.parse().ok()?;
            let listens = is_listener
                && local.port() == peer.port()
                && (local.ip().is_unspecified() || is_same(local, peer));
            let is_connected = is_same(local, peer) && is_same(remote, own);
            (listens || is_connected).then_some(uid)
        })
    }

    fn is_same(a: SocketAddr, b: SocketAddr) -> bool {
        a.port() == b.port() && a.ip().to_canonical() == b.ip().to_canonical()
    }

    /// Parses an address: words of the network's bytes, each in the byte order of this machine, and the
    /// port.
    fn address(text: &str) -> Option<SocketAddr> {
        let (address, port) = text.split_once(':')?;
        let words = address.as_bytes().chunks(8).map(|word| {
            let word = std::str::from_utf8(word).ok()?;
            Some(u32::from_str_radix(word, 16).ok()?.to_ne_bytes())
        });
        let bytes = words.collect::<Option<Vec<_>>>()?.concat();
        let ip = match bytes.len() {
            4 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?)),
            _ => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)),
        };
        Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
    }

    #[cfg(test)]
    #[cfg(target_endian = "little")]
    mod tests {
        use super::*;

        const HEADER: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

        fn of(rows: &[&str], peer: &str, own: &str) -> Vec<u32> {
            let table = format!("{HEADER}{}\n", rows.join("\n"));
            owners(&table, peer.parse().unwrap(), own.parse().unwrap()).collect()
        }

        #[test]
        fn listeners_and_accepted_sockets_are_found() {
            let rows = [
                "   0: 0100007F:1CFC 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 1 1 0 100 0 0 10 0",
                "   1: 00000000:1CFC 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1002        0 1 1 0 100 0 0 10 0",
                "   2: 0200007F:1CFC 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1003        0 1 1 0 100 0 0 10 0",
                "   3: 0100007F:1CFC 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1004        0 1 1 0 100 0 0 10 0",
                "   4: 0100007F:9C40 0100007F:1CFC 01 00000000:00000000 00:00000000 00000000  1005        0 1 1 0 100 0 0 10 0",
                "   5: 0100007F:1CFC 0100007F:9C41 01 00000000:00000000 00:00000000 00000000  1006        0 1 1 0 100 0 0 10 0",
                "   6: 0100007F:1CFD 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1007        0 1 1 0 100 0 0 10 0",
            ];
            let found = of(&rows, "127.0.0.1:7420", "127.0.0.1:40000");
            assert_eq!(found, [1001, 1002, 1004]);
        }

        #[test]
        fn mapped_and_unspecified_addresses_match() {
            let rows = [
                "   0: 00000000000000000000000000000000:1CFC 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 1 1 0 100 0 0 10 0",
                "   1: 00000000000000000000000001000000:1CFC 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1002        0 1 1 0 100 0 0 10 0",
                "   2: 0000000000000000FFFF00000100007F:1CFC 0000000000000000FFFF00000100007F:9C40 01 00000000:00000000 00:00000000 00000000  1003        0 1 1 0 100 0 0 10 0",
            ];
            let v4 = of(&rows, "127.0.0.1:7420", "127.0.0.1:40000");
            assert_eq!(v4, [1001, 1003]);
            let v6 = of(&rows, "[::1]:7420", "[::1]:40000");
            assert_eq!(v6, [1001, 1002]);
        }

        #[test]
        fn malformed_rows_are_skipped() {
            let rows = ["", "x", "0: zz:1 00:0 0A 0 0 0 7", "0: 0100007F 0 0A"];
            assert_eq!(of(&rows, "127.0.0.1:1", "127.0.0.1:2"), [0_u32; 0]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command, Stdio};

    use tokio::net::{TcpListener, UnixListener};

    use super::*;

    /// An unprivileged user id, which is neither this user's nor root's.
    const OTHER_USER: u32 = 65_534;

    #[test]
    fn only_own_and_root_sockets_are_accepted() {
        assert!(check(1000, [1000, 0]).is_ok());
        assert!(check(1000, []).is_ok());
        for owners in [vec![1001], vec![1000, 1001], vec![0, 65_534]] {
            let error = check(1000, owners).unwrap_err();
            assert!(foreign_peer(&error).is_some(), "{error}");
        }
    }

    #[tokio::test]
    async fn own_listeners_are_accepted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let stream = UnixStream::connect(&path).await.unwrap();
        check_unix(&stream, current_user()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await;
        check_loopback(&stream.unwrap(), current_user())
            .await
            .unwrap();
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn owner_of_loopback_listener_is_found() {
        let user = current_user();
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address).await else {
                continue; // a machine without IPv6
            };
            let stream = TcpStream::connect(listener.local_addr().unwrap())
                .await
                .unwrap();
            let (peer, own) = (stream.peer_addr().unwrap(), stream.local_addr().unwrap());
            assert!(owners(peer, own).await.contains(&user), "{address}");
            // After the accept, the accepted socket has the owner, too.
            let accepted = listener.accept().await.unwrap();
            drop(listener);
            let found = owners(peer, own).await;
            assert!(!found.is_empty(), "{address}");
            assert!(found.iter().all(|uid| *uid == user), "{found:?}");
            drop(accepted);
        }
    }

    /// A listener of a user that is foreign to [`viewer`]. Killed when dropped.
    struct Impostor {
        perl: Child,
        uid: u32,
    }

    /// The user that connects: root sees a process of another user, any other user is seen as one.
    fn viewer() -> u32 {
        if current_user() == 0 { 0 } else { OTHER_USER }
    }

    impl Impostor {
        fn run(program: &str, argument: &str) -> Self {
            let mut perl = Command::new("perl");
            perl.args(["-e", program, argument]);
            perl.stdout(Stdio::piped()).stdin(Stdio::null());
            let mut uid = current_user();
            if uid == 0 {
                uid = OTHER_USER;
                perl.uid(uid);
            }
            let perl = perl.spawn().expect("perl runs");
            Self { perl, uid }
        }

        /// Waits until it listens, and returns its only line.
        fn line(&mut self) -> String {
            let out = self.perl.stdout.as_mut().expect("its output");
            let mut line = String::new();
            BufReader::new(out).read_line(&mut line).expect("a line");
            line.trim().to_owned()
        }
    }

    impl Drop for Impostor {
        fn drop(&mut self) {
            // It may have ended by itself.
            let _ = self.perl.kill();
            let _ = self.perl.wait();
        }
    }

    #[tokio::test]
    async fn unix_listener_of_another_user_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let path = folder.path().join("socket").display().to_string();
        let program = "use IO::Socket::UNIX; umask 0; my $s = IO::Socket::UNIX->new(Local => $ARGV[0], \
                       Listen => 5) or die; $| = 1; print qq(ready\n); sleep 600";
        let mut impostor = Impostor::run(program, &path);
        assert_eq!(impostor.line(), "ready");
        let stream = UnixStream::connect(&path).await.unwrap();
        let error = check_unix(&stream, viewer()).unwrap_err();
        let foreign = ForeignPeer { uid: impostor.uid };
        assert_eq!(foreign_peer(&error), Some(&foreign));
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn loopback_listener_of_another_user_is_refused() {
        let program = "use IO::Socket::INET; my $s = IO::Socket::INET->new(LocalAddr => '127.0.0.1', \
                       Listen => 5) or die; $| = 1; print $s->sockport, qq(\n); sleep 600";
        let mut impostor = Impostor::run(program, "");
        let port: u16 = impostor.line().parse().unwrap();
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let error = check_loopback(&stream, viewer()).await.unwrap_err();
        let foreign = ForeignPeer { uid: impostor.uid };
        assert_eq!(foreign_peer(&error), Some(&foreign));
    }
}
