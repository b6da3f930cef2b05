//! Sessions: create, list, get, update, delete and restore.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use bowline_transport::wire::Lease;
use bowline_transport::{
    SessionActivity, SessionId, SessionList, SessionSummary, SessionSummaryState, SessionUpdate,
    TerminationPolicy,
};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::task::spawn_blocking;
use utoipa::ToSchema;

use super::agent::{CreateRequest, start_problem};
use super::claim::{start_claimed, writer_of_agent, writer_of_process};
use super::completion::run_to_completion;
use super::conversation::running_conversation;
use super::create_key::{KeyedRequest, existing};
use super::ended_activity::keep_missing_activity;
use super::session_dto::{CreatedSession, NewSession, SessionDetails, StreamRange};
use super::session_list::{ListFilter, ListQuery};
use super::shim_client::{ShimClient, read_record};
use super::take_over::take_over;
use crate::api::extract::{JsonBody, QueryParams, SessionPath};
use crate::api::idempotency_key::IdempotencyKey;
use crate::api::problem::Problem;
use crate::app_state::AppState;
use crate::conversations::StartConversation;
use crate::sessions::{
    CreateError, EndedSession, SessionRecord, ShimStatus, TerminateError, damage_in_log, summary_of,
};
use crate::shim::{RestoreError, SessionSpec, ShimStarted, SpawnFault, UpdateError};

/// The code of the refusal of an id that another session has.
const SESSION_EXISTS: &str = "SESSION_EXISTS";

