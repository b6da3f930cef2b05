//! The daemon's health and metrics.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::problem::Problem;
use crate::app_state::AppState;

/// Health of the runner.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Health {
    /// `ok`.
    #[schema(value_type = String)]
    status: &'static str,
    /// Version of the runner.
    #[schema(value_type = String)]
    version: &'static str,
}

const HEALTHY: Health = Health {
    status: "ok",
    version: env!("CARGO_PKG_VERSION"),
};

/// Check that the runner responds.
#[utoipa::path(get, path = "/healthz", operation_id = "healthz",
    responses((status = 200, description = "Success", body = Health), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn healthz() -> Json<Health> {
    Json(HEALTHY)
}

/// Check that the runner accepts sessions: its state folder is readable, and it is not shutting
/// down.
#[utoipa::path(get, path = "/readyz", operation_id = "readyz",
    responses((status = 200, description = "Success", body = Health), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn readyz(State(app): State<Arc<AppState>>) -> Result<Json<Health>, Problem> {
    if app.shutdown.is_cancelled() {
        return Err(Problem::shutting_down());
    }
    app.sessions.check().await.map_err(Problem::internal)?;
    Ok(Json(HEALTHY))
}

/// Read the runner's metrics in the Prometheus text format.
#[utoipa::path(get, path = "/metrics", operation_id = "metrics",
    responses((status = 200, description = "Success", content_type = "text/plain", body = String),
        (status = "default", description = "Error", body = Problem)))]
pub(super) async fn metrics(State(app): State<Arc<AppState>>) -> Result<Response, Problem> {
    let counts = app.sessions.count().await.map_err(Problem::internal)?;
    let text = app.metrics.render(counts);
    let kind = [(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    Ok((kind, text).into_response())
}
