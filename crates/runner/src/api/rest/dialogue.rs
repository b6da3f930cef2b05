//! Dialogues: prompts, permissions and interrupts, written as the agent's own JSON lines.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use bowline_jsonl::{
    Decision, HostRequest, Priority, Prompt, RawJson, control_request, permission,
};
use bowline_lifecycle::{DialogueSession, Intent, PermissionAnswer as Choice};
use bowline_reducer::model::AnsweredBy;
use bowline_reducer::{Permission as PermissionView, PermissionState, Transcript};
use bowline_transport::wire::{Message, PromptMode, SessionKind};
use bowline_transport::{SessionId, Signal};
use bytes::Bytes;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::time::timeout;

use super::attachments::prompt_with;
use super::conversation::{conversation, running_conversation};
use super::dialogue_dto::{
    InterruptRequest, OptionRequest, PermissionAnswer, PermissionDecision, PermissionOption,
    PermissionRequest, Permissions, PromptReceipt, PromptRequest,
};
use super::shim_client::{ShimClient, read_record};
use super::transcript::read_transcript;
use crate::api::extract::{JsonBody, SessionPath};
use crate::api::idempotency_key::IdempotencyKey;
use crate::api::problem::Problem;
use crate::app_state::AppState;
use crate::conversations::{Conversation, ConversationError};
use crate::sessions::SessionRecord;

/// How long a request waits for the agent's reply.
const REPLY_TIMEOUT: Duration = Duration::from_secs(10);

/// The code of the refusal of an answer that comes too late.
pub(super) const PERMISSION_CLOSED: &str = "PERMISSION_CLOSED";

/// How long the refusal of an answer waits until the first one is in the transcript.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum length of a prompt's id, in bytes.
const MAX_ID_BYTES: usize = 128;

pub(super) type Receipt = Result<(StatusCode, Json<PromptReceipt>), Problem>;