/// Create a session.
///
/// With `agent`, which is `claude` if only `prompt` is given, starts a conversation: the runner drives the agent,
/// and takes prompts, answers and interrupts. The agent has opened its session when the response is sent. With
/// `kind` and `program`, starts any process. A repeated request with the same `id` creates no second session and is
/// refused; one with the same `Idempotency-Key` returns the first session, also after a restart of the runner.
#[utoipa::path(post, path = "/api/sessions", operation_id = "createSession",
    request_body = NewSession,
    responses((status = 201, description = "Created", body = CreatedSession), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn create(
    State(app): State<Arc<AppState>>,
    key: IdempotencyKey,
    JsonBody(mut body): JsonBody<Map<String, Value>>,
) -> Result<(StatusCode, Json<CreatedSession>), Problem> {
    let keyed = KeyedRequest::of(&key, &body);
    if let Some(keyed) = &keyed {
        body.insert("id".to_owned(), keyed.id.to_string().into());
    }
    let request = match CreateRequest::parse(body)? {
        CreateRequest::Process(mut spec) => {
            KeyedRequest::label(keyed.as_ref(), &mut spec.labels);
            CreateRequest::Process(spec)
        }
        CreateRequest::Agent(mut start) => {
            KeyedRequest::label(keyed.as_ref(), &mut start.labels);
            CreateRequest::Agent(start)
        }
        other @ CreateRequest::TakeOver(_) => other,
    };
    let requested = request.id();
    let started = match request {
        CreateRequest::Process(spec) => start(&app, *spec).await,
        CreateRequest::Agent(conversation) => {
            let app = Arc::clone(&app);
            run_to_completion(async move { start_agent(&app, *conversation).await }).await
        }
        CreateRequest::TakeOver(request) => {
            let app = Arc::clone(&app);
            run_to_completion(async move { take_over(&app, request).await }).await
        }
    };
    let id = match started {
        Ok(started) => started.id,
        Err(problem) if problem.code == SESSION_EXISTS => {
            let record = existing(&app, requested).await?;
            let keyed = keyed.ok_or(problem)?;
            keyed.check_repeated(&app, &record).await?;
            keyed.id
        }
        Err(problem) => return Err(problem),
    };
    Ok((StatusCode::CREATED, Json(created(&app, id).await)))
}

async fn start_agent(app: &AppState, start: StartConversation) -> Result<ShimStarted, Problem> {
    let (agent, writer) = (start.agent.clone(), writer_of_agent(&start));
    let start = async {
        let started = app.conversations.start(start).await;
        started.map_err(|error| start_problem(&agent, error))
    };
    let (started, _) = start_claimed(app, writer, start).await?;
    app.metrics.created_by_agent.add(Some(&agent));
    Ok(started)
}

pub(super) async fn start(app: &AppState, spec: SessionSpec) -> Result<ShimStarted, Problem> {
    let writer = writer_of_process(&spec);
    let start = async { Ok(app.sessions.create(spec).await?) };
    let started = start_claimed(app, writer, start).await?;
    app.metrics.created_by_agent.add(None);
    Ok(started)
}

pub(super) async fn created(app: &AppState, id: SessionId) -> CreatedSession {
    let record = app.sessions.record(id).await.ok().flatten();
    let info = record.as_ref().map(|record| &record.info);
    CreatedSession {
        id: id.to_string(),
        epoch: info.map(|info| info.epoch.to_string()).unwrap_or_default(),
        pid: info.and_then(|info| info.pid),
    }
}

impl From<CreateError> for Problem {
    fn from(error: CreateError) -> Self {
        let (status, code, next) = match &error {
            CreateError::LimitReached(_) => (
                StatusCode::SERVICE_UNAVAILABLE,
                "MAX_SESSIONS",
                "end one with DELETE /api/sessions/{id}",
            ),
            error if error.is_duplicate() => (
                StatusCode::CONFLICT,
                SESSION_EXISTS,
                "attach to it, or omit the id",
            ),
            error => spawn_problem(error.fault()),
        };
        Self::new(status, code, error, next)
    }
}

const fn spawn_problem(fault: Option<SpawnFault>) -> (StatusCode, &'static str, &'static str) {
    let request = StatusCode::UNPROCESSABLE_ENTITY;
    match fault {
        Some(SpawnFault::Program) => (
            request,
            "PROGRAM_NOT_FOUND",
            "give the path of a program, or set a `PATH` that contains it in `env.set`",
        ),
        Some(SpawnFault::Directory) => (
            request,
            "DIRECTORY_NOT_FOUND",
            "give a `cwd` that exists and is accessible",
        ),
        Some(SpawnFault::Arguments) => (
            request,
            "ARGUMENTS_REFUSED",
            "give shorter `args` and `env`, without NUL bytes",
        ),
        Some(SpawnFault::Hooks) => (
            request,
            "HOOKS_REFUSED",
            "omit `hooks`, or change what they need",
        ),
        Some(SpawnFault::Resources) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "NO_RESOURCES",
            "end other processes, or raise the system's limits",
        ),
        _ => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "SHIM_FAILED",
            "see the runner's log",
        ),
    }
}

