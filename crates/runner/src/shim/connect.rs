//! Connecting to a shim.

use std::io;
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::time::{Instant, sleep};

use super::SessionDir;

/// Pause before the next attempt to connect to a shim whose queue of connections is full.
const CONNECT_RETRY: Duration = Duration::from_millis(10);

/// Maximum time to wait for a place in that queue.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

impl SessionDir {
    /// Connects to the shim, whose process must have the same user. Waits up to 5 s while more clients connect than the
    /// shim accepts.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::NotFound`] or [`io::ErrorKind::ConnectionRefused`] if the shim has ended,
    /// [`io::ErrorKind::PermissionDenied`] if it runs as another user, or the error of the system.
    pub async fn connect(&self) -> io::Result<UnixStream> {
        let deadline = Instant::now() + CONNECT_TIMEOUT;
        let stream = loop {
            match UnixStream::connect(self.socket()).await {
                // The queue of the listening socket is full: connect(2).
                Err(error) if is_busy(&error) && Instant::now() < deadline => {
                    sleep(CONNECT_RETRY).await;
                }
                connected => break connected?,
            }
        };
        if !is_ours(&stream)? {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(stream)
    }
}

fn is_busy(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

/// Returns whether the peer of a socket has the user id of this process: `SO_PEERCRED` of unix(7), on macOS
/// getpeereid(3).
pub(crate) fn is_ours(stream: &UnixStream) -> io::Result<bool> {
    Ok(stream.peer_cred()?.uid() == rustix::process::geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use bowline_transport::SessionId;
    use tokio::net::UnixSocket;

    use super::*;
    use crate::shim::StateDir;

    #[tokio::test(start_paused = true)]
    async fn full_queue_of_shim_is_waited_for() {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let state = StateDir::at(folder.path().join("s")).unwrap();
        let (session, _lock) = state.create(SessionId::random()).unwrap();
        let socket = UnixSocket::new_stream().unwrap();
        socket.bind(session.socket()).unwrap();
        let listener = socket.listen(1).unwrap();
        let mut queued = Vec::new();
        let full = loop {
            match UnixStream::connect(session.socket()).await {
                Ok(stream) => queued.push(stream),
                Err(error) => break error,
            }
        };
        assert!(is_busy(&full), "{full}");
        let late = session.connect().await.unwrap_err();
        assert!(is_busy(&late), "{late}");
        let accept = async {
            // The client has found the queue full before.
            sleep(CONNECT_RETRY / 2).await;
            listener.accept().await
        };
        let (connected, accepted) = tokio::join!(session.connect(), accept);
        connected.unwrap();
        accepted.unwrap();
    }
}
