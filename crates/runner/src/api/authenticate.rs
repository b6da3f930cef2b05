//! The authentication layer. It runs before every handler, upgrades included.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio::time::sleep;
use tracing::debug;

use super::grpc;
use super::problem::Problem;
use crate::app_state::AppState;
use crate::auth::{AuthError, Authenticated, Peer, Principal};

/// Authenticates a request and attaches its [`Principal`], or refuses it. Above a rate, responses
/// to wrong tokens are delayed.
pub(super) async fn authenticate(
    State(app): State<Arc<AppState>>,
    request: Request,
    next: Next,
) -> Response {
    app.metrics.requests.add(1);
    let Some(peer) = request.extensions().get::<Peer>().copied() else {
        return Problem::internal("the request has no peer").into_response();
    };
    let (mut parts, body) = request.into_parts();
    match app.auth.authenticate(&parts, peer.kind) {
        Ok(principal) => {
            let is_owner = principal == Principal::Owner;
            parts.extensions.insert(principal);
            let mut response = next.run(Request::from_parts(parts, body)).await;
            if is_owner || is_attached(&response) {
                response.extensions_mut().insert(Authenticated);
            }
            response
        }
        Err(error) => {
            debug!(code = error.code(), "request refused");
            app.metrics.refused.add(1);
            if error == AuthError::WrongToken {
                app.metrics.wrong_tokens.add(1);
                sleep(app.failed_login_delay(peer.address)).await;
            }
            refuse(&parts.headers, error.into())
        }
    }
}

/// Returns whether a response attaches the client to a session.
pub(crate) fn is_attached(response: &Response) -> bool {
    response.status() == StatusCode::SWITCHING_PROTOCOLS || grpc::is_stream(response)
}

fn refuse(headers: &HeaderMap, problem: Problem) -> Response {
    if grpc::is_grpc(headers) {
        grpc::refuse(problem)
    } else {
        problem.into_response()
    }
}

/// Refuses requests that are not the owner's. Wraps all endpoints except attach.
pub(super) async fn require_owner(request: Request, next: Next) -> Response {
    match request.extensions().get::<Principal>() {
        Some(Principal::Owner) => next.run(request).await,
        _ => Problem::invalid_ticket().into_response(),
    }
}
