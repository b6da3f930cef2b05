//! Control lines: responses to the host, requests to the host.

use serde_json::{Map, Value, json};

use super::init::{AGENTS, commands};
use super::{AgentThread, fields};
use crate::session::Session;

/// Returns a success response. As in the agent, it has no `response` key without a payload.
pub(crate) fn success(request_id: &Value, payload: Option<Value>) -> Value {
    let mut body = fields(json!({"subtype": "success", "request_id": request_id}));
    if let Some(payload) = payload {
        body.insert("response".to_owned(), payload);
    }
    json!({"type": "control_response", "response": body})
}

pub(crate) fn failure(request_id: &Value, error: &str, code: Option<&str>) -> Value {
    let mut body = fields(json!({"subtype": "error", "request_id": request_id, "error": error}));
    if let Some(code) = code {
        body.insert("error_code".to_owned(), code.into());
    }
    json!({"type": "control_response", "response": body})
}

/// Returns the withdrawal of a request.
pub(crate) fn cancel(request_id: &str) -> Value {
    json!({"type": "control_cancel_request", "request_id": request_id})
}

/// Returns a permission request for a tool call.
pub(crate) fn can_use_tool(
    request_id: &str,
    thread: &AgentThread,
    name: &str,
    tool_use_id: &str,
    input: &Map<String, Value>,
) -> Value {
    let mut request = fields(json!({
        "subtype": "can_use_tool",
        "tool_name": name,
        "display_name": name,
        "input": input,
        "description": describe(input),
        "permission_suggestions": suggestions(name, input),
        "tool_use_id": tool_use_id,
    }));
    if let Some(task) = &thread.task {
        request.insert("agent_id".to_owned(), task.task_id.clone().into());
    }
    json!({"type": "control_request", "request_id": request_id, "request": request})
}

fn describe(input: &Map<String, Value>) -> String {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let path = || text("file_path").and_then(|path| path.rsplit('/').next());
    text("description")
        .or_else(path)
        .or_else(|| text("command"))
        .unwrap_or_default()
        .to_owned()
}

fn suggestions(name: &str, input: &Map<String, Value>) -> Value {
    let accept = json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"});
    match input.get("command") {
        Some(command) => json!([
            {"type": "addRules", "rules": [{"toolName": name, "ruleContent": command}],
             "behavior": "allow", "destination": "localSettings"},
            accept,
        ]),
        None => json!([accept]),
    }
}

/// Returns the response to `initialize`.
pub(crate) fn initialized(session: &Session, request_id: &Value, pending: &[Value]) -> Value {
    let commands: Vec<Value> = commands()
        .map(|name| json!({"name": name, "description": "", "argumentHint": "", "builtin": true}))
        .collect();
    let agents: Vec<Value> = AGENTS
        .iter()
        .map(|name| json!({"name": name, "description": ""}))
        .collect();
    let payload = json!({
        "commands": commands,
        "agents": agents,
        "output_style": "default",
        "available_output_styles": ["default", "Concise", "Explanatory", "Learning"],
        "models": models(session),
        "account": {"tokenSource": "none", "apiKeySource": "none", "apiProvider": "firstParty"},
        "pid": std::process::id(),
        "claude_code_version": session.version.to_string(),
        "current_permission_mode": session.mode,
        "hook_on_failure_supported": true,
        "analytics_disabled": true,
        "fast_mode_state": "off",
        "fast_mode_disabled_reason": "sdk_opt_in_required",
        "session_state": "idle",
        "capabilities": [],
    });
    let mut line = success(request_id, Some(payload));
    line["response"]["pending_permission_requests"] = json!(pending);
    line["response"]["pending_user_dialog_requests"] = json!([]);
    line
}

fn models(session: &Session) -> Value {
    json!([
        {"value": "default", "resolvedModel": session.model,
         "displayName": "Default (recommended)", "description": "", "supportsEffort": true,
         "supportedEffortLevels": ["low", "medium", "high"]},
        {"value": "sonnet", "resolvedModel": "claude-sonnet-5-5", "displayName": "Sonnet",
         "description": "", "supportsEffort": true,
         "supportedEffortLevels": ["low", "medium", "high"]},
    ])
}
