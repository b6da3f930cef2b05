//! Past conversations that agents keep on the runner's machine.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use bowline_history::{Agent, Conversation, History, HistoryError, Query};
use bowline_reducer::{End, Meta};
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use utoipa::ToSchema;

use super::log::TranscriptQuery;
use super::transcript::snapshot_body;
use super::transcript_schema::Transcript;
use crate::api::extract::QueryParams;
use crate::api::problem::Problem;
use crate::app_state::AppState;

/// Conversations per response, if the client does not say.
const DEFAULT_LIMIT: usize = 100;

/// Which past conversations are listed.
#[derive(Debug, Deserialize, utoipa::IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub(super) struct HistoryQuery {
    /// Only those of this agent: `claude` or `codex`.
    #[serde(default)]
    agent: Option<String>,
    /// Only those that began in this directory or below it.
    #[serde(default)]
    cwd: Option<String>,
    /// Only those in whose title, prompts or answers this text occurs, in any case.
    #[serde(default)]
    search: Option<String>,
    /// The maximum number of conversations. Default: 100.
    #[serde(default)]
    limit: Option<usize>,
}

/// A list of past conversations.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PastConversations {
    /// The conversations, those with the newest activity first.
    #[schema(value_type = Vec<PastConversation>)]
    conversations: Vec<Conversation>,
    /// The files that were left out.
    problems: Vec<HistoryProblem>,
}

/// A past conversation.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "the schema of Conversation")]
struct PastConversation {
    /// The agent's id of the conversation.
    id: String,
    /// `claude` or `codex`.
    agent: String,
    /// The title that the user or the agent gave it, or the beginning of the first prompt.
    title: Option<String>,
    /// The working directory that it began in.
    cwd: Option<String>,
    /// The branch of the repository.
    branch: Option<String>,
    /// The model of the last answer.
    model: Option<String>,
    /// Number of prompts.
    turns: u32,
    /// Cost in US dollars, if the agent recorded it.
    cost_usd: Option<f64>,
    /// Time of the last activity, in milliseconds since the Unix epoch.
    last_activity_ms: u64,
    /// Size of the file in bytes.
    bytes: u64,
    /// The file.
    path: String,
}

/// A file that was left out of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct HistoryProblem {
    /// The file or folder.
    #[schema(value_type = String)]
    path: PathBuf,
    /// The reason, in one line.
    reason: String,
}

/// List the conversations that Claude Code and Codex keep for the runner's user.
#[utoipa::path(get, path = "/api/history", operation_id = "history", params(HistoryQuery),
    responses((status = 200, description = "Success", body = PastConversations), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn list(
    State(app): State<Arc<AppState>>,
    QueryParams(query): QueryParams<HistoryQuery>,
) -> Result<Json<PastConversations>, Problem> {
    let query = Query {
        agent: query.agent.as_deref().map(agent).transpose()?,
        cwd: query.cwd.map(Into::into),
        search: query.search,
        limit: Some(query.limit.unwrap_or(DEFAULT_LIMIT)),
    };
    let listing = blocking(&app, move |history| history.list(&query)).await?;
    let problems = listing.problems.into_iter().map(|it| HistoryProblem {
        path: it.path,
        reason: it.reason,
    });
    Ok(Json(PastConversations {
        conversations: listing.conversations,
        problems: problems.collect(),
    }))
}

fn agent(name: &str) -> Result<Agent, Problem> {
    let found = Agent::ALL.into_iter().find(|agent| agent.name() == name);
    found.ok_or_else(|| Problem::bad_request("unknown agent; use claude or codex"))
}

/// Get a past conversation.
#[utoipa::path(get, path = "/api/history/{conversation}", operation_id = "pastConversation",
    params(("conversation" = String, Path, description = "Id of the conversation, or a beginning that no other id has")),
    responses((status = 200, description = "Success", body = PastConversation), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn get(
    State(app): State<Arc<AppState>>,
    Path(conversation): Path<String>,
) -> Result<Json<Conversation>, Problem> {
    let found = blocking(&app, move |history| history.find(&conversation));
    Ok(Json(found.await?))
}

/// Read a past conversation as a transcript, whose entries have `history` set in schema 2.
#[utoipa::path(get, path = "/api/history/{conversation}/transcript", operation_id = "pastTranscript",
    params(("conversation" = String, Path, description = "Id of the conversation, or a beginning that no other id has"), TranscriptQuery),
    responses((status = 200, description = "Success", content_type = "application/json", body = Transcript),
        (status = "default", description = "Error", body = Problem)))]
pub(super) async fn transcript(
    State(app): State<Arc<AppState>>,
    Path(conversation): Path<String>,
    QueryParams(query): QueryParams<TranscriptQuery>,
) -> Result<Response, Problem> {
    let schema = query.schema()?;
    let snapshot = blocking(&app, move |history| {
        let mut transcript = history.open(&conversation)?.transcript();
        transcript.end(End::Recording, Meta::default());
        Ok(transcript.snapshot())
    });
    let mut response = Response::new(snapshot_body(&snapshot.await?, schema));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

/// Reads the history of the runner's user on a thread for blocking work, a few requests at a time.
async fn blocking<T: Send + 'static>(
    app: &AppState,
    read: impl FnOnce(&History) -> Result<T, HistoryError> + Send + 'static,
) -> Result<T, Problem> {
    let _permit = app.transcripts.permit().await;
    let work = move || read(&History::of_user(|name| std::env::var_os(name)));
    Ok(spawn_blocking(work).await.map_err(Problem::internal)??)
}

impl From<HistoryError> for Problem {
    fn from(error: HistoryError) -> Self {
        let next = "list the conversations with GET /api/history";
        let (status, code) = match error {
            HistoryError::NoHistory { .. } | HistoryError::NotFound { .. } => {
                (StatusCode::NOT_FOUND, "CONVERSATION_NOT_FOUND")
            }
            HistoryError::Ambiguous { .. } => (StatusCode::CONFLICT, "AMBIGUOUS_ID"),
            error => return Self::internal(error),
        };
        Self::new(status, code, error, next)
    }
}
