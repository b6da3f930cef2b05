//! One connection: HTTP/1.1 or HTTP/2 within limits, and its end.

use std::convert::Infallible;
use std::net::IpAddr;
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
use tonic::codegen::Service as _;

use super::gate::Line;
use super::life::Life;

/// Bytes of all headers of a request; no client of ours sends more than a few hundred.
const HEADERS: usize = 8 << 10;

/// Time for everything up to the end of the first request's headers.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(5);

/// How often a silent HTTP/2 connection is asked whether it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// How long it may take to answer: dead [`DEAD_AFTER`] after its last word.
const KEEP_ALIVE_ANSWER: Duration = DEAD_AFTER.saturating_sub(KEEP_ALIVE);

/// Requests at a time on one HTTP/2 connection: as many attached sessions.
const STREAMS: u32 = 1024;

/// Where a request came from; each request carries it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct From {
    pub(crate) line: Line,
    /// Who asks, over the network.
    pub(crate) address: Option<IpAddr>,
}

/// Serves a connection until it ends or the daemon does.
pub(super) async fn serve<S>(stream: S, from: From, app: Router, mut life: Life, until: Instant)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let has_begun = Arc::new(AtomicBool::new(false));
    let begun = Arc::clone(&has_begun);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        begun.store(true, Ordering::Relaxed);
        answer(app.clone(), request, from)
    });
    let builder = builder();
    let mut connection =
        pin!(builder.serve_connection_with_upgrades(TokioIo::new(stream), service));
    // A client that goes away, or says what is no HTTP, is its own business.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = sleep_until(until) => {}
        () = life.ending() => {}
    }
    if !has_begun.load(Ordering::Relaxed) {
        return;
    }
    tokio::select! {
        _ = connection.as_mut() => return,
        () = life.ending() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

async fn answer(
    mut app: Router,
    request: hyper::Request<Incoming>,
    from: From,
) -> Result<Response, Infallible> {
    let mut request: Request = request.map(Body::new);
    request.extensions_mut().insert(from);
    app.call(request).await
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HANDSHAKE)
        .max_buf_size(HEADERS);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(HEADERS as u32)
        .max_concurrent_streams(STREAMS)
        .keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE_ANSWER);
    builder
}
