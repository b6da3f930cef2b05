//! Serves byte streams that come through a fleet, like connections.

use axum::Router;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, HANDSHAKE_TIMEOUT};
use crate::auth::{Peer, PeerKind, TokenScope};

/// Serves links of a fleet.
#[derive(Clone, Debug)]
pub struct LinkServer {
    app: Router,
    shutdown: CancellationToken,
}

impl LinkServer {
    pub(super) const fn new(app: Router, shutdown: CancellationToken) -> Self {
        Self { app, shutdown }
    }

    /// Serves HTTP on a stream whose other end has at most a scope, until it ends or the daemon stops.
    pub async fn serve<S>(&self, stream: S, scope: TokenScope)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let connection = Connection {
            peer: Peer {
                kind: PeerKind::Link(scope),
                address: None,
            },
            slot: None,
            app: self.app.clone(),
            shutdown: self.shutdown.clone(),
            deadline: Instant::now() + HANDSHAKE_TIMEOUT,
        };
        connection.serve(stream).await;
    }
}
