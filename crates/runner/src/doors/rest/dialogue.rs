//! Dialogues: prompts, permissions, interrupts, as the agent's own JSON lines.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use bowline_jsonl::{Decision, HostRequest, Prompt, RawJson, control_request, permission};
use bowline_reducer::{PermissionState, Transcript};
use bowline_transport::wire::{Message, PromptMode, SessionKind};
use bowline_transport::{SessionId, Signal};
use bytes::Bytes;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::extract::Body;
use super::shape::{
    NewAnswer, NewInterrupt, NewPrompt, Permission, Permissions, PromptTaken, Verdict,
};
use super::talk::Talk;
use super::{history, id};
use crate::doors::problem::Problem;
use crate::serve::{Hall, Record};

/// The longest id of a prompt that a session remembers, in bytes.
const ID_BYTES: usize = 128;

/// Say something to the agent, or paste it into the terminal and enter it.
#[utoipa::path(post, path = "/api/sessions/{id}/prompt", operation_id = "prompt",
    params(("id" = String, Path, description = "The session")),
    request_body = NewPrompt,
    responses((status = 202, description = "Done", body = PromptTaken), (status = "default", description = "Not done", body = Problem)))]
pub(super) async fn prompt(
    State(hall): State<Arc<Hall>>,
    Path(name): Path<String>,
    Body(prompt): Body<NewPrompt>,
) -> Result<(StatusCode, Json<PromptTaken>), Problem> {
    let (id, record, named) = begin(&hall, &name, prompt.id).await?;
    let (bytes, mode) = match record.info.kind {
        SessionKind::Dialogue => {
            let line = Prompt {
                uuid: Some(named.clone()),
                ..Prompt::text(prompt.text)
            };
            (line.encode(), PromptMode::Line)
        }
        SessionKind::Terminal => (prompt.text.into_bytes(), PromptMode::Paste),
    };
    taken(&hall, id, named, bytes, mode).await
}

/// The session that is meant, what is known of it, and the id of what is asked: the given one, or a
/// fresh one.
async fn begin(
    hall: &Hall,
    name: &str,
    given: Option<String>,
) -> Result<(SessionId, Record, String), Problem> {
    let id = id(name)?;
    let record = history::record(hall, id).await?;
    let named = given.unwrap_or_else(|| Uuid::new_v4().to_string());
    check_id(&named)?;
    Ok((id, record, named))
}

async fn taken(
    hall: &Hall,
    id: SessionId,
    named: String,
    bytes: Vec<u8>,
    mode: PromptMode,
) -> Result<(StatusCode, Json<PromptTaken>), Problem> {
    let talk = Talk::speak(hall, id).await?;
    let state = talk.prompt(&named, Bytes::from(bytes), mode).await?;
    hall.metrics.prompts.add(1);
    Ok((StatusCode::ACCEPTED, Json(PromptTaken { id: named, state })))
}

fn check_id(id: &str) -> Result<(), Problem> {
    if (1..=ID_BYTES).contains(&id.len()) {
        return Ok(());
    }
    Err(Problem::bad_request("an id has 1 to 128 bytes"))
}

/// The agent's questions, as its output tells them.
///
/// One that was answered a moment ago is `open` until the agent has gone on.
#[utoipa::path(get, path = "/api/sessions/{id}/permissions", operation_id = "permissions",
    params(("id" = String, Path, description = "The session")),
    responses((status = 200, description = "Done", body = Permissions), (status = "default", description = "Not done", body = Problem)))]
pub(super) async fn permissions(
    State(hall): State<Arc<Hall>>,
    Path(name): Path<String>,
) -> Result<Json<Permissions>, Problem> {
    let record = dialogue(&hall, id(&name)?).await?;
    let transcript = history::fold(&hall, &record).await?;
    let permissions = transcript.permissions().map(|it| Permission {
        request_id: it.request_id().to_owned(),
        tool_use_id: it.tool_use_id().map(str::to_owned),
        tool_name: it.tool_name().to_owned(),
        input: input(it.input().as_deref()),
        state: serde_json::to_value(it.state()).unwrap_or_default(),
    });
    let permissions = permissions.collect();
    Ok(Json(Permissions { permissions }))
}

fn input(text: Option<&str>) -> Value {
    text.and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

/// Answer a question of the agent. The first answer counts.
#[utoipa::path(post, path = "/api/sessions/{id}/permissions", operation_id = "answerPermission",
    params(("id" = String, Path, description = "The session")),
    request_body = NewAnswer,
    responses((status = 202, description = "Done", body = PromptTaken), (status = "default", description = "Not done", body = Problem)))]
