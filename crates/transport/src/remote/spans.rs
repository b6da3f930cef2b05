//! Tracing spans of a link to a runner: one for the link, and one for each connection of it.
//!
//! Fields follow OpenTelemetry's conventions for sessions, servers and networks. They hold no secret: a
//! [`RemoteUrl`] has no token, user, path or query.

use tracing::field::{Empty, debug};
use tracing::{Instrument as _, Span, debug_span, info_span};

use super::machine::Connection;
use super::open::{OpenError, Opened};
use super::url::{Carrier, RemoteUrl};
use bowline_process::SessionId;

/// Returns the span of a link. It outlives the call that makes the link, so it follows the span of that call
/// instead of being a part of it.
pub(super) fn link_span(url: &RemoteUrl, session: SessionId) -> Span {
    let (address, port) = match url {
        RemoteUrl::Unix(path) | RemoteUrl::Shim(path) => (path.display().to_string(), None),
        RemoteUrl::Tcp { host, port, .. } => (host.clone(), Some(*port)),
    };
    let span = info_span!(
        parent: None,
        "link",
        otel.kind = "client",
        session.id = %session,
        server.address = address,
        server.port = port,
        network.transport = if port.is_some() { "tcp" } else { "unix" },
        network.protocol.name = protocol(url),
    );
    span.follows_from(Span::current());
    span
}

fn protocol(url: &RemoteUrl) -> &'static str {
    match (url, url.carrier()) {
        (RemoteUrl::Shim(_), _) => "bowline",
        (_, Carrier::WebSocket) => "websocket",
        (_, Carrier::Grpc) => "grpc",
    }
}

/// Opens a connection in a span of its own.
pub(super) async fn in_connect_span(
    connection: Connection,
    opening: impl Future<Output = Result<Opened, OpenError>>,
) -> Result<Opened, OpenError> {
    let span = debug_span!(
        "connect",
        bowline.connection.number = connection,
        error.type = Empty,
    );
    let opened = opening.instrument(span.clone()).await;
    if let Err(error) = &opened {
        span.record("error.type", debug(error.why.failure));
    }
    opened
}
