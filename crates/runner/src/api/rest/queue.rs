//! The queue of a conversation: prompts that wait until the agent is idle, and changes of them.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use bowline_lifecycle::{PromptPart, QueueChange, QueueEdit};
use bowline_reducer::Transcript;
use bowline_reducer::model::{QueuedPrompt as Queued, QueuedState};
use bowline_transport::SessionId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::conversation::{conversation, running_conversation};
use super::dialogue::{Receipt, dialogue_record, queued, settle};
use crate::api::extract::{JsonBody, SessionPath};
use crate::api::idempotency_key::IdempotencyKey;
use crate::api::problem::Problem;
use crate::app_state::AppState;
use crate::conversations::ConversationError;

/// The prompts that wait for their turn.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Queue)]
pub(super) struct QueueBody {
    /// In the order in which the agent will answer them.
    queue: Vec<QueuedPrompt>,
}

/// A prompt that waits for its turn.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct QueuedPrompt {
    /// Id of the prompt.
    id: String,
    /// Its text.
    text: String,
    /// `waiting` at the runner, where it can be changed, or `sent` to the agent.
    #[schema(value_type = String, example = "waiting")]
    state: QueuedState,
}

impl From<&Queued> for QueuedPrompt {
    fn from(it: &Queued) -> Self {
        Self {
            id: it.id.clone(),
            text: it.text.clone(),
            state: it.state,
        }
    }
}

/// A change of a prompt that waits: exactly one of the members.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = QueueChange)]
pub(super) struct ChangeRequest {
    /// The new text.
    #[serde(default)]
    text: Option<String>,
    /// Id of a waiting prompt. The changed one is placed before it.
    #[serde(default)]
    before: Option<String>,
    /// Id of a waiting prompt. The changed one is placed after it.
    #[serde(default)]
    after: Option<String>,
}

impl ChangeRequest {
    fn change(self) -> Result<QueueChange, Problem> {
        match (self.text, self.before, self.after) {
            (Some(text), None, None) if text.is_empty() => Ok(QueueChange::Replace(Vec::new())),
            (Some(text), None, None) => Ok(QueueChange::Replace(vec![PromptPart::Text(text)])),
            (None, Some(other), None) => Ok(QueueChange::MoveBefore(other)),
            (None, None, Some(other)) => Ok(QueueChange::MoveAfter(other)),
            _ => Err(Problem::invalid_body(
                "give exactly one of `text`, `before` and `after`",
            )),
        }
    }
}

/// The ids of a session and of a prompt in the path.
pub(super) struct QueuedPromptPath {
    session: SessionId,
    prompt: String,
}

impl<S: Send + Sync> FromRequestParts<S> for QueuedPromptPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let ids = Path::<(String, String)>::from_request_parts(parts, state).await;
        let ids = ids.ok().and_then(|Path((session, prompt))| {
            let session = session.parse().ok()?;
            Some(Self { session, prompt })
        });
        ids.ok_or_else(Problem::session_not_found)
    }
}

/// List the prompts that wait for their turn.
///
/// Those that were sent with `queue` wait at the runner until the agent is idle; each then gets a turn of its own. The
/// transcript has the same list, and events say when it changes. What waited when a session ended was not sent.
#[utoipa::path(get, path = "/api/sessions/{id}/queue", operation_id = "queue",
    params(("id" = String, Path, description = "Id of the session")),
    responses((status = 200, description = "Success", body = QueueBody), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn list(
    State(app): State<Arc<AppState>>,
    SessionPath(id): SessionPath,
) -> Result<Json<QueueBody>, Problem> {
    let record = dialogue_record(&app, id).await?;
    let queue = match running_conversation(&app, &record).await? {
        Some(conversation) => conversation.inspect(waiting).await,
        None => Vec::new(),
    };
    Ok(Json(QueueBody { queue }))
}

fn waiting(transcript: &Transcript) -> Vec<QueuedPrompt> {
    let session = transcript.session();
    session.queue().map(QueuedPrompt::from).collect()
}

/// Change the text or the place of a prompt that waits.
///
/// A prompt that was sent to the agent meanwhile is refused with the code `PROMPT_NOT_QUEUED`.
#[utoipa::path(patch, path = "/api/sessions/{id}/queue/{prompt}", operation_id = "changeQueuedPrompt",
    params(("id" = String, Path, description = "Id of the session"),
        ("prompt" = String, Path, description = "Id of the prompt")),
    request_body = ChangeRequest,
    responses((status = 202, description = "Accepted", body = super::dialogue_dto::PromptReceipt), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn change(
    State(app): State<Arc<AppState>>,
    path: QueuedPromptPath,
    key: IdempotencyKey,
    JsonBody(change): JsonBody<ChangeRequest>,
) -> Receipt {
    let change = change.change()?;
    edit(&app, path, &key, change).await
}

/// Remove a prompt that waits from the queue.
#[utoipa::path(delete, path = "/api/sessions/{id}/queue/{prompt}", operation_id = "cancelQueuedPrompt",
    params(("id" = String, Path, description = "Id of the session"),
        ("prompt" = String, Path, description = "Id of the prompt")),
    responses((status = 202, description = "Accepted", body = super::dialogue_dto::PromptReceipt), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn cancel(
    State(app): State<Arc<AppState>>,
    path: QueuedPromptPath,
    key: IdempotencyKey,
) -> Receipt {
    edit(&app, path, &key, QueueChange::Cancel).await
}

async fn edit(
    app: &AppState,
    QueuedPromptPath { session, prompt }: QueuedPromptPath,
    key: &IdempotencyKey,
    change: QueueChange,
) -> Receipt {
    let record = dialogue_record(app, session).await?;
    let conversation = conversation(app, &record).await?;
    let conversation = conversation.ok_or(ConversationError::NotDriven)?;
    let id = key.id(None, &format!("queue {prompt}"))?;
    let uuid = prompt.clone();
    settle(conversation.edit_queue(id, QueueEdit { uuid, change })).await?;
    Ok(queued(prompt))
}