/// Send a prompt to the agent, or paste text into the terminal and submit it.
#[utoipa::path(post, path = "/api/sessions/{id}/prompt", operation_id = "prompt",
    params(("id" = String, Path, description = "Id of the session")),
    request_body = PromptRequest,
    responses((status = 202, description = "Accepted", body = PromptReceipt), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn prompt(
    State(app): State<Arc<AppState>>,
    SessionPath(id): SessionPath,
    key: IdempotencyKey,
    JsonBody(prompt): JsonBody<PromptRequest>,
) -> Receipt {
    let record = read_record(&app, id).await?;
    let prompt_id = key.id(prompt.id, "prompt")?;
    if let Some(conversation) = conversation(&app, &record).await? {
        let prompt = Prompt {
            uuid: Some(prompt_id),
            priority: prompt.queue.then_some(Priority::Later),
            ..prompt_with(prompt.text, prompt.attachments)?
        };
        let id = conversation.prompt(prompt).await?;
        app.metrics.prompts.add(1);
        return Ok(queued(id));
    }
    if prompt.queue {
        return Err(ConversationError::NotDriven.into());
    }
    let (bytes, mode) = match record.info.kind {
        SessionKind::Dialogue => {
            let line = Prompt {
                uuid: Some(prompt_id.clone()),
                ..prompt_with(prompt.text, prompt.attachments)?
            };
            (line.encode(), PromptMode::Line)
        }
        SessionKind::Terminal if !prompt.attachments.is_empty() => {
            return Err(Problem::bad_request(
                "a terminal takes no attachments; send text alone",
            ));
        }
        SessionKind::Terminal => (prompt.text.into_bytes(), PromptMode::Paste),
    };
    send(&app, record.info.id, prompt_id, bytes, mode).await
}

/// A prompt that is recorded takes effect, also after a restart of the daemon.
pub(super) fn queued(id: String) -> (StatusCode, Json<PromptReceipt>) {
    let state = "queued";
    (StatusCode::ACCEPTED, Json(PromptReceipt { id, state }))
}

async fn send(
    app: &AppState,
    session: SessionId,
    id: String,
    bytes: Vec<u8>,
    mode: PromptMode,
) -> Receipt {
    let client = ShimClient::attach_to_append(app, session).await?;
    let state = client.prompt(&id, Bytes::from(bytes), mode).await?;
    app.metrics.prompts.add(1);
    Ok((StatusCode::ACCEPTED, Json(PromptReceipt { id, state })))
}

/// List the permission requests of the agent.
///
/// A request that was just answered stays `open` until the agent continues.
#[utoipa::path(get, path = "/api/sessions/{id}/permissions", operation_id = "permissions",
    params(("id" = String, Path, description = "Id of the session")),
    responses((status = 200, description = "Success", body = Permissions), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn list_permissions(
    State(app): State<Arc<AppState>>,
    SessionPath(id): SessionPath,
) -> Result<Json<Permissions>, Problem> {
    let record = dialogue_record(&app, id).await?;
    let permissions = match running_conversation(&app, &record).await? {
        Some(conversation) => conversation.inspect(permissions).await,
        None => read_transcript(&app, record, |it| permissions(it)).await?,
    };
    Ok(Json(Permissions { permissions }))
}

fn permissions(transcript: &Transcript) -> Vec<PermissionRequest> {
    transcript.permissions().map(permission_request).collect()
}

pub(in crate::api) fn permission_request(it: PermissionView<'_>) -> PermissionRequest {
    let asked = it.asked();
    PermissionRequest {
        request_id: it.request_id().to_owned(),
        tool_use_id: it.tool_use_id().map(str::to_owned),
        tool_name: it.tool_name().to_owned(),
        input: parse_json(it.input().as_deref()),
        options: asked.options.iter().map(PermissionOption::from).collect(),
        state: serde_json::to_value(it.state()).unwrap_or_default(),
        kind: asked.kind,
        questions: asked.questions.into_owned(),
        url: asked.url.map(str::to_owned),
        thread: it.thread().map(str::to_owned),
        rule: asked.rule.map(Cow::into_owned),
        at_ms: it.at_ms(),
        bytes: [it.bytes().start, it.bytes().end],
        decided_by: it.answered().cloned(),
    }
}

fn parse_json(text: Option<&str>) -> Value {
    text.and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

/// Answer a permission request. The first answer counts.
///
/// A later one is refused with the code `PERMISSION_CLOSED`; `decided_by` has the author, kind and time of the first answer.
#[utoipa::path(post, path = "/api/sessions/{id}/permissions", operation_id = "answerPermission",
    params(("id" = String, Path, description = "Id of the session")),
    request_body = PermissionAnswer,
    responses((status = 202, description = "Accepted", body = PromptReceipt), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn answer_permission(
    State(app): State<Arc<AppState>>,
    SessionPath(id): SessionPath,
    key: IdempotencyKey,
    JsonBody(answer): JsonBody<PermissionAnswer>,
) -> Receipt {
    let record = dialogue_record(&app, id).await?;
    let request_id = answer.request_id.clone();
    match give_answer(&app, record, &key, answer).await {
        Err(problem) if problem.code == PERMISSION_CLOSED => Err(Problem {
            decided_by: decided_by(&app, id, request_id).await.map(Box::new),
            ..problem
        }),
        answered => answered,
    }
}

async fn give_answer(
    app: &Arc<AppState>,
    record: SessionRecord,
    key: &IdempotencyKey,
    answer: PermissionAnswer,
) -> Receipt {
    let id = record.info.id;
    if let Some(conversation) = conversation(app, &record).await? {
        let id = answer_id(&answer.request_id);
        let choice = choice(&answer)?;
        let answer_id = key.uuid("answer").map(|it| it.to_string());
        let answered = conversation.answer(answer_id, answer.request_id, choice, answer.by);
        answered.await?;
        return Ok(queued(id));
    }
    let answer_id = answer_id(&answer.request_id);
    let line = move |transcript: &mut Transcript| answer_line(transcript, &answer);
    let line = read_transcript(app, record, line).await??;
    let sent = send(app, id, answer_id, line, PromptMode::Line).await;
    // The id of an answer is reused by another answer to the same request.
    sent.map_err(|problem| match problem.code {
        "ID_REUSED" => permission_closed(),
        _ => problem,
    })
}

/// Returns the author, kind and time of the answer to a permission request, as far as they are known.
async fn decided_by(app: &Arc<AppState>, id: SessionId, request_id: String) -> Option<AnsweredBy> {
    let record = read_record(app, id).await.ok()?;
    match running_conversation(app, &record).await.ok()? {
        Some(conversation) => {
            let answered = answered(conversation.session(), request_id);
            timeout(ANSWER_TIMEOUT, answered).await.ok()?
        }
        None => {
            let read = move |it: &mut Transcript| {
                let request = it.permission(&request_id)?;
                request.answered().cloned()
            };
            read_transcript(app, record, read).await.ok().flatten()
        }
    }
}

/// Waits until the answer of another client, which is on its way to the agent, is in the transcript.
async fn answered(session: &DialogueSession, request_id: String) -> Option<AnsweredBy> {
    loop {
        let id = request_id.clone();
        let read = session.inspect(move |transcript| {
            let request = transcript.permission(&id)?;
            let is_open = request.state() == PermissionState::Open;
            Some((is_open, request.answered().cloned(), transcript.revision()))
        });
        match read.await? {
            (true, _, revision) if !session.has_ended() => session.changed_since(revision).await,
            (_, answered, _) => return answered,
        }
    }
}

fn permission_closed() -> Problem {
    let detail = "permission request was already answered or cancelled";
    let next = "list the permission requests with GET /api/sessions/{id}/permissions";
    Problem::new(StatusCode::CONFLICT, PERMISSION_CLOSED, detail, next)
}

fn answer_line(transcript: &Transcript, answer: &PermissionAnswer) -> Result<Vec<u8>, Problem> {
    let next = "list the permission requests with GET /api/sessions/{id}/permissions";
    let request = transcript.permission(&answer.request_id).ok_or_else(|| {
        let detail = "permission request not found";
        Problem::new(StatusCode::NOT_FOUND, "PERMISSION_NOT_FOUND", detail, next)
    })?;
    if request.state() != PermissionState::Open {
        return Err(permission_closed());
    }
    let input = request.input();
    let input = input.as_deref().and_then(RawJson::parse);
    let decision = decision(answer).ok_or_else(no_decision)?;
    Ok(permission(&answer.request_id, &decision, input))
}

fn no_decision() -> Problem {
    Problem::bad_request("`decision` is missing: `allow` or `deny`")
}

/// Returns the answer to give in a conversation.
fn choice(answer: &PermissionAnswer) -> Result<Choice, Problem> {
    match (&answer.option, &answer.answers) {
        (Some(option), _) => Ok(Choice::Option(option.clone())),
        (None, Some(answers)) => Ok(Choice::Answers(answers.clone().into_iter().collect())),
        (None, None) => Ok(decision(answer).ok_or_else(no_decision)?.into()),
    }
}

fn decision(answer: &PermissionAnswer) -> Option<Decision> {
    let text = |value: Value| value.to_string();
    Some(match answer.decision? {
        PermissionDecision::Allow => Decision::Allow {
            updated_input: answer.updated_input.clone().map(|it| text(it.into())),
            updated_permissions: answer.updated_permissions.clone().map(|it| text(it.into())),
        },
        PermissionDecision::Deny => Decision::Deny {
            message: answer
                .message
                .clone()
                .unwrap_or_else(|| "denied".to_owned()),
            interrupt: answer.interrupt,
        },
    })
}

/// Returns the id of the answer to a permission request, which is the same for all clients, so that
/// only the first answer is written.
fn answer_id(request_id: &str) -> String {
    short_id("permission", request_id)
}

/// Returns an id of a kind for another id, within the limit on the length of ids.
fn short_id(kind: &str, id: &str) -> String {
    let plain = format!("{kind}:{id}");
    if plain.len() <= MAX_ID_BYTES {
        return plain;
    }
    let hash = Sha256::digest(id);
    let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{kind}#{digits}")
}

/// Interrupt the agent's turn, or the foreground program of the terminal.
#[utoipa::path(post, path = "/api/sessions/{id}/interrupt", operation_id = "interrupt",
    params(("id" = String, Path, description = "Id of the session")),
    request_body = InterruptRequest,
    responses((status = 202, description = "Accepted", body = PromptReceipt), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn interrupt(
    State(app): State<Arc<AppState>>,
    SessionPath(id): SessionPath,
    key: IdempotencyKey,
    JsonBody(interrupt): JsonBody<InterruptRequest>,
) -> Receipt {
    let record = read_record(&app, id).await?;
    let (session, request_id) = (record.info.id, key.id(interrupt.id, "interrupt")?);
    if record.info.kind == SessionKind::Terminal {
        return send_signal(&app, session, request_id).await;
    }
    let (cancel_queued, seen) = (interrupt.cancel_queued, interrupt.seen);
    let conversation = conversation(&app, &record).await?;
    if let Some(task_id) = interrupt.task {
        if cancel_queued || interrupt.tasks {
            let detail = "`task` stops one task; use it without `tasks` and `cancel_queued`";
            return Err(Problem::bad_request(detail));
        }
        if let Some(conversation) = conversation {
            let stop = Intent::StopTask { task_id };
            settle(conversation.submit(request_id.clone(), stop)).await?;
            return Ok(queued(request_id));
        }
        let line = control_request(&request_id, &HostRequest::StopTask { task_id });
        return send(&app, session, request_id, line, PromptMode::Line).await;
    }
    if let Some(conversation) = conversation {
        let id = Some(request_id.clone());
        settle(conversation.interrupt(id, cancel_queued, seen)).await?;
        if interrupt.tasks {
            stop_open_tasks(&conversation, &request_id).await?;
        }
        return Ok(queued(request_id));
    }
    if interrupt.tasks {
        return Err(ConversationError::NotDriven.into());
    }
    let line = control_request(&request_id, &HostRequest::Interrupt { cancel_queued });
    send(&app, session, request_id, line, PromptMode::Line).await
}

/// Stops the background tasks that are open. One that ends meanwhile needs no stop.
async fn stop_open_tasks(conversation: &Conversation, request_id: &str) -> Result<(), Problem> {
    for task_id in open_tasks(conversation).await {
        // A repeated request stops each task once.
        let id = short_id("stop", &format!("{request_id}:{task_id}"));
        let intent = Intent::StopTask {
            task_id: task_id.clone(),
        };
        let stopped = settle(conversation.submit(id, intent)).await;
        if stopped.is_err() && open_tasks(conversation).await.contains(&task_id) {
            return stopped;
        }
    }
    Ok(())
}

async fn open_tasks(conversation: &Conversation) -> Vec<String> {
    let snapshot = conversation.session().snapshot().await;
    let open = snapshot.tasks().filter(|task| task.state().is_open());
    open.map(|task| task.id().to_owned()).collect()
}

/// Waits for the agent's reply to a request, for a while. The request takes effect either way.
pub(super) async fn settle(
    outcome: impl Future<Output = Result<(), ConversationError>>,
) -> Result<(), Problem> {
    match timeout(REPLY_TIMEOUT, outcome).await {
        Ok(outcome) => Ok(outcome?),
        Err(_) => Ok(()),
    }
}

/// Change an option of a conversation, such as its model or its permission mode.
#[utoipa::path(post, path = "/api/sessions/{id}/options", operation_id = "setOption",
    params(("id" = String, Path, description = "Id of the session")),
    request_body = OptionRequest,
    responses((status = 202, description = "Accepted", body = PromptReceipt), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn set_option(
    State(app): State<Arc<AppState>>,
    SessionPath(id): SessionPath,
    key: IdempotencyKey,
    JsonBody(change): JsonBody<OptionRequest>,
) -> Receipt {
    let record = dialogue_record(&app, id).await?;
    let request_id = key.id(change.id, "option")?;
    let conversation = conversation(&app, &record).await?;
    let conversation = conversation.ok_or(ConversationError::NotDriven)?;
    let id = Some(request_id.clone());
    settle(conversation.set_option(id, change.option, change.value)).await?;
    Ok(queued(request_id))
}

async fn send_signal(app: &AppState, session: SessionId, id: String) -> Receipt {
    let mut client = ShimClient::attach_to_append(app, session).await?;
    client.link.queue(Message::Signal {
        id: id.clone(),
        signal: Signal::Interrupt,
    });
    client.link.flush_and_settle().await?;
    let state = "written";
    Ok((StatusCode::ACCEPTED, Json(PromptReceipt { id, state })))
}

/// Reads the record of a session that must be a dialogue.
pub(super) async fn dialogue_record(
    app: &AppState,
    id: SessionId,
) -> Result<SessionRecord, Problem> {
    let record = read_record(app, id).await?;
    if record.info.kind == SessionKind::Dialogue {
        return Ok(record);
    }
    let next = "read its log, or attach to it";
    let detail = "the session is a terminal, not a dialogue";
    let status = StatusCode::CONFLICT;
    Err(Problem::new(status, "NOT_A_DIALOGUE", detail, next))
}
