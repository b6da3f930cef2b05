//! Sessions: made, listed, looked at, ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use bowline_transport::wire::Lease;
use bowline_transport::{Ladder, SessionId};
use serde::Deserialize;
use utoipa::ToSchema;

use super::extract::{Asked, Body};
use super::shape::{Created, Details, Ended, NewSession, Range, Session, Sessions, Size};
use super::talk::Talk;
use super::{history, id};
use crate::doors::problem::Problem;
use crate::serve::{CreateError, EndError, Hall, Standing};
use crate::shim::{SessionSpec, ShimStarted, SpawnFault};

/// Make a session.
///
/// It runs when this answers. With an `id`, a request that is sent again makes no second one.
#[utoipa::path(post, path = "/api/sessions", operation_id = "createSession",
    request_body = NewSession,
    responses((status = 201, description = "Done", body = Created), (status = "default", description = "Not done", body = Problem)))]
pub(super) async fn create(
    State(hall): State<Arc<Hall>>,
    Body(spec): Body<SessionSpec>,
) -> Result<(StatusCode, Json<Created>), Problem> {
    let started = start(&hall, spec).await?;
    Ok((StatusCode::CREATED, Json(created(&hall, started).await)))
}

async fn start(hall: &Hall, spec: SessionSpec) -> Result<ShimStarted, Problem> {
    let started = hall.directory.create(spec).await?;
    hall.metrics.created.add(1);
    Ok(started)
}

async fn created(hall: &Hall, started: ShimStarted) -> Created {
    let record = hall.directory.record(started.id).await.ok().flatten();
    let info = record.as_ref().map(|record| &record.info);
    Created {
        id: started.id.to_string(),
        epoch: info.map(|info| info.epoch.to_string()).unwrap_or_default(),
        pid: info.and_then(|info| info.pid),
    }
}

impl From<CreateError> for Problem {
    fn from(error: CreateError) -> Self {
        let (status, code, next) = match &error {
            CreateError::TooMany(_) => (
                StatusCode::SERVICE_UNAVAILABLE,
                "MAX_SESSIONS",
                "end one with DELETE /api/sessions/{id}",
            ),
            error if error.is_taken() => (
                StatusCode::CONFLICT,
                "SESSION_EXISTS",
                "attach to it, or leave the id out",
            ),
            error => unstarted(error.fault()),
        };
        Self::new(status, code, error, next)
    }
}

/// What to answer when a session could not be started.
const fn unstarted(fault: Option<SpawnFault>) -> (StatusCode, &'static str, &'static str) {
    let request = StatusCode::UNPROCESSABLE_ENTITY;
    match fault {
        Some(SpawnFault::Program) => (
            request,
            "PROGRAM_NOT_FOUND",
            "give the path of a program, or a PATH in `env.set` that has it",
        ),
        Some(SpawnFault::Directory) => (
            request,
            "DIRECTORY_NOT_FOUND",
            "give a `cwd` that is there and may be entered",
        ),
        Some(SpawnFault::Arguments) => (
            request,
            "ARGUMENTS_REFUSED",
            "give shorter `args` and `env` without NUL bytes",
        ),
        Some(SpawnFault::Resources) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "NO_RESOURCES",
            "end something, or raise the limits of the machine",
        ),
        _ => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "SHIM_FAILED",
            "see the runner's log",
        ),
    }
}

/// List all sessions, those that have ended too.
#[utoipa::path(get, path = "/api/sessions", operation_id = "listSessions",
    responses((status = 200, description = "Done", body = Sessions), (status = "default", description = "Not done", body = Problem)))]
pub(super) async fn list(State(hall): State<Arc<Hall>>) -> Result<Json<Sessions>, Problem> {
    let records = hall.directory.records().await.map_err(Problem::internal)?;
    let sessions = records.iter().map(Session::of).collect();
    Ok(Json(Sessions { sessions }))
}

/// Look at a session.
#[utoipa::path(get, path = "/api/sessions/{id}", operation_id = "session",
    params(("id" = String, Path, description = "The session")),
    responses((status = 200, description = "Done", body = Details), (status = "default", description = "Not done", body = Problem)))]
