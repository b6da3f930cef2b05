//! One HTTP/1.1 or HTTP/2 connection, with limits and a graceful end.

use std::convert::Infallible;
use std::error::Error;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::Version;
use axum::response::Response;
use bowline_transport::wire::DEAD_AFTER;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tonic::codegen::Service as _;
use tracing::debug;

use super::admission::ConnectionSlot;
use super::progress::{ClientStalled, ResponseProgress};
use crate::api::is_attached;
use crate::auth::{Authenticated, ConnectionAttaches, ConnectionGuard, Peer, PeerKind};

/// Maximum size of a request's headers, in bytes.
const MAX_HEADER_BYTES: usize = 8 << 10;

/// Time limit for TLS and the headers of the first request.
pub(super) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval of HTTP/2 pings on a silent connection.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(5);

/// Time limit for the reply to a ping, so that a silent connection ends after [`DEAD_AFTER`].
const KEEP_ALIVE_TIMEOUT: Duration = DEAD_AFTER.saturating_sub(KEEP_ALIVE_INTERVAL);

/// Maximum number of concurrent requests on one HTTP/2 connection over the Unix socket, all of which may
/// be attached sessions.
const MAX_LOCAL_STREAMS: u32 = 1024;

/// Maximum number of concurrent requests on one HTTP/2 connection over the network.
const MAX_NETWORK_STREAMS: u32 = 256;

/// How long a refused client may take to read its response.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);

/// An accepted connection.
pub(super) struct Connection {
    pub(super) peer: Peer,
    /// The slot of a TCP connection.
    pub(super) slot: Option<Arc<ConnectionSlot>>,
    pub(super) app: Router,
    pub(super) shutdown: CancellationToken,
    /// When the first request must have begun.
    pub(super) deadline: Instant,
}

impl Connection {
    /// Serves the connection until it ends or the daemon stops. A TCP connection is closed after a
    /// refused request, unless another one on it was authenticated.
    pub(super) async fn serve<S>(self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (has_request, refused) = (Arc::new(AtomicBool::new(false)), CancellationToken::new());
        let progress = Arc::new(ResponseProgress::default());
        let attach_limit = match &self.slot {
            Some(slot) => slot.attach_limit(),
            None => MAX_LOCAL_STREAMS as usize,
        };
        let max_streams = match self.peer.kind {
            PeerKind::Local => MAX_LOCAL_STREAMS,
            PeerKind::Network | PeerKind::Link(_) => MAX_NETWORK_STREAMS,
        };
        let service = RequestService {
            peer: self.peer,
            slot: self.slot,
            app: self.app,
            has_request: Arc::clone(&has_request),
            refused: refused.clone(),
            progress: Arc::clone(&progress),
            attaches: ConnectionAttaches::new(attach_limit),
        };
        let service = service_fn(move |request| service.clone().respond(request));
        let builder = builder(max_streams);
        let mut connection =
            pin!(builder.serve_connection_with_upgrades(TokioIo::new(stream), service));
        let mut stalled = pin!(progress.stalled());
        // Errors of the connection are the client's: it disconnected, does not speak HTTP or takes no
        // response.
        tokio::select! {
            served = connection.as_mut() => return log_end(served),
            stalled = stalled.as_mut() => return log_stall(stalled),
            () = sleep_until(self.deadline) => {}
            () = self.shutdown.cancelled() => {}
            () = refused.cancelled() => {}
        }
        if !has_request.load(Ordering::Relaxed) {
            return;
        }
        tokio::select! {
            served = connection.as_mut() => return log_end(served),
            stalled = stalled.as_mut() => return log_stall(stalled),
            () = self.shutdown.cancelled() => connection.as_mut().graceful_shutdown(),
            () = refused.cancelled() => {
                connection.as_mut().graceful_shutdown();
                let _ = timeout(REFUSAL_TIMEOUT, connection).await;
                return;
            }
        }
        let _ = connection.await;
    }
}

fn log_end(served: Result<(), Box<dyn Error + Send + Sync>>) {
    if let Err(error) = served {
        debug!(%error, "connection ended");
    }
}

fn log_stall(error: ClientStalled) {
    debug!(%error, "connection closed");
}

/// Responds to the requests of a connection.
#[derive(Clone)]
struct RequestService {
    peer: Peer,
    slot: Option<Arc<ConnectionSlot>>,
    app: Router,
    has_request: Arc<AtomicBool>,
    /// Cancelled by a refusal that ends the connection.
    refused: CancellationToken,
    progress: Arc<ResponseProgress>,
    attaches: Arc<ConnectionAttaches>,
}

impl RequestService {
    async fn respond(mut self, request: hyper::Request<Incoming>) -> Result<Response, Infallible> {
        self.has_request.store(true, Ordering::Relaxed);
        let is_http2 = request.version() == Version::HTTP_2;
        let mut request: Request = request.map(Body::new);
        request.extensions_mut().insert(self.peer);
        request.extensions_mut().insert(self.attaches);
        if let Some(slot) = &self.slot {
            let _counted = Arc::clone(slot) as _;
            request
                .extensions_mut()
                .insert(ConnectionGuard { _counted });
        }
        let response = self.app.call(request).await?;
        match self.slot {
            Some(slot) if response.extensions().get::<Authenticated>().is_some() => {
                slot.authenticate();
            }
            Some(slot) if !slot.is_authenticated() => self.refused.cancel(),
            _ => {}
        }
        // An attached client has deadlines of its own, and may share its connection with others. A
        // response over HTTP/1.1 is the only one that its connection writes.
        if !is_http2 || is_attached(&response) {
            return Ok(response);
        }
        Ok(response.map(|body| self.progress.watch(body)))
    }
}

fn builder(max_streams: u32) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HANDSHAKE_TIMEOUT)
        .max_buf_size(MAX_HEADER_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(MAX_HEADER_BYTES as u32)
        .max_concurrent_streams(max_streams)
        .keep_alive_interval(KEEP_ALIVE_INTERVAL)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT);
    builder
}

#[cfg(test)]
mod tests;
