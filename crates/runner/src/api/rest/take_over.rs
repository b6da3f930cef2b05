//! Continues a session of another runner of the fleet at this one.

use std::path::{Path, PathBuf};

use axum::http::StatusCode;
use bowline_lifecycle::control::GENERATION_LABEL;
use bowline_lifecycle::{DialectName, Environment, Prompt, agent_directory};
use bowline_transport::{RESERVED_LABELS, SessionId};
use bytes::Bytes;
use serde::Deserialize;
use tokio::task::spawn_blocking;

use super::claim::{start_claimed, writer_of_agent};
use crate::api::problem::Problem;
use crate::app_state::AppState;
use crate::conversation_files::{UnpackError, unpack_conversation};
use crate::conversations::StartConversation;
use crate::other_runners::{MovableSession, OtherRunnerError, conversation_of};
use crate::shim::ShimStarted;

/// The member of a request that names the session to continue.
pub(super) const TAKE_OVER: &str = "take_over";

/// A session to continue. The others of its properties are those that its runner had listed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TakeOverRequest {
    take_over: SessionId,
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default)]
    prompt: Option<String>,
}

impl TakeOverRequest {
    pub(super) fn id(&self) -> SessionId {
        self.take_over
    }
}

/// Starts the agent with the conversation of the session, in a new epoch of the session and with the next generation.
pub(super) async fn take_over(
    app: &AppState,
    request: TakeOverRequest,
) -> Result<ShimStarted, Problem> {
    let runners = app.other_runners().ok_or_else(Problem::no_fleet)?;
    let moved = runners.movable(request.take_over).await;
    let mut moved = moved.map_err(|error| problem(error, request.take_over))?;
    let files = moved.files.take();
    let start = start_of(moved, request)?;
    let files = files.ok_or_else(|| {
        let detail = "the fleet has no copy of the conversation's files";
        not_movable(detail, "wait until its turn has ended at its runner")
    })?;
    let writer = writer_of_agent(&start);
    let agent = start.agent.clone();
    let starting = async {
        place(&start, files).await?;
        Ok(app.conversations.start(start).await?)
    };
    let (started, _) = start_claimed(app, writer, starting).await?;
    app.metrics.created_by_agent.add(Some(&agent));
    Ok(started)
}

/// Returns the conversation to start, as the session's runner has listed it.
fn start_of(moved: MovableSession, request: TakeOverRequest) -> Result<StartConversation, Problem> {
    let session = moved.summary;
    let Some((dialect, conversation)) = conversation_of(&session) else {
        let detail = "the session has no conversation that is known";
        return Err(not_movable(detail, "start a new session"));
    };
    if dialect != DialectName::Claude {
        let detail = format!("conversations of {dialect} cannot be moved");
        return Err(not_movable(&detail, "resume it on its machine"));
    }
    let resume = Some(conversation.to_owned());
    let cwd = request.cwd.or_else(|| session.cwd.map(PathBuf::from));
    let cwd = cwd.filter(|it| it.is_dir()).ok_or_else(|| {
        let (status, code) = (StatusCode::UNPROCESSABLE_ENTITY, "DIRECTORY_NOT_FOUND");
        let detail = "the working directory of the session does not exist here";
        let next = "create it, or pass another one as `cwd` (--cwd)";
        Problem::new(status, code, detail, next)
    })?;
    let mut labels = session.labels;
    labels.retain(|name, _| !name.starts_with(RESERVED_LABELS));
    let generation = moved.generation.to_string();
    labels.insert(GENERATION_LABEL.to_owned(), generation);
    Ok(StartConversation {
        id: request.take_over,
        dialect: Some(dialect),
        cwd: Some(cwd),
        name: session.name,
        labels,
        model: session.activity.model,
        resume,
        prompt: request.prompt.map(Prompt::text),
        ..StartConversation::new(session.program)
    })
}

/// Writes the files of the conversation to the agent's folder.
async fn place(start: &StartConversation, files: Bytes) -> Result<(), Problem> {
    let (cwd, conversation) = (start.cwd.clone(), start.resume.clone());
    let written = spawn_blocking(move || {
        let agent = agent_directory(&Environment::inherited());
        let cwd = cwd.unwrap_or_else(|| Path::new("/").to_owned());
        unpack_conversation(&agent, &cwd, &conversation.unwrap_or_default(), &files)
    });
    let written = written.await.map_err(Problem::internal)?;
    written.map_err(|error| {
        let next = match &error {
            UnpackError::LongPath(_) => "pass a shorter `cwd` (--cwd)",
            UnpackError::Exists(_) => "move the file away",
            _ => "check the agent's folder",
        };
        not_movable(&error.to_string(), next)
    })
}

fn not_movable(detail: &str, next: &str) -> Problem {
    Problem::new(StatusCode::CONFLICT, "NOT_MOVABLE", detail, next)
}

fn problem(error: OtherRunnerError, id: SessionId) -> Problem {
    match &error {
        OtherRunnerError::Unknown => Problem::session_not_found(),
        OtherRunnerError::Running { .. } => {
            let next = format!("end it first with `bowline kill --fleet {id}`");
            Problem::new(StatusCode::CONFLICT, "SESSION_RUNS", error, next)
        }
        _ => Problem::fleet_failed(&error),
    }
}
