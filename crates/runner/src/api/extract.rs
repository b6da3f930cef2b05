//! Extractors whose rejections are [`Problem`]s.

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use bowline_transport::SessionId;
use serde::de::DeserializeOwned;
use tracing::{Span, field};

use super::problem::Problem;

/// The session's id in the path. An invalid id is reported like an unknown one.
pub(super) struct SessionPath(pub(super) SessionId);

impl<S: Send + Sync> FromRequestParts<S> for SessionPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let id = Path::<String>::from_request_parts(parts, state).await;
        let id = id.ok().and_then(|Path(id)| id.parse().ok());
        let id: SessionId = id.ok_or_else(Problem::session_not_found)?;
        Span::current().record("session.id", field::display(id));
        Ok(Self(id))
    }
}

/// A JSON body.
pub(super) struct JsonBody<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let kind = request.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|it| it.to_str().ok()).unwrap_or_default();
        let essence = kind.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/json") {
            let next = "send JSON with `Content-Type: application/json`";
            let detail = "the content type is not JSON";
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Err(Problem::new(status, "NOT_JSON", detail, next));
        }
        let bytes = Bytes::from_request(request, state)
            .await
            .map_err(body_problem)?;
        let body = serde_json::from_slice(&bytes);
        body.map(Self).map_err(|error: serde_json::Error| {
            if error.is_data() {
                Problem::invalid_body(error)
            } else {
                Problem::bad_request(error)
            }
        })
    }
}

fn body_problem(rejection: BytesRejection) -> Problem {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "BODY_TOO_LARGE",
            "the body is too large",
            "send less than 16 MiB, or attach with frames",
        ),
        _ => Problem::bad_request(rejection.body_text()),
    }
}

/// The query of the request's URL.
pub(super) struct QueryParams<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        let problem = |rejection: QueryRejection| Problem::bad_request(rejection.body_text());
        query.map(|Query(query)| Self(query)).map_err(problem)
    }
}