/// List the sessions, oldest first, including those that have ended.
///
/// `next` is there if the list has more than `limit` sessions: the value of `after` for the rest.
#[utoipa::path(get, path = "/api/sessions", operation_id = "listSessions",
    params(ListQuery),
    responses((status = 200, description = "Success", body = SessionList), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn list(
    State(app): State<Arc<AppState>>,
    QueryParams(query): QueryParams<ListQuery>,
) -> Result<Response, Problem> {
    let is_fleet = query.is_fleet()?;
    let own = list_own(&app, &query.filter()?).await?;
    if !is_fleet {
        return Ok(Json(own).into_response());
    }
    let runners = app.other_runners().ok_or_else(Problem::no_fleet)?;
    let others = runners.sessions().await;
    let others = others.map_err(|error| Problem::fleet_failed(&error))?;
    let ids: Vec<_> = own.sessions.iter().map(|it| it.id).collect();
    let mut sessions: Vec<_> = own
        .sessions
        .iter()
        .filter_map(|it| serde_json::to_value(it).ok())
        .collect();
    sessions.extend(
        others
            .into_iter()
            .filter(|it| !ids.contains(&it.id))
            .map(|it| it.summary),
    );
    Ok(Json(serde_json::json!({ "sessions": sessions })).into_response())
}

async fn list_own(app: &AppState, filter: &ListFilter) -> Result<SessionList, Problem> {
    let records = app.sessions.records().await.map_err(Problem::internal)?;
    let mut activities = app.conversations.activities().await;
    let sessions = records.iter().map(|record| {
        let mut session = summary_of(record);
        let activity = activities.remove(&session.id);
        complete(app, &mut session, activity);
        session
    });
    let (sessions, next) = filter.page(sessions.collect());
    Ok(SessionList { sessions, next })
}

/// Adds what the daemon knows of a session that is in no file.
fn complete(app: &AppState, session: &mut SessionSummary, activity: Option<SessionActivity>) {
    if let Some(activity) = activity {
        // The end of the process is more recent than the fold.
        let phase = session.activity.phase.take().or(activity.phase);
        session.activity = SessionActivity { phase, ..activity };
    }
    if session.state == SessionSummaryState::Running {
        session.activity.hosts = Some(app.attached.count(session.id));
    }
}

/// Get a session.
#[utoipa::path(get, path = "/api/sessions/{id}", operation_id = "session",
    params(("id" = String, Path, description = "Id of the session")),
    responses((status = 200, description = "Success", body = SessionDetails), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn get(
    State(app): State<Arc<AppState>>,
    SessionPath(id): SessionPath,
) -> Result<Json<SessionDetails>, Problem> {
    let record = read_record(&app, id).await?;
    let read = spawn_blocking(move || {
        let damage = damage_in_log(&record);
        (record, damage)
    });
    let (record, damage) = read.await.map_err(Problem::internal)?;
    let mut session = with_metadata(&record).await;
    session.damage = session.damage.or(damage);
    let activity = app.conversations.activity(id).await;
    complete(&app, &mut session, activity);
    let mut details = SessionDetails {
        session,
        streams: BTreeMap::new(),
        input_next: None,
        size: None,
        silence: None,
    };
    // A session that cannot be driven any more is shown nevertheless.
    if let Ok(Some(conversation)) = running_conversation(&app, &record).await {
        details.silence = conversation.session().silence().await.map(Into::into);
    }
    if record.shim != ShimStatus::Gone
        && let Ok(client) = ShimClient::attach(&app, id, Lease::Read, BTreeMap::new(), 0).await
    {
        let streams = client.attached.streams.into_iter();
        details.streams = streams
            .map(|(id, extent)| (id.to_string(), StreamRange::from(extent)))
            .collect();
        details.input_next = Some(client.attached.input_next);
        details.size = client.attached.info.size.map(Into::into);
    }
    Ok(Json(details))
}

/// Change the name, the labels or the metadata of a session.
///
/// Absent members stay as they are. The session may have ended. The change is on disk when the response is sent.
#[utoipa::path(patch, path = "/api/sessions/{id}", operation_id = "updateSession",
    params(("id" = String, Path, description = "Id of the session")),
    request_body = SessionUpdate,
    responses((status = 200, description = "Success", body = SessionSummary), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn update(
    State(app): State<Arc<AppState>>,
    SessionPath(id): SessionPath,
    JsonBody(change): JsonBody<SessionUpdate>,
) -> Result<Json<SessionSummary>, Problem> {
    read_record(&app, id).await?;
    app.sessions.update(id, change).await?;
    let record = read_record(&app, id).await?;
    Ok(Json(with_metadata(&record).await))
}

/// Returns a session with the metadata of its hosts.
async fn with_metadata(record: &SessionRecord) -> SessionSummary {
    let session = record.session.clone();
    let data = spawn_blocking(move || session.host_data()).await;
    SessionSummary {
        metadata: data.ok().and_then(|it| it.metadata).flatten(),
        ..summary_of(record)
    }
}

impl From<UpdateError> for Problem {
    fn from(error: UpdateError) -> Self {
        let (code, next) = match &error {
            UpdateError::Metadata { .. } => ("METADATA_TOO_LARGE", "store less of it"),
            UpdateError::Labels { .. } => ("LABELS_TOO_LARGE", "use fewer or shorter ones"),
            UpdateError::Reserved { .. } => (
                "LABEL_RESERVED",
                "use a name that does not begin with `bowline.`",
            ),
            UpdateError::Io(_) => return Self::internal(error),
        };
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, error, next)
    }
}

/// How to end a session.
#[derive(Debug, Deserialize, utoipa::IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub(super) struct DeleteQuery {
    /// Move the session with its log to the trash, from which it can be restored for an hour. Default: it stays listed.
    #[serde(default)]
    #[param(required = false)]
    remove: bool,
    /// The opposite of `remove`, as clients of earlier versions state it.
    keep: Option<bool>,
    /// Send SIGKILL at once.
    #[serde(default)]
    #[param(required = false)]
    force: bool,
}

impl DeleteQuery {
    fn removes(&self) -> bool {
        self.remove || self.keep == Some(false)
    }
}

/// End a session with all its descendants.
///
/// Its input is closed, then it receives SIGTERM, then the whole process tree receives SIGKILL. A
/// session that has already ended stays as it is. With `remove`, it is not listed any more.
#[utoipa::path(delete, path = "/api/sessions/{id}", operation_id = "endSession",
    params(("id" = String, Path, description = "Id of the session"), DeleteQuery),
    responses((status = 200, description = "Success", body = EndedSession), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn delete(
    State(app): State<Arc<AppState>>,
    SessionPath(id): SessionPath,
    QueryParams(query): QueryParams<DeleteQuery>,
) -> Result<Json<EndedSession>, Problem> {
    run_to_completion(async move {
        let policy = if query.force {
            TerminationPolicy::AT_ONCE
        } else {
            TerminationPolicy::default()
        };
        let termination = app.sessions.terminate(id, policy).await?;
        app.detach_timers.cancel(id);
        app.metrics.terminated.add(1);
        let removes = query.removes();
        if removes {
            let removed = app.sessions.remove(id).await;
            removed.map_err(TerminateError::Remove)?;
        }
        Ok(Json(EndedSession::new(termination, removes)))
    })
    .await
}

/// Restore a session that was removed within the last hour.
///
/// It is listed again, as it ended.
#[utoipa::path(post, path = "/api/sessions/{id}/restore", operation_id = "restoreSession",
    params(("id" = String, Path, description = "Id of the session")),
    responses((status = 200, description = "Success", body = SessionSummary), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn restore(
    State(app): State<Arc<AppState>>,
    SessionPath(id): SessionPath,
) -> Result<Json<SessionSummary>, Problem> {
    let is_listed = app.sessions.find(id).is_some();
    match app.sessions.restore(id).await {
        // A repeated request.
        Err(RestoreError::NotFound) if is_listed => {}
        restored => restored?,
    }
    // One that was removed at its end may lack it.
    keep_missing_activity(&app, read_record(&app, id).await?).await;
    let record = read_record(&app, id).await?;
    Ok(Json(with_metadata(&record).await))
}

impl From<RestoreError> for Problem {
    fn from(error: RestoreError) -> Self {
        let (status, code, next) = match &error {
            RestoreError::NotFound => (
                StatusCode::NOT_FOUND,
                "NOT_IN_TRASH",
                "only what was removed within the last hour can be restored",
            ),
            RestoreError::Exists => (
                StatusCode::CONFLICT,
                SESSION_EXISTS,
                "remove the other session first",
            ),
            RestoreError::Io(_) => return Self::internal(error),
        };
        Self::new(status, code, error, next)
    }
}

impl From<TerminateError> for Problem {
    fn from(error: TerminateError) -> Self {
        match error {
            TerminateError::NotFound => Self::session_not_found(),
            TerminateError::Link(error) => error.into(),
            error => Self::internal(error),
        }
    }
}
