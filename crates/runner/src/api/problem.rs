//! Error responses.

use std::time::Duration;

use axum::Json;
use axum::http::header::{CONTENT_RANGE, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bowline_reducer::model::AnsweredBy;
use bowline_transport::wire::code as wire;
use serde::Serialize;
use tracing::warn;
use utoipa::ToSchema;

use crate::auth::{AuthError, TokenScope};
use crate::other_runners::OtherRunnerError;
use crate::sessions::ShimLinkError;

/// The media type of problems.
const PROBLEM_JSON: &str = "application/problem+json";

/// What is left of a rate limit.
pub(super) const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Problem {
    /// The status of the response.
    pub(crate) status: u16,
    /// A stable error code in capitals.
    pub(crate) code: &'static str,
    /// What failed, as text.
    pub(crate) detail: String,
    /// What to do next, as text.
    pub(crate) next: String,
    /// When the request may succeed, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after_ms: Option<u64>,
    /// The author, kind and time of the answer to a permission request that is closed: `who`, `how`, `at_ms`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) decided_by: Option<Box<AnsweredBy>>,
    /// The end of the stream, of which a range has no byte.
    #[serde(skip)]
    pub(crate) stream_end: Option<u64>,
}

/// Why a request failed: a problem document (RFC 9457).
#[derive(Debug, Serialize)]
struct ProblemDocument<'a> {
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    #[serde(flatten)]
    problem: &'a Problem,
}

/// The schema of a problem.
#[derive(ToSchema)]
#[schema(as = Problem)]
#[expect(dead_code, reason = "only the schema is used")]
struct ProblemSchema {
    /// The kind of problem, which is stable: `urn:bowline:problem:` and the code.
    #[schema(rename = "type", example = "urn:bowline:problem:SESSION_NOT_FOUND")]
    kind: String,
    /// What the status means, as text.
    #[schema(example = "Not Found")]
    title: String,
    /// The status of the response.
    #[schema(example = 404)]
    status: u16,
    /// A stable error code in capitals.
    #[schema(example = "SESSION_NOT_FOUND")]
    code: String,
    /// What failed, as text.
    detail: String,
    /// What to do next, as text.
    next: String,
    /// When the request may succeed, in milliseconds.
    #[schema(required = false)]
    after_ms: Option<u64>,
    /// The author, kind and time of the answer to a permission request that is closed: `who`, `how`, `at_ms`.
    #[schema(required = false, value_type = Option<Object>)]
    decided_by: Option<String>,
}

impl utoipa::PartialSchema for Problem {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        ProblemSchema::schema()
    }
}

impl ToSchema for Problem {}

impl Problem {
    pub(crate) fn new(
        status: StatusCode,
        code: &'static str,
        detail: impl ToString,
        next: impl ToString,
    ) -> Self {
        Self {
            status: status.as_u16(),
            code,
            detail: detail.to_string(),
            next: next.to_string(),
            after_ms: None,
            decided_by: None,
            stream_end: None,
        }
    }

    pub(crate) fn session_not_found() -> Self {
        let next = "list the sessions with GET /api/sessions";
        let status = StatusCode::NOT_FOUND;
        Self::new(status, "SESSION_NOT_FOUND", "session not found", next)
    }

    pub(crate) fn no_fleet() -> Self {
        let next = "start it with `bowline serve --fleet URL`";
        let detail = "the runner is not in a fleet";
        Self::new(StatusCode::CONFLICT, "NO_FLEET", detail, next)
    }

    pub(crate) fn fleet_failed(error: &OtherRunnerError) -> Self {
        let next = "retry later, or run `bowline fleet doctor`";
        Self::new(StatusCode::BAD_GATEWAY, "FLEET_FAILED", error, next)
    }

    pub(crate) fn session_ended() -> Self {
        let detail = "the session has ended";
        let next = "read its transcript or log, or create another one with POST /api/sessions";
        Self::new(StatusCode::GONE, "SESSION_ENDED", detail, next)
    }

    /// The session's folder exists, but its shim was killed.
    pub(crate) fn session_killed() -> Self {
        let detail = "session process was killed; its descendants were killed too";
        let next = "read its log, which has all its output, or create another session";
        Self::new(StatusCode::NOT_FOUND, "SESSION_KILLED", detail, next)
    }

    /// The session's shim accepts connections and does not serve them.
    pub(crate) fn session_not_responding() -> Self {
        let detail = "the session's process did not respond in time";
        let next = "retry, or end it with `bowline kill --force ID` (DELETE with `force=true`)";
        let status = StatusCode::GATEWAY_TIMEOUT;
        Self::new(status, "TIMEOUT", detail, next)
    }