pub(super) async fn one(
    State(hall): State<Arc<Hall>>,
    Path(name): Path<String>,
) -> Result<Json<Details>, Problem> {
    let id = id(&name)?;
    let record = history::record(&hall, id).await?;
    let mut details = Details {
        session: Session::of(&record),
        streams: BTreeMap::new(),
        input_next: None,
        size: None,
    };
    if record.standing != Standing::Gone
        && let Ok(talk) = Talk::join(&hall, id, Lease::Read, BTreeMap::new(), 0).await
    {
        let streams = talk.attached.streams.into_iter();
        details.streams = streams
            .map(|(id, it)| (id.to_string(), Range::of(it)))
            .collect();
        details.input_next = Some(talk.attached.input_next);
        details.size = talk.attached.info.size.map(Size::of);
    }
    Ok(Json(details))
}

/// How a session is ended.
#[derive(Debug, Deserialize, utoipa::IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub(super) struct How {
    /// Keep its log and what is known of it.
    #[serde(default)]
    #[param(required = false)]
    keep: bool,
    /// Do not ask it first: SIGKILL at once.
    #[serde(default)]
    #[param(required = false)]
    force: bool,
}

/// End a session and everything that came of it, and remove it.
///
/// Its input is closed, then comes SIGTERM, then SIGKILL for the whole tree. One that has ended
/// already is removed.
#[utoipa::path(delete, path = "/api/sessions/{id}", operation_id = "endSession",
    params(("id" = String, Path, description = "The session"), How),
    responses((status = 200, description = "Done", body = Ended), (status = "default", description = "Not done", body = Problem)))]
pub(super) async fn end(
    State(hall): State<Arc<Hall>>,
    Path(name): Path<String>,
    Asked(how): Asked<How>,
) -> Result<Json<Ended>, Problem> {
    let id = id(&name)?;
    carried_out(async move {
        let ladder = if how.force {
            Ladder::AT_ONCE
        } else {
            Ladder::default()
        };
        let ending = hall.directory.end(id, ladder).await?;
        hall.parked.cancel(id);
        hall.metrics.disposed.add(1);
        if !how.keep {
            let removed = hall.directory.remove(id).await;
            removed.map_err(EndError::Remove)?;
        }
        Ok(Json(Ended::of(&ending, !how.keep)))
    })
    .await
}

/// What is begun is done, even if who has asked does not wait for it.
async fn carried_out<T: Send + 'static>(
    work: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::spawn(work).await;
    done.unwrap_or_else(|error| Err(Problem::internal(error)))
}

impl From<EndError> for Problem {
    fn from(error: EndError) -> Self {
        match error {
            EndError::Unknown => Self::no_session(),
            EndError::Link(error) => error.into(),
            EndError::Unreadable(error) | EndError::Remove(error) => Self::internal(error),
        }
    }
}

/// End a session and start the same again, under a new id.
///
/// A panel that was to come back to it is not waited for any longer.
#[utoipa::path(post, path = "/api/sessions/{id}/restart", operation_id = "restartSession",
    params(("id" = String, Path, description = "The session")),
    responses((status = 201, description = "Done", body = Created), (status = "default", description = "Not done", body = Problem)))]
pub(super) async fn restart(
    State(hall): State<Arc<Hall>>,
    Path(name): Path<String>,
) -> Result<(StatusCode, Json<Created>), Problem> {
    let id = id(&name)?;
    hall.directory.find(id).ok_or_else(Problem::no_session)?;
    let spec = hall.directory.spec(id).ok_or_else(|| {
        let detail = "this runner did not start the session and does not know with what";
        let next = "end it, and make another one with POST /api/sessions";
        Problem::new(StatusCode::CONFLICT, "SPEC_UNKNOWN", detail, next)
    })?;
    carried_out(async move {
        hall.parked.cancel(id);
        hall.directory.end(id, Ladder::default()).await?;
        hall.metrics.disposed.add(1);
        let spec = SessionSpec {
            id: SessionId::random(),
            ..spec
        };
        let started = start(&hall, spec).await?;
        // The same is made again from the one that has taken its place.
        hall.directory.forget(id);
        Ok((StatusCode::CREATED, Json(created(&hall, started).await)))
    })
    .await
}
