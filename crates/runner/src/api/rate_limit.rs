//! The headers of a route with a rate limit: `RateLimit-Policy` has the limit, and `RateLimit` what is left of it
//! (draft-ietf-httpapi-ratelimit-headers).

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;

use super::extract::SessionPath;
use super::problem::RATE_LIMIT;
use crate::app_state::{AppState, Quota};

/// A limit.
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Adds to each response of a session's attach route how often the session may be attached to.
pub(super) async fn describe_attaches(
    State(app): State<Arc<AppState>>,
    SessionPath(session): SessionPath,
    request: Request,
    next: Next,
) -> Response {
    let mut response = next.run(request).await;
    let Quota {
        burst,
        window,
        remaining,
        reset,
    } = app.attach_quota(session);
    let policy = format!("\"attaches\";q={burst};w={}", seconds(window));
    let left = format!("\"attaches\";r={remaining};t={}", seconds(reset));
    for (name, value) in [(RATE_LIMIT_POLICY, policy), (RATE_LIMIT, left)] {
        if let Ok(value) = HeaderValue::try_from(value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// Returns the time in seconds, rounded up.
fn seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}
