//! Starts a session again.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use bowline_lifecycle::control::GENERATION_LABEL;
use bowline_transport::{SessionId, TerminationPolicy};

use super::completion::run_to_completion;
use super::session_dto::CreatedSession;
use super::sessions::{created, start};
use crate::api::extract::SessionPath;
use crate::api::idempotency_key::IdempotencyKey;
use crate::api::problem::Problem;
use crate::app_state::AppState;
use crate::conversations::is_driven;
use crate::sessions::RestartError;
use crate::shim::SessionSpec;

/// End a session and start it again under a new id.
///
/// The session no longer waits for its web terminal to reconnect. One that resumed a conversation begins with its past,
/// as it is now.
#[utoipa::path(post, path = "/api/sessions/{id}/restart", operation_id = "restartSession",
    params(("id" = String, Path, description = "Id of the session")),
    responses((status = 201, description = "Created", body = CreatedSession), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn restart(
    State(app): State<Arc<AppState>>,
    SessionPath(id): SessionPath,
    key: IdempotencyKey,
) -> Result<(StatusCode, Json<CreatedSession>), Problem> {
    let successor = key.uuid(&format!("restart {id}"));
    let successor = successor.and_then(|it| it.to_string().parse().ok());
    if let Some(known) = successor.filter(|it| app.sessions.find(*it).is_some()) {
        return Ok((StatusCode::CREATED, Json(created(&app, known).await)));
    }
    app.sessions
        .find(id)
        .ok_or_else(Problem::session_not_found)?;
    let successor = successor.unwrap_or_else(SessionId::random);
    let spec = app.sessions.take_spec(id).map_err(restart_problem)?;
    run_to_completion(async move {
        let restarted = replace_session(&app, &spec, successor).await;
        if restarted.is_err() {
            app.sessions.return_spec(spec);
        }
        Ok((StatusCode::CREATED, Json(restarted?)))
    })
    .await
}

/// Ends the session of a spec, and starts another one from it.
async fn replace_session(
    app: &AppState,
    spec: &SessionSpec,
    successor: SessionId,
) -> Result<CreatedSession, Problem> {
    app.detach_timers.cancel(spec.id);
    app.sessions
        .terminate(spec.id, TerminationPolicy::default())
        .await?;
    app.metrics.terminated.add(1);
    let mut spec = SessionSpec {
        id: successor,
        ..spec.clone()
    };
    let is_conversation = is_driven(&spec.labels);
    // Its claim is that of the session that it follows.
    spec.labels.remove(GENERATION_LABEL);
    let started = start(app, spec).await?;
    if is_conversation {
        app.conversations.attach(started.id).await?;
    }
    Ok(created(app, started.id).await)
}

fn restart_problem(error: RestartError) -> Problem {
    let (code, detail, next) = match error {
        RestartError::Unknown => (
            "SPEC_UNKNOWN",
            "cannot restart: the session was created by another runner",
            "end it, and create another one with POST /api/sessions",
        ),
        RestartError::Taken => (
            "RESTARTED",
            "the session is being restarted or was restarted",
            "restart its successor, which GET /api/sessions lists",
        ),
    };
    Problem::new(StatusCode::CONFLICT, code, detail, next)
}