pub(super) async fn answer(
    State(hall): State<Arc<Hall>>,
    Path(name): Path<String>,
    Body(answer): Body<NewAnswer>,
) -> Result<(StatusCode, Json<PromptTaken>), Problem> {
    let id = id(&name)?;
    let record = dialogue(&hall, id).await?;
    let transcript = history::fold(&hall, &record).await?;
    let line = line(&transcript, &answer)?;
    let named = answer_id(&answer.request_id);
    taken(&hall, id, named, line, PromptMode::Line).await
}

fn line(transcript: &Transcript, answer: &NewAnswer) -> Result<Vec<u8>, Problem> {
    let asked = transcript.permission(&answer.request_id).ok_or_else(|| {
        let next = "list the questions with GET /api/sessions/{id}/permissions";
        let detail = "the agent has asked no such question";
        Problem::new(StatusCode::NOT_FOUND, "PERMISSION_NOT_FOUND", detail, next)
    })?;
    if asked.state() != PermissionState::Open {
        let detail = "the question is not open any more";
        let next = "list the questions with GET /api/sessions/{id}/permissions";
        return Err(Problem::new(
            StatusCode::CONFLICT,
            "PERMISSION_CLOSED",
            detail,
            next,
        ));
    }
    let input = asked.input();
    let input = input.as_deref().and_then(RawJson::parse);
    Ok(permission(&answer.request_id, &decision(answer), input))
}

fn decision(answer: &NewAnswer) -> Decision {
    let text = |value: Value| value.to_string();
    match answer.decision {
        Verdict::Allow => Decision::Allow {
            updated_input: answer.updated_input.clone().map(|it| text(it.into())),
            updated_permissions: answer.updated_permissions.clone().map(|it| text(it.into())),
        },
        Verdict::Deny => Decision::Deny {
            message: answer
                .message
                .clone()
                .unwrap_or_else(|| "denied".to_owned()),
            interrupt: answer.interrupt,
        },
    }
}

/// Names the answer to a question, so that only the first one is written.
fn answer_id(request_id: &str) -> String {
    let plain = format!("permission:{request_id}");
    if plain.len() <= ID_BYTES {
        return plain;
    }
    let hash = Sha256::digest(request_id);
    let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("permission#{digits}")
}

/// Interrupt the agent's turn, or whatever runs in the terminal.
#[utoipa::path(post, path = "/api/sessions/{id}/interrupt", operation_id = "interrupt",
    params(("id" = String, Path, description = "The session")),
    request_body = NewInterrupt,
    responses((status = 202, description = "Done", body = PromptTaken), (status = "default", description = "Not done", body = Problem)))]
pub(super) async fn interrupt(
    State(hall): State<Arc<Hall>>,
    Path(name): Path<String>,
    Body(interrupt): Body<NewInterrupt>,
) -> Result<(StatusCode, Json<PromptTaken>), Problem> {
    let (id, record, named) = begin(&hall, &name, interrupt.id).await?;
    if record.info.kind == SessionKind::Terminal {
        return signal(&hall, id, named).await;
    }
    let cancel_queued = interrupt.cancel_queued;
    let line = control_request(&named, &HostRequest::Interrupt { cancel_queued });
    taken(&hall, id, named, line, PromptMode::Line).await
}

async fn signal(
    hall: &Hall,
    id: SessionId,
    named: String,
) -> Result<(StatusCode, Json<PromptTaken>), Problem> {
    let mut talk = Talk::speak(hall, id).await?;
    talk.link.queue(Message::Signal {
        id: named.clone(),
        signal: Signal::Interrupt,
    });
    talk.link.settled().await?;
    let state = "written";
    Ok((StatusCode::ACCEPTED, Json(PromptTaken { id: named, state })))
}

pub(super) async fn dialogue(hall: &Hall, id: SessionId) -> Result<Record, Problem> {
    let record = history::record(hall, id).await?;
    if record.info.kind == SessionKind::Dialogue {
        return Ok(record);
    }
    let next = "read its log, or attach to it";
    let detail = "the session is a terminal and holds no dialogue";
    Err(Problem::new(
        StatusCode::CONFLICT,
        "NOT_A_DIALOGUE",
        detail,
        next,
    ))
}
