//! `assistant`, `user` and `stream_event` lines.

use serde_json::{Map, Value, json};

use super::{AgentThread, TaskInfo, fields};
use crate::clock;
use crate::session::{Session, Tokens, new_uuid};

/// The ids of an API message.
#[derive(Clone, Debug)]
pub(crate) struct MessageIds {
    pub(crate) message_id: String,
    pub(crate) request_id: String,
    pub(crate) model: String,
    pub(crate) input_tokens: u64,
}

/// Returns the `usage` of a message.
pub(crate) fn blocks_usage(tokens: Tokens) -> Value {
    json!({
        "input_tokens": tokens.input,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": tokens.output,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "service_tier": "standard",
    })
}

/// Returns the line of a finished block. `prompts` are the uuids that the first line of a turn has.
pub(crate) fn assistant(
    session: &Session,
    thread: &AgentThread,
    line: &MessageIds,
    block: &Value,
    prompts: &[String],
) -> Map<String, Value> {
    let usage = Tokens {
        input: line.input_tokens,
        output: 1,
        thinking: 0,
    };
    let mut map = fields(json!({
        "type": "assistant",
        "message": {
            "id": line.message_id,
            "type": "message",
            "role": "assistant",
            "model": line.model,
            "content": [block],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": blocks_usage(usage),
            "context_management": null,
        },
        "parent_tool_use_id": thread.parent(),
    }));
    add_identity(&mut map, session, thread.task.as_ref());
    map.insert("request_id".to_owned(), line.request_id.clone().into());
    add_prompts(&mut map, prompts);
    add_labels(&mut map, thread.task.as_ref());
    map
}

/// Returns the message that the agent generates for an API failure.
pub(crate) fn synthetic(
    session: &Session,
    text: &str,
    error: &str,
    status: u16,
    request_id: &str,
) -> Value {
    let usage = json!({
        "output_tokens_details": null, "input_tokens": 0, "output_tokens": 0,
        "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": null,
        "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
        "inference_geo": null, "iterations": null, "speed": null, "fallback_credit": null,
    });
    json!({
        "type": "assistant",
        "message": {
            "diagnostics": null, "id": new_uuid(), "container": null, "model": "<synthetic>",
            "role": "assistant", "stop_details": null, "stop_reason": "stop_sequence",
            "stop_sequence": "", "type": "message", "usage": usage,
            "content": [{"type": "text", "text": text}], "context_management": null,
        },
        "parent_tool_use_id": null,
        "session_id": session.id,
        "uuid": new_uuid(),
        "timestamp": clock::timestamp(),
        "error": error,
        "request_id": request_id,
        "is_api_error_message": true,
        "api_error_status": status,
    })
}

/// Returns a user line that the agent generates: a marker, or the prompt of a sub-agent.
pub(crate) fn user_text(session: &Session, thread: &AgentThread, text: &str) -> Map<String, Value> {
    let mut map = fields(json!({
        "type": "user",
        "message": {"role": "user", "content": [{"type": "text", "text": text}]},
        "parent_tool_use_id": thread.parent(),
    }));
    add_identity(&mut map, session, thread.task.as_ref());
    add_labels(&mut map, thread.task.as_ref());
    map
}

/// Returns a tool result. `structured` is `tool_use_result`, which sub-agents do not have, and
/// `meta` is `tool_result_meta`.
pub(crate) fn tool_result(
    session: &Session,
    thread: &AgentThread,
    block: &Value,
    structured: &Value,
    meta: Option<Value>,
) -> Value {
    let mut map = fields(json!({
        "type": "user",
        "message": {"role": "user", "content": [block]},
        "parent_tool_use_id": thread.parent(),
    }));
    add_identity(&mut map, session, thread.task.as_ref());
    if thread.task.is_none() && !structured.is_null() {
        map.insert("tool_use_result".to_owned(), structured.clone());
    }
    if let Some(meta) = meta {
        map.insert("tool_result_meta".to_owned(), json!([meta]));
    }
    add_labels(&mut map, thread.task.as_ref());
    map.into()
}

/// Returns the echo of a host's message (`--replay-user-messages`).
pub(crate) fn user_echo(session: &Session, content: &Value, uuid: &str, dated: bool) -> Value {
    let mut map = fields(json!({
        "type": "user",
        "message": {"role": "user", "content": content},
        "session_id": session.id,
        "parent_tool_use_id": null,
        "uuid": uuid,
    }));
    if dated {
        map.insert("timestamp".to_owned(), clock::timestamp().into());
    }
    map.insert("isReplay".to_owned(), true.into());
    map.into()
}

/// Returns the output of a local command, which is printed without the replay flag, too.
pub(crate) fn user_local(session: &Session, text: &str) -> Value {
    let content = format!("<local-command-stdout>{text}</local-command-stdout>");
    user_echo(session, &content.into(), &new_uuid(), true)
}

/// Returns a stream event of the main thread.
pub(crate) fn stream_event(
    session: &Session,
    event: Value,
    message_id: &str,
    prompts: &[String],
) -> Map<String, Value> {
    let opens = event["type"] == "message_start";
    let mut map = fields(json!({
        "type": "stream_event",
        "event": event,
        "session_id": session.id,
        "parent_tool_use_id": null,
        "uuid": new_uuid(),
    }));
    if opens {
        map.insert("ttft_ms".to_owned(), 12.into());
        map.insert("thinking_display".to_owned(), "updates".into());
    }
    add_prompts(&mut map, prompts);
    map.insert("api_message_id".to_owned(), message_id.into());
    map
}

fn add_identity(map: &mut Map<String, Value>, session: &Session, task: Option<&TaskInfo>) {
    if let Some(task) = task {
        map.insert("agent_id".to_owned(), task.task_id.clone().into());
    }
    map.insert("session_id".to_owned(), session.id.clone().into());
    map.insert("uuid".to_owned(), new_uuid().into());
    map.insert("timestamp".to_owned(), clock::timestamp().into());
}

fn add_labels(map: &mut Map<String, Value>, task: Option<&TaskInfo>) {
    if let Some(task) = task {
        map.insert("subagent_type".to_owned(), task.kind.clone().into());
        map.insert(
            "task_description".to_owned(),
            task.description.clone().into(),
        );
    }
}

fn add_prompts(map: &mut Map<String, Value>, prompts: &[String]) {
    if let Some(last) = prompts.last() {
        map.insert("user_message_uuid".to_owned(), last.clone().into());
        map.insert("user_message_uuids".to_owned(), json!(prompts));
    }
}
