//! The daemon's health and metrics.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use bowline_lifecycle::TerminalRegistry;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::problem::Problem;
use crate::app_state::{AppState, MetricsFormat, OtherCounts};

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

/// Read the runner's metrics, as OpenMetrics 1.0 if the header `Accept` names it, else in the Prometheus text format.
#[utoipa::path(get, path = "/metrics", operation_id = "metrics",
    responses((status = 200, description = "Success", content_type = "text/plain", body = String),
        (status = "default", description = "Error", body = Problem)))]
pub(super) async fn metrics(
    State(app): State<Arc<AppState>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let accept = headers.get(ACCEPT).and_then(|it| it.to_str().ok());
    let format = MetricsFormat::accepted(accept.unwrap_or_default());
    let registry = TerminalRegistry::shared();
    let counts = OtherCounts {
        sessions: app.sessions.count().await.map_err(Problem::internal)?,
        dialogues: registry.metrics(),
        turns: registry.turns(),
    };
    let text = app.metrics.render(&counts, format);
    Ok(([(CONTENT_TYPE, format.content_type())], text).into_response())
}
