//! Spans of requests, with the attribute names of the OpenTelemetry conventions for HTTP, and the access log.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use bowline_transport::SessionId;
use tracing::field::{Empty, display};
use tracing::{Instrument as _, Span, info, info_span};
use uuid::Uuid;

use crate::auth::Peer;
use crate::current_request::{current_request_id, with_request_id};

/// The header with the id of a request, which the response repeats.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Maximum length of an id that a client gives, in bytes. Others are replaced.
const MAX_ID_BYTES: usize = 64;

/// The target of the access log, by which a filter selects it.
const ACCESS_LOG: &str = "bowline::access";

/// Runs a request in a span and writes the access log. The path and the query are not recorded, since they may
/// contain secrets.
pub(super) async fn request_span(request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request_id(&request);
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map(|it| it.as_str().to_owned());
    let peer = request.extensions().get::<Peer>();
    let method = request.method().clone();
    let span = info_span!(
        "request",
        otel.kind = "server",
        request.id = id,
        http.request.method = method.as_str(),
        http.route = route,
        http.response.status_code = Empty,
        session.id = Empty,
        client.address = peer.and_then(|it| it.address).map(display),
    );
    let run = next.run(request).instrument(span.clone());
    let mut response = with_request_id(Some(id.clone()), run).await;
    let status = response.status().as_u16();
    span.record("http.response.status_code", status);
    let duration_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    // A filter may leave the span out.
    let fields = (id.as_str(), method.as_str(), route.as_deref());
    span.in_scope(|| log_access(fields, status, duration_us));
    if let Ok(id) = HeaderValue::try_from(id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// Writes a line of the access log, which is complete without the span.
fn log_access((id, method, route): (&str, &str, Option<&str>), status: u16, duration_us: u64) {
    info!(
        target: ACCESS_LOG,
        { request.id = id, http.request.method = method, http.route = route, http.response.status_code = status, duration_us },
        "request"
    );
}

/// Returns the id that the client gave, or a random one.
fn request_id(request: &Request) -> String {
    let given = request.headers().get(REQUEST_ID);
    let given = given.and_then(|it| it.to_str().ok());
    let is_valid = |it: &&str| {
        let is_part = |it: u8| it.is_ascii_alphanumeric() || b"-_.:".contains(&it);
        (1..=MAX_ID_BYTES).contains(&it.len()) && it.bytes().all(is_part)
    };
    let given = given.filter(is_valid).map(str::to_owned);
    given.unwrap_or_else(|| Uuid::new_v4().to_string())
}

/// Returns the span of an attached client, which ends with its connection.
pub(super) fn attach_span(endpoint: &'static str, session: Option<SessionId>) -> Span {
    let session = session.map(display);
    let id = current_request_id();
    info_span!(parent: None, "attach", endpoint, session.id = session, request.id = id)
}
