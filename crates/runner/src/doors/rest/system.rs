//! The runner itself: whether it is well, and what it counts.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::doors::problem::Problem;
use crate::serve::Hall;

/// Whether the runner is well.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Health {
    /// `ok`.
    #[schema(value_type = String)]
    status: &'static str,
    /// The runner's version.
    #[schema(value_type = String)]
    version: &'static str,
}

const OK: Health = Health {
    status: "ok",
    version: env!("CARGO_PKG_VERSION"),
};

/// Whether the runner answers.
#[utoipa::path(get, path = "/healthz", operation_id = "healthz",
    responses((status = 200, description = "Done", body = Health), (status = "default", description = "Not done", body = Problem)))]
pub(super) async fn healthz() -> Json<Health> {
    Json(OK)
}

/// Whether the runner takes sessions: its state folder can be read, and it is not about to end.
#[utoipa::path(get, path = "/readyz", operation_id = "readyz",
    responses((status = 200, description = "Done", body = Health), (status = "default", description = "Not done", body = Problem)))]
pub(super) async fn readyz(State(hall): State<Arc<Hall>>) -> Result<Json<Health>, Problem> {
    if hall.life.is_ending() {
        let next = "ask another runner, or wait for the next one";
        let status = StatusCode::SERVICE_UNAVAILABLE;
        return Err(Problem::new(
            status,
            "ENDING",
            "the runner is about to end",
            next,
        ));
    }
    hall.directory.check().await.map_err(Problem::internal)?;
    Ok(Json(OK))
}

/// What the runner counts, as Prometheus reads it.
#[utoipa::path(get, path = "/metrics", operation_id = "metrics",
    responses((status = 200, description = "Done", content_type = "text/plain", body = String),
        (status = "default", description = "Not done", body = Problem)))]
pub(super) async fn metrics(State(hall): State<Arc<Hall>>) -> Result<Response, Problem> {
    let counted = hall.directory.count().await;
    let (running, all) = counted.map_err(Problem::internal)?;
    let text = hall
        .metrics
        .text(running as u64, all.saturating_sub(running) as u64);
    let kind = [(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    Ok((kind, text).into_response())
}
