//! The HTTP endpoints: REST, frames over WebSocket and gRPC, the web terminal and ACP, all on one
//! authentication layer.

pub mod acp;
mod attach;
mod attach_permit;
mod authenticate;
mod cors;
mod events;
mod extract;
mod forward;
mod frames;
mod grpc;
mod idempotency_key;
mod mcp;
mod page;
mod problem;
mod rate_limit;
mod rest;
mod session_place;
mod trace;
mod web_terminal;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::{any, get};
use axum::{Extension, Json, Router};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;

use crate::app_state::AppState;
use crate::auth::AuthError;
pub(crate) use authenticate::is_attached;
#[cfg(feature = "fuzz")]
pub use events::fuzz_cursor;
pub(crate) use events::{EventHub, start_notifications};
pub use events::{NotifyConfiguration, NotifyError};
use problem::Problem;
pub(crate) use rest::keep_missing_activities;
#[cfg(feature = "fuzz")]
pub use web_terminal::fuzz_web_terminal;
pub(crate) use web_terminal::restore_detach_timers;

/// Builds the router of all endpoints.
pub(crate) fn router(app: &Arc<AppState>, hub: &Arc<EventHub>) -> Router {
    let more = events::routes(Arc::clone(hub));
    let (rest, document) = rest::routes(more, attach::AttachDocument::openapi());
    let owner_only = rest
        .layer(Extension(Arc::clone(hub)))
        .merge(openapi_route(document))
        .route("/acp", get(attach::editor))
        .layer(from_fn(authenticate::require_scope));
    let attach = Router::new()
        .route("/api/sessions/{id}/attach", get(attach::session))
        .route_layer(from_fn_with_state(
            Arc::clone(app),
            rate_limit::describe_attaches,
        ))
        .route("/api/panel", get(attach::web_terminal))
        .route("/bowline.runner.v1.Runner/{method}", any(grpc_call));
    owner_only
        .merge(attach)
        .layer(from_fn_with_state(Arc::clone(app), forward::forward))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn_with_state(
            Arc::clone(app),
            authenticate::authenticate,
        ))
        .merge(page::routes(app))
        .layer(CompressionLayer::new().quality(CompressionLevel::Fastest))
        .layer(from_fn_with_state(Arc::clone(app), cors::share))
        .layer(from_fn(trace::request_span))
        .with_state(Arc::clone(app))
}

/// Returns a router that refuses every request, since the sender is another user.
pub(crate) fn refuse_user() -> Router {
    Router::new().fallback(|| async { Problem::from(AuthError::User) })
}

fn openapi_route(document: OpenApi) -> Router<Arc<AppState>> {
    let document = Arc::new(document);
    let respond = move || {
        let document = Arc::clone(&document);
        async move { Json(document.as_ref().clone()) }
    };
    Router::new().route("/openapi.json", get(respond))
}

async fn grpc_call(State(app): State<Arc<AppState>>, request: Request) -> Response {
    grpc::respond(app, request).await
}

async fn not_found() -> Problem {
    let next = "see /openapi.json for the available paths";
    Problem::new(StatusCode::NOT_FOUND, "NOT_FOUND", "not found", next)
}

async fn method_not_allowed() -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "METHOD_NOT_ALLOWED",
        "method not allowed",
        "see /openapi.json for the methods of this path",
    )
}
