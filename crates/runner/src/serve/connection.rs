//! One HTTP/1.1 or HTTP/2 connection, with limits and a graceful end.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bowline_transport::wire::DEAD_AFTER;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tonic::codegen::Service as _;

use crate::auth::Peer;

/// Maximum size of a request's headers, in bytes.
const MAX_HEADER_BYTES: usize = 8 << 10;

/// Time limit for TLS and the headers of the first request.
pub(super) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval of HTTP/2 pings on a silent connection.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(5);

/// Time limit for the reply to a ping, so that a silent connection ends after [`DEAD_AFTER`].
const KEEP_ALIVE_TIMEOUT: Duration = DEAD_AFTER.saturating_sub(KEEP_ALIVE_INTERVAL);

/// Maximum number of concurrent requests, and so of attached sessions, on one HTTP/2 connection.
const MAX_STREAMS: u32 = 1024;

/// Serves a connection until it ends or the daemon stops. The first request must begin before
/// `deadline`.
pub(super) async fn serve<S>(
    stream: S,
    peer: Peer,
    app: Router,
    shutdown: CancellationToken,
    deadline: Instant,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let has_request = Arc::new(AtomicBool::new(false));
    let begun = Arc::clone(&has_request);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        begun.store(true, Ordering::Relaxed);
        respond(app.clone(), request, peer)
    });
    let builder = builder();
    let mut connection =
        pin!(builder.serve_connection_with_upgrades(TokioIo::new(stream), service));
    // Errors of the connection are the client's: it disconnected or does not speak HTTP.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = sleep_until(deadline) => {}
        () = shutdown.cancelled() => {}
    }
    if !has_request.load(Ordering::Relaxed) {
        return;
    }
    tokio::select! {
        _ = connection.as_mut() => return,
        () = shutdown.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

async fn respond(
    mut app: Router,
    request: hyper::Request<Incoming>,
    peer: Peer,
) -> Result<Response, Infallible> {
    let mut request: Request = request.map(Body::new);
    request.extensions_mut().insert(peer);
    app.call(request).await
}

fn builder() -> Builder<TokioExecutor> {
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
        .max_concurrent_streams(MAX_STREAMS)
        .keep_alive_interval(KEEP_ALIVE_INTERVAL)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT);
    builder
}
