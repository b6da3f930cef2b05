//! The permission requests of all sessions, with long polling.

use std::time::Duration;

use axum::extract::State;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, timeout_at};
use utoipa::ToSchema;

use super::cursor::HubCursor;
use super::hub::EventHub;
use super::item::SessionPermission;
use crate::api::extract::QueryParams;
use crate::api::problem::Problem;
use crate::app_state::AppState;
use std::sync::Arc;

/// Maximum time that a request waits.
const MAX_WAIT: u64 = 300;

/// What a request for the permission requests waits for.
#[derive(Debug, Deserialize, utoipa::IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub(super) struct PermissionsQuery {
    /// How long to wait for a change since `since`, in seconds, up to 300. Default: 0.
    #[serde(default)]
    #[param(required = false, maximum = 300)]
    wait: u64,
    /// The `cursor` of an earlier response.
    since: Option<String>,
}

/// The open permission requests of all sessions.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AllPermissions {
    /// The open requests, oldest first.
    permissions: Vec<SessionPermission>,
    /// Stands for this list: `since` of the next request.
    cursor: String,
}

/// List the open permission requests of all sessions.
///
/// With `wait` and `since`, waits until the list differs from the one that `since` stands for. A cursor of an earlier run
/// of the runner waits for nothing.
#[utoipa::path(get, path = "/api/permissions", operation_id = "allPermissions",
    params(PermissionsQuery),
    responses((status = 200, description = "Success", body = AllPermissions), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn list(
    State(app): State<Arc<AppState>>,
    Extension(hub): Extension<Arc<EventHub>>,
    QueryParams(query): QueryParams<PermissionsQuery>,
) -> Result<Json<AllPermissions>, Problem> {
    hub.start().await;
    let seen = query.since.and_then(|it| it.parse::<HubCursor>().ok());
    let seen = seen.filter(|it| it.instance == hub.instance);
    let until = Instant::now() + Duration::from_secs(query.wait.min(MAX_WAIT));
    loop {
        let (tick, permissions) = hub.permissions();
        let is_new = seen.is_none_or(|it| it.tick != tick);
        if is_new || !waits(&hub, &app, tick, until).await {
            let cursor = HubCursor {
                instance: hub.instance,
                tick,
                at_ms: 0,
            };
            let cursor = cursor.to_string();
            return Ok(Json(AllPermissions {
                permissions,
                cursor,
            }));
        }
    }
}

/// Waits until something is published; returns false when the time is over.
async fn waits(hub: &EventHub, app: &AppState, permissions: u64, until: Instant) -> bool {
    let changed = hub.permissions_changed_after(permissions);
    tokio::select! {
        changed = timeout_at(until, changed) => changed.is_ok(),
        () = app.shutdown.cancelled() => false,
    }
}
