//! Cross-origin requests of pages from the accepted origins (Fetch, section 3.2).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN,
    VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::problem::Problem;
use crate::app_state::AppState;
use crate::auth::Peer;

/// Methods of the API.
const METHODS: &str = "GET, POST, PATCH, DELETE";

/// Headers that requests of the API may have.
const REQUEST_HEADERS: &str = "authorization, content-type, idempotency-key, if-none-match, last-event-id, range, x-request-id";

/// Headers of responses that a page may read.
const RESPONSE_HEADERS: &str = "accept-ranges, bowline-damage, bowline-end, bowline-from, bowline-gap, bowline-next, \
     content-range, etag, ratelimit, ratelimit-policy, retry-after, x-request-id";

/// How long a browser may remember a permission, in seconds.
const MAX_AGE: &str = "600";

/// Answers a preflight, which has no token, and lets pages of accepted origins read responses. A request of another
/// origin is refused by the authentication, and its response stays unreadable.
pub(super) async fn share(
    State(app): State<Arc<AppState>>,
    request: Request,
    next: Next,
) -> Response {
    let Some(origin) = request.headers().get(ORIGIN).cloned() else {
        return next.run(request).await;
    };
    let is_preflight = request.method() == Method::OPTIONS
        && request
            .headers()
            .contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let (parts, body) = request.into_parts();
    let peer = parts.extensions.get::<Peer>().map(|it| it.kind);
    let accepted = peer.map(|peer| app.auth.check_sender(&parts, peer));
    if is_preflight {
        return match accepted {
            Some(Ok(())) => permit(StatusCode::NO_CONTENT.into_response(), origin, true),
            Some(Err(error)) => Problem::from(error).into_response(),
            None => Problem::internal("the request has no peer").into_response(),
        };
    }
    let response = next.run(Request::from_parts(parts, body)).await;
    match accepted {
        Some(Ok(())) => permit(response, origin, false),
        _ => response,
    }
}

fn permit(mut response: Response, origin: HeaderValue, is_preflight: bool) -> Response {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(VARY, HeaderValue::from_static("origin"));
    let mut set = |name, value| set(headers, name, value);
    if is_preflight {
        set(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        set(ACCESS_CONTROL_ALLOW_HEADERS, REQUEST_HEADERS);
        set(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    } else {
        set(ACCESS_CONTROL_EXPOSE_HEADERS, RESPONSE_HEADERS);
    }
    response
}

fn set(headers: &mut HeaderMap, name: axum::http::HeaderName, value: &'static str) {
    headers.insert(name, HeaderValue::from_static(value));
}
