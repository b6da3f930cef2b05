//! What every door says when it does not do what it was asked.

use std::time::Duration;

use axum::Json;
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bowline_transport::wire::code as wire;
use serde::Serialize;
use utoipa::ToSchema;

use crate::serve::{LinkError, Refusal};

/// Something that was asked for was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Problem {
    #[serde(skip)]
    pub(crate) status: u16,
    /// What is wrong, for programs: stable, in capitals.
    #[schema(value_type = String, example = "SESSION_NOT_FOUND")]
    pub(crate) code: &'static str,
    /// What is wrong, for people.
    pub(crate) detail: String,
    /// What to do next, for people.
    pub(crate) next: String,
    /// When the same may succeed, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after_ms: Option<u64>,
}

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
        }
    }

    pub(crate) fn no_session() -> Self {
        let detail = "there is no session of this id";
        let next = "list the sessions with GET /api/sessions";
        Self::new(StatusCode::NOT_FOUND, "SESSION_NOT_FOUND", detail, next)
    }

    pub(crate) fn ended() -> Self {
        let detail = "the session has ended";
        let next = "read its transcript or log, or create another one with POST /api/sessions";
        Self::new(StatusCode::GONE, "SESSION_ENDED", detail, next)
    }

    /// There is a folder of the session, and nothing that could be attached to.
    pub(crate) fn killed() -> Self {
        let detail = "the session's process was killed, and everything of it with it";
        let next = "read its log, which has all it wrote, or create another session";
        Self::new(StatusCode::NOT_FOUND, "SESSION_KILLED", detail, next)
    }

    pub(crate) fn bad_request(detail: impl ToString) -> Self {
        let next = "see /openapi.json for what this address takes";
        Self::new(StatusCode::BAD_REQUEST, "BAD_REQUEST", detail, next)
    }

    pub(crate) fn too_often(what: &str, after: Duration) -> Self {
        let next = format!("wait {} ms", after.as_millis().max(1));
        Self {
            after_ms: Some(after.as_millis() as u64),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED", what, next)
        }
    }

    pub(crate) fn no_ticket() -> Self {
        let detail = "the ticket is not known, was used already or is too old";
        let next = "ask for a new one with POST /api/tickets and use it within its life";
        Self::new(StatusCode::UNAUTHORIZED, "TICKET_WRONG", detail, next)
    }

    pub(crate) fn late(what: &str) -> Self {
        let next = "look at the session with GET, and repeat with the same id";
        Self::new(StatusCode::GATEWAY_TIMEOUT, "TIMEOUT", what, next)
    }

    pub(crate) fn internal(detail: impl ToString) -> Self {
        let next = "see the runner's log";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", detail, next)
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let status = match refusal {
            Refusal::NoToken | Refusal::WrongToken => StatusCode::UNAUTHORIZED,
            _ => StatusCode::FORBIDDEN,
        };
        let text = refusal.to_string();
        let (detail, next) = text
            .split_once(": ")
            .unwrap_or((&text, "ask from elsewhere"));
        Self::new(status, refusal.code(), detail, next)
    }
}

impl From<LinkError> for Problem {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::Refused { code, detail } if code == wire::LIMIT => {
                let next = "let others leave, and ask again";
                Self::new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "SESSION_BUSY",
                    detail,
                    next,
                )
            }
            LinkError::Refused { code, detail } if code == wire::VERSION => {
                let next = "it was started by a runner of another version: ask that one, or end it";
                Self::new(StatusCode::BAD_GATEWAY, "SESSION_VERSION", detail, next)
            }
            LinkError::Refused { code, detail } => {
                let next = format!("the session says `{code}`: look at it with GET");
                Self::new(StatusCode::CONFLICT, "SESSION_REFUSED", detail, next)
            }
            LinkError::Silent => Self::late("the session's process does not answer"),
            other => {
                let next = "look at the session with GET: it may have just ended";
                Self::new(StatusCode::BAD_GATEWAY, "SESSION_LOST", other, next)
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).expect("statuses are made from statuses");
        let seconds = self.after_ms.map(|it| it.div_ceil(1000).max(1));
        let mut response = (status, Json(self)).into_response();
        if let Some(seconds) = seconds {
            response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, bearer);
        }
        response
    }
}