    pub(crate) fn bad_request(detail: impl ToString) -> Self {
        let next = "see /openapi.json for the parameters of this path";
        Self::new(StatusCode::BAD_REQUEST, "BAD_REQUEST", detail, next)
    }

    /// The body is JSON, and one of its members is missing, unknown or wrong.
    pub(crate) fn invalid_body(detail: impl ToString) -> Self {
        let next = "see /openapi.json for the members of the body";
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        Self::new(status, "INVALID_BODY", detail, next)
    }

    pub(crate) fn rate_limited(detail: &str, wait: Duration) -> Self {
        let next = format!("retry after {} ms", wait.as_millis().max(1));
        let status = StatusCode::TOO_MANY_REQUESTS;
        Self {
            after_ms: Some(wait.as_millis() as u64),
            ..Self::new(status, "RATE_LIMITED", detail, next)
        }
    }

    pub(crate) fn invalid_ticket() -> Self {
        let detail = "the ticket is unknown, used or expired";
        let next = "request a new one with POST /api/tickets and use it before it expires";
        Self::new(StatusCode::UNAUTHORIZED, "TICKET_WRONG", detail, next)
    }

    /// The token does not permit the request.
    pub(crate) fn scope_refused(name: &str, has: TokenScope, needs: TokenScope) -> Self {
        let detail = format!("the token {name} has the scope {has}; this needs {needs}");
        let next = format!("use a token with that scope: bowline token add NAME --scope {needs}");
        Self::new(StatusCode::FORBIDDEN, "SCOPE_REFUSED", detail, next)
    }

    pub(crate) fn timed_out(detail: impl ToString) -> Self {
        let next = "check the session with GET, and retry with the same id";
        Self::new(StatusCode::GATEWAY_TIMEOUT, "TIMEOUT", detail, next)
    }

    pub(crate) fn shutting_down() -> Self {
        let detail = "the runner is shutting down";
        let next = "retry after its restart, or use another runner";
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Self::new(status, "ENDING", detail, next)
    }

    pub(crate) fn internal(detail: impl ToString) -> Self {
        let next = "see the runner's log";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", detail, next)
    }
}

impl From<AuthError> for Problem {
    fn from(error: AuthError) -> Self {
        let status = match error {
            AuthError::NoToken | AuthError::WrongToken | AuthError::WrongLink => {
                StatusCode::UNAUTHORIZED
            }
            _ => StatusCode::FORBIDDEN,
        };
        let text = error.to_string();
        let (detail, next) = text.split_once(": ").unwrap_or((&text, ""));
        Self::new(status, error.code(), detail, next)
    }
}

impl From<ShimLinkError> for Problem {
    fn from(error: ShimLinkError) -> Self {
        let (status, code, next) = match &error {
            ShimLinkError::Refused { code, .. } if code == wire::LIMIT => {
                let next = "too many clients; retry later".to_owned();
                (StatusCode::SERVICE_UNAVAILABLE, "SESSION_BUSY", next)
            }
            ShimLinkError::Refused { code, .. } if code == wire::VERSION => {
                let next = "the session was created by a runner of another version; use that one, or end the session".to_owned();
                (StatusCode::BAD_GATEWAY, "SESSION_VERSION", next)
            }
            ShimLinkError::Refused { code, .. } => {
                let next = format!("the session reported `{code}`; check it with GET");
                (StatusCode::CONFLICT, "SESSION_REFUSED", next)
            }
            ShimLinkError::TimedOut => return Self::session_not_responding(),
            _ => {
                let next = "check the session with GET; it may have just ended".to_owned();
                (StatusCode::BAD_GATEWAY, "SESSION_LOST", next)
            }
        };
        Self::new(status, code, error, next)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).expect("the status is a StatusCode's");
        if status.is_server_error() {
            warn!(code = self.code, detail = self.detail, "a request failed");
        }
        let seconds = self.after_ms.map(|it| it.div_ceil(1000).max(1));
        let range = self.stream_end.map(|end| format!("bytes */{end}"));
        let range = range.and_then(|it| HeaderValue::try_from(it).ok());
        let document = ProblemDocument {
            kind: format!("urn:bowline:problem:{}", self.code),
            title: status.canonical_reason().unwrap_or_default(),
            problem: &self,
        };
        let mut response = (status, Json(document)).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        range.map(|it| headers.insert(CONTENT_RANGE, it));
        if let Some(seconds) = seconds {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
            // Nothing is left, until then (draft-ietf-httpapi-ratelimit-headers).
            if status == StatusCode::TOO_MANY_REQUESTS
                && let Ok(limit) = HeaderValue::try_from(format!("\"default\";r=0;t={seconds}"))
            {
                headers.insert(RATE_LIMIT, limit);
            }
        }
        if status == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, bearer);
        }
        response
    }
}
