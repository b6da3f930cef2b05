//! The user that listens at an address of this machine.
//!
//! A Unix socket or a loopback port without TLS does not authenticate the listener: any user can listen
//! there while the runner does not. Before anything is sent, the listener is checked to belong to this
//! user or to root.

#[cfg(target_os = "linux")]
mod socket_diag;
#[cfg(target_os = "linux")]
mod socket_table;

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

/// Returns the owners of the sockets that listen at `peer` or are connected from there to `own`.
///
/// Both are needed: the kernel attributes a connection that is not accepted yet to root, and a listener
/// can be closed after it has accepted.
#[cfg(target_os = "linux")]
async fn owners(peer: SocketAddr, own: SocketAddr) -> Vec<u32> {
    if let Some(owners) = socket_diag::owners(peer, own) {
        return owners.into();
    }
    // Without diagnostics, or if the listener is closed. The kernel walks its whole hash table for each file, which
    // takes milliseconds.
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
