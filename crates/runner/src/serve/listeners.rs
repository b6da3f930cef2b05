//! The sockets that the daemon listens on: a Unix socket for its own user, and TCP addresses.

mod unix_socket;

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
#[cfg(target_os = "linux")]
use bowline_transport::wire::DEAD_AFTER;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::admission::{Admission, ConnectionSlot};
use super::configuration::{ServeConfiguration, ServeError};
use super::connection::{Connection, HANDSHAKE_TIMEOUT};
use super::progress::WriteDeadline;
use super::state_lock::StateLock;
use super::tls::CurrentEncryption;
use crate::api;
use crate::auth::{Peer, PeerKind};
use crate::descriptor_limit;
use crate::shim::is_ours;
use bowline_transport::UnixConnection;
pub(super) use unix_socket::BoundSocket;

/// Pause after a failed accept(2), which mostly means that descriptors are exhausted.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// How long a process of another user may take to send a request and to read its refusal.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);

/// Bound sockets that are not served yet.
pub(super) struct Listeners {
    lock: StateLock,
    local: Option<(UnixListener, BoundSocket)>,
    network: Vec<TcpListener>,
    encryption: Option<CurrentEncryption>,
}

impl Listeners {
    /// Locks the state folder and binds all sockets of a configuration.
    pub(super) async fn bind(configuration: &ServeConfiguration) -> Result<Self, ServeError> {
        if configuration.socket.is_none() && configuration.listen.is_empty() {
            return Err(ServeError::Nowhere);
        }
        let encryption = configuration
            .tls
            .as_ref()
            .map(CurrentEncryption::new)
            .transpose()?;
        let is_open = |address: &&SocketAddr| !address.ip().is_loopback();
        if encryption.is_none()
            && let Some(address) = configuration.listen.iter().find(is_open)
        {
            return Err(ServeError::ClearText(*address));
        }
        let lock = StateLock::acquire(&configuration.state).await?;
        let local = configuration.socket.as_deref().map(bind_unix).transpose()?;
        let mut network = Vec::new();
        for &address in &configuration.listen {
            let listener = TcpListener::bind(address).await;
            network.push(listener.map_err(|source| ServeError::Address { address, source })?);
        }
        Ok(Self {
            lock,
            local,
            network,
            encryption,
        })
    }

    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        let addresses = self.network.iter().filter_map(|it| it.local_addr().ok());
        addresses.collect()
    }

    pub(super) fn encryption(&self) -> Option<CurrentEncryption> {
        self.encryption.clone()
    }

    /// Spawns a task for each socket, which serves it until the shutdown. Returns the lock of the
    /// state folder, the Unix socket if there is one, and how to serve a loopback address.
    pub(super) fn serve(
        self,
        app: &Router,
        shutdown: &CancellationToken,
    ) -> (StateLock, Option<BoundSocket>, Network) {
        let loopback = Network {
            encryption: None,
            admission: Admission::new(descriptor_limit::current()),
            app: app.clone(),
            shutdown: shutdown.clone(),
        };
        for listener in self.network {
            let network = Network {
                encryption: self.encryption.clone(),
                ..loopback.clone()
            };
            tokio::spawn(network.serve(listener));
        }
        let socket = self.local.map(|(listener, socket)| {
            tokio::spawn(serve_unix(listener, app.clone(), shutdown.clone()));
            socket
        });
        (self.lock, socket, loopback)
    }
}

fn bind_unix(path: &Path) -> Result<(UnixListener, BoundSocket), ServeError> {
    unix_socket::bind(path).map_err(|source| ServeError::Socket {
        path: path.to_owned(),
        source,
    })
}

async fn serve_unix(listener: UnixListener, app: Router, shutdown: CancellationToken) {
    while let Some(accepted) = shutdown.run_until_cancelled(listener.accept()).await {
        let served = match accepted {
            Ok((stream, _)) if is_ours(&stream).unwrap_or(false) => {
                let connection = local_connection(app.clone(), shutdown.clone());
                UnixConnection::new(stream)
                    .map(|stream| drop(tokio::spawn(connection.serve(WriteDeadline::new(stream)))))
            }
            Ok((stream, _)) => {
                warn!("refused a connection from a process of another user");
                let refusal = refuse_user(stream, shutdown.clone());
                drop(tokio::spawn(timeout(REFUSAL_TIMEOUT, refusal)));
                Ok(())
            }
            Err(error) => Err(error),
        };
        if let Err(error) = served {
            pause_after(&error).await;
        }
    }
}

