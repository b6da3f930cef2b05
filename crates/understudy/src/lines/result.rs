//! `result` lines. Their `type` is not the first key, as in the recordings.

use serde_json::{Map, Value, json};

use super::fields;
use crate::session::{Session, Tokens, new_uuid};

/// The end of a turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct TurnEnd {
    pub(crate) subtype: String,
    pub(crate) is_error: bool,
    /// `None` for local commands.
    pub(crate) terminal_reason: Option<String>,
    pub(crate) stop_reason: Value,
    /// Text of a success; `None` omits the key.
    pub(crate) text: Option<String>,
    pub(crate) errors: Vec<String>,
    pub(crate) api_status: Option<u16>,
    pub(crate) num_turns: u64,
    pub(crate) duration_ms: u64,
    pub(crate) tokens: Tokens,
    pub(crate) denials: Vec<Value>,
    pub(crate) begun: Vec<String>,
    pub(crate) prompts: Vec<String>,
    pub(crate) origin: Option<Value>,
    pub(crate) queued: usize,
    pub(crate) set: Map<String, Value>,
    pub(crate) unset: Vec<String>,
}

/// Returns the line and updates the usage since the last result.
pub(crate) fn result(session: &mut Session, end: &TurnEnd) -> Value {
    let mut map = fields(json!({
        "duration_api_ms": end.duration_ms / 2,
        "stop_reason": end.stop_reason,
        "session_id": session.id,
        "total_cost_usd": session.usage.cost,
        "usage": turn_usage(end.tokens),
        "modelUsage": model_usage(session, session.usage.total, session.usage.cost),
        "permission_denials": end.denials,
    }));
    insert(
        &mut map,
        "terminal_reason",
        end.terminal_reason.clone().map(Value::from),
    );
    insert(&mut map, "fast_mode_state", Some("off".into()));
    insert(
        &mut map,
        "fast_mode_disabled_reason",
        Some("sdk_opt_in_required".into()),
    );
    insert(&mut map, "origin", end.origin.clone());
    map.append(&mut fields(json!({
        "subagent_stats": session.usage.agents.to_json(),
        "safety_stops": 0,
        "is_error": end.is_error,
        "num_turns": end.num_turns,
        "subtype": end.subtype,
    })));
    outcome(&mut map, end);
    delivery(&mut map, session, end);
    for (key, value) in &end.set {
        map.insert(key.clone(), value.clone());
    }
    for key in &end.unset {
        map.shift_remove(key);
    }
    map.into()
}

fn outcome(map: &mut Map<String, Value>, end: &TurnEnd) {
    let local = end.terminal_reason.is_none();
    match &end.text {
        Some(text) => {
            if !local {
                map.insert("api_error_status".to_owned(), json!(end.api_status));
            }
            map.insert("result".to_owned(), text.clone().into());
            if !local && end.api_status.is_none() {
                map.insert("ttft_ms".to_owned(), end.duration_ms.min(12).into());
            }
        }
        None => insert(map, "errors", Some(json!(end.errors))),
    }
}

fn delivery(map: &mut Map<String, Value>, session: &mut Session, end: &TurnEnd) {
    map.insert("type".to_owned(), "result".into());
    map.insert("duration_ms".to_owned(), end.duration_ms.into());
    map.insert("uuid".to_owned(), new_uuid().into());
    if session.partials && !end.begun.is_empty() {
        map.insert("begun_message_ids".to_owned(), json!(end.begun));
    }
    if let Some(last) = end.prompts.last() {
        map.insert("user_message_uuid".to_owned(), last.clone().into());
        map.insert("user_message_uuids".to_owned(), json!(end.prompts));
    }
    let totals = &session.usage;
    let since = model_usage(
        session,
        totals.since_result,
        totals.cost - totals.cost_before,
    );
    map.insert("queued_turn_count".to_owned(), end.queued.into());
    map.insert("result_index".to_owned(), totals.results.into());
    map.insert("model_usage_since_last_result".to_owned(), since);
    session.usage.results += 1;
    session.usage.since_result = Tokens::default();
    session.usage.cost_before = session.usage.cost;
}

/// Returns the only line of a `--resume` with an unknown session.
pub(crate) fn unknown_session(id: &str) -> Value {
    json!({
        "type": "result", "subtype": "error_during_execution", "duration_ms": 0,
        "duration_api_ms": 0, "is_error": true, "num_turns": 0, "stop_reason": null,
        "session_id": id, "total_cost_usd": 0, "usage": turn_usage(Tokens::default()),
        "modelUsage": {}, "permission_denials": [], "uuid": new_uuid(),
        "errors": [format!("No conversation found with session ID: {id}")], "result_index": 0,
    })
}

fn insert(map: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        map.insert(key.to_owned(), value);
    }
}

fn turn_usage(tokens: Tokens) -> Value {
    json!({
        "input_tokens": tokens.input,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": tokens.output,
        "output_tokens_details": {"thinking_tokens": tokens.thinking},
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard",
        "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
        "inference_geo": "",
        "iterations": [],
        "speed": "standard",
        "fallback_credit": null,
    })
}

fn model_usage(session: &Session, tokens: Tokens, cost: f64) -> Value {
    if tokens.input + tokens.output == 0 {
        return json!({});
    }
    json!({ &session.model: {
        "inputTokens": tokens.input,
        "outputTokens": tokens.output,
        "cacheReadInputTokens": 0,
        "cacheCreationInputTokens": 0,
        "webSearchRequests": 0,
        "costUSD": cost,
        "contextWindow": 1_000_000,
        "maxOutputTokens": 128_000,
        "thinkingTokens": tokens.thinking,
        "cacheCreationEphemeral5mInputTokens": 0,
        "cacheCreationEphemeral1hInputTokens": 0,
        "canonicalModel": session.model,
        "provider": "firstParty",
        "costBasis": "list",
    }})
}
