//! The gate in front of every door: no handler runs before it, upgrades included.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio::time::sleep;
use tracing::debug;

use super::grpc;
use super::problem::Problem;
use crate::serve::{From, Hall, Pass};

/// Lets a request in or turns it away.
pub(super) async fn admit(State(hall): State<Arc<Hall>>, request: Request, next: Next) -> Response {
    hall.metrics.requests.add(1);
    let Some(from) = request.extensions().get::<From>().copied() else {
        return Problem::internal("a request came from nowhere").into_response();
    };
    let (mut parts, body) = request.into_parts();
    match hall.gate.admit(&parts, from.line) {
        Ok(pass) => {
            parts.extensions.insert(pass);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(refusal) => {
            debug!(code = refusal.code(), "a request was turned away");
            hall.metrics.refused.add(1);
            if refusal.is_a_guess() {
                hall.metrics.guesses.add(1);
                sleep(hall.guessed(from.address)).await;
            }
            turn_away(&parts.headers, refusal.into())
        }
    }
}

fn turn_away(headers: &HeaderMap, problem: Problem) -> Response {
    if grpc::is_call(headers) {
        grpc::refusal(problem)
    } else {
        problem.into_response()
    }
}

/// Lets in who owns the runner, in front of everything but attaches.
pub(super) async fn owners(request: Request, next: Next) -> Response {
    match request.extensions().get::<Pass>() {
        Some(Pass::Owner) => next.run(request).await,
        _ => Problem::no_ticket().into_response(),
    }
}
