//! The authentication layer. It runs before every handler, upgrades included.

use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio::time::sleep;
use tracing::debug;

use super::grpc;
use super::problem::Problem;
use crate::app_state::AppState;
use crate::auth::{AuthError, Authenticated, Peer, Principal, TokenScope};

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
            let has_token = principal.scope().is_some();
            parts.extensions.insert(principal);
            let mut response = next.run(Request::from_parts(parts, body)).await;
            if has_token || is_attached(&response) {
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

/// Refuses requests that the sender's token does not permit, and those with a ticket. Wraps all endpoints except
/// attach.
pub(super) async fn require_scope(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>();
    let needs = scope_of(request.method(), path.map_or("", MatchedPath::as_str));
    match request.extensions().get::<Principal>() {
        Some(Principal::Owner) => next.run(request).await,
        Some(Principal::Named { scope, .. } | Principal::Link(scope)) if *scope >= needs => {
            next.run(request).await
        }
        Some(Principal::Link(scope)) => {
            Problem::scope_refused("of the fleet", *scope, needs).into_response()
        }
        Some(Principal::Named { name, scope }) => {
            Problem::scope_refused(name, *scope, needs).into_response()
        }
        _ => Problem::invalid_ticket().into_response(),
    }
}

/// Returns the scope that a route needs. What is not named here is for owners.
pub(super) fn scope_of(method: &Method, path: &str) -> TokenScope {
    match (method.as_str(), path) {
        // Folders are beyond what sessions show.
        (_, "/acp" | "/api/folders") => TokenScope::Own,
        ("GET" | "HEAD", _) => TokenScope::Look,
        ("POST", "/api/sessions/{id}/permissions") => TokenScope::Answer,
        (
            "POST",
            "/api/sessions/{id}/prompt"
            | "/api/sessions/{id}/interrupt"
            | "/api/sessions/{id}/options",
        )
        | ("PATCH" | "DELETE", "/api/sessions/{id}/queue/{prompt}") => TokenScope::Write,
        _ => TokenScope::Own,
    }
}
