//! The doors: REST, frames over WebSocket, the panel of seed 002, and gRPC, all behind one gate.

mod admission;
mod admit;
mod attach;
mod frames;
mod grpc;
mod metrics;
mod panel;
mod problem;
mod rest;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::{any, get};
use axum::{Json, Router};
use utoipa::openapi::OpenApi;

use crate::serve::Hall;
pub(crate) use metrics::Metrics;
#[cfg(feature = "fuzz")]
pub use panel::fuzz_panel;
pub(crate) use panel::{Parked, take_over};
use problem::Problem;

/// Everything that is served.
pub(crate) fn router(hall: &Arc<Hall>) -> Router {
    let (rest, document) = rest::routes();
    let owners = rest
        .merge(described(document))
        .layer(from_fn(admit::owners));
    let attaches = Router::new()
        .route("/api/sessions/{id}/attach", get(attach::session))
        .route("/api/panel", get(attach::panel))
        .route("/bowline.runner.v1.Runner/{method}", any(call));
    owners
        .merge(attaches)
        .fallback(nothing_there)
        .method_not_allowed_fallback(not_like_this)
        .layer(from_fn_with_state(Arc::clone(hall), admit::admit))
        .with_state(Arc::clone(hall))
}

/// The document that describes what is served.
fn described(document: OpenApi) -> Router<Arc<Hall>> {
    let document = Arc::new(document);
    let answer = move || {
        let document = Arc::clone(&document);
        async move { Json(document.as_ref().clone()) }
    };
    Router::new().route("/openapi.json", get(answer))
}

async fn call(State(hall): State<Arc<Hall>>, request: Request) -> Response {
    grpc::answer(hall, request).await
}

async fn nothing_there() -> Problem {
    let next = "see /openapi.json for the addresses there are";
    Problem::new(
        axum::http::StatusCode::NOT_FOUND,
        "NOT_FOUND",
        "there is nothing at this address",
        next,
    )
}

async fn not_like_this() -> Problem {
    let next = "see /openapi.json for the methods of this address";
    Problem::new(
        axum::http::StatusCode::METHOD_NOT_ALLOWED,
        "METHOD_NOT_ALLOWED",
        "this address knows no such method",
        next,
    )
}
