//! Spans of requests, with the attribute names of the OpenTelemetry conventions for HTTP.

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use bowline_transport::SessionId;
use tracing::field::Empty;
use tracing::{Instrument as _, Span, info_span};

use crate::auth::Peer;

/// Runs a request in a span. The path and the query are not recorded, since clients put what they
/// like there.
pub(super) async fn request_span(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    let peer = request.extensions().get::<Peer>();
    let span = info_span!(
        "request",
        otel.kind = "server",
        http.request.method = request.method().as_str(),
        http.route = route.map(MatchedPath::as_str),
        http.response.status_code = Empty,
        session.id = Empty,
        client.address = peer.and_then(|it| it.address).map(tracing::field::display),
    );
    let response = next.run(request).instrument(span.clone()).await;
    span.record("http.response.status_code", response.status().as_u16());
    response
}

/// The span of an attached client, which ends with its connection.
pub(super) fn attach_span(endpoint: &'static str, session: Option<SessionId>) -> Span {
    let session = session.map(tracing::field::display);
    info_span!(parent: None, "attach", endpoint, session.id = session)
}