/// Answers the requests of another user, that is of root: no other one can connect.
async fn refuse_user(stream: UnixStream, shutdown: CancellationToken) {
    if let Ok(stream) = UnixConnection::new(stream) {
        let connection = local_connection(api::refuse_user(), shutdown);
        connection.serve(WriteDeadline::new(stream)).await;
    }
}

fn local_connection(app: Router, shutdown: CancellationToken) -> Connection {
    Connection {
        peer: Peer {
            kind: PeerKind::Local,
            address: None,
        },
        slot: None,
        app,
        shutdown,
        deadline: Instant::now() + HANDSHAKE_TIMEOUT,
    }
}

/// Serves the TCP connections of a listener.
#[derive(Clone)]
pub(super) struct Network {
    encryption: Option<CurrentEncryption>,
    admission: Admission,
    app: Router,
    shutdown: CancellationToken,
}

impl Network {
    /// Returns the token that is cancelled when the daemon stops.
    pub(super) fn shutdown(&self) -> CancellationToken {
        self.shutdown.clone()
    }

    /// Accepts connections until the daemon stops.
    pub(super) async fn serve(self, listener: TcpListener) {
        let shutdown = self.shutdown.clone();
        while let Some(accepted) = shutdown.run_until_cancelled(listener.accept()).await {
            match accepted {
                Ok((stream, address)) => match self.admission.admit(address.ip()) {
                    Some(slot) => drop(tokio::spawn(
                        self.clone().serve_stream(stream, address, slot),
                    )),
                    None => debug!(%address, "too many connections; closed one"),
                },
                Err(error) => pause_after(&error).await,
            }
        }
    }

    async fn serve_stream(self, stream: TcpStream, address: SocketAddr, slot: ConnectionSlot) {
        let deadline = Instant::now() + HANDSHAKE_TIMEOUT;
        let peer = Peer {
            kind: PeerKind::Network,
            address: Some(address.ip()),
        };
        if let Err(error) = set_socket_options(&stream) {
            debug!(%error, %address, "client disconnected at once");
            return;
        }
        let connection = Connection {
            peer,
            slot: Some(Arc::new(slot)),
            app: self.app,
            shutdown: self.shutdown,
            deadline,
        };
        let stream = WriteDeadline::new(stream);
        let Some(encryption) = self.encryption else {
            return connection.serve(stream).await;
        };
        match timeout_at(deadline, encryption.acceptor().accept(stream)).await {
            Ok(Ok(stream)) => connection.serve(stream).await,
            Ok(Err(error)) => debug!(%error, %address, "TLS handshake failed"),
            Err(_) => debug!(%address, "TLS handshake timed out"),
        }
    }
}

/// Sent bytes may stay unacknowledged for as long as a client may be silent (`TCP_USER_TIMEOUT`,
/// tcp(7)).
fn set_socket_options(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    #[cfg(target_os = "linux")]
    rustix::net::sockopt::set_tcp_user_timeout(stream, DEAD_AFTER.as_millis() as u32)?;
    Ok(())
}

async fn pause_after(error: &io::Error) {
    warn!(%error, "cannot accept a connection");
    sleep(ACCEPT_RETRY).await;
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn other_user_is_refused_with_a_sentence() {
        let (mut client, stream) = UnixStream::pair().unwrap();
        let refusing = tokio::spawn(refuse_user(stream, CancellationToken::new()));
        let request = b"GET /api/sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        client.write_all(request).await.unwrap();
        let mut response = String::new();
        client.read_to_string(&mut response).await.unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 403 Forbidden"), "{head}");
        let problem: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(problem["code"], "USER_REFUSED");
        assert_eq!(problem["detail"], "the runner belongs to another user");
        assert_eq!(problem["next"], "run the command as that user");
        refusing.await.unwrap();
    }
}
