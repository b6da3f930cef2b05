//! The parts of updates (`crates/jsonl/PROTOCOL-acp.md`, Updates and Tool calls).

use serde_json::{Map, Value, json};

use crate::dialect::tool::ToolAction;
use crate::session::{MODES, Session};

/// Returns a chunk of a message; `kind` is `user_message`, `agent_message` or `agent_thought`.
pub(super) fn chunk(kind: &str, message_id: &str, content: Value) -> Value {
    json!({
        "sessionUpdate": format!("{kind}_chunk"), "content": content, "messageId": message_id,
    })
}

pub(super) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Returns what is known of a call: title, kind, locations, diff and input.
pub(super) fn call(id: &str, name: &str, input: &Map<String, Value>) -> Value {
    let action = ToolAction::of(name, input);
    let title = match &action {
        ToolAction::Command(command) => (*command).to_owned(),
        ToolAction::Read(path) => format!("Read {path}"),
        ToolAction::Edit {
            path, old: None, ..
        } => format!("Write {path}"),
        ToolAction::Edit { path, .. } => format!("Edit {path}"),
        ToolAction::Search(pattern) => format!("Search {pattern}"),
        ToolAction::Fetch(url) => format!("Fetch {url}"),
        ToolAction::Other if name == "Agent" => input
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or(name)
            .to_owned(),
        ToolAction::Other => name.to_owned(),
    };
    let mut call = json!({
        "toolCallId": id, "title": title, "kind": kind(name, &action), "rawInput": input,
        "content": [], "locations": [], "_meta": {"claudeCode": {"toolName": name}},
    });
    match action {
        ToolAction::Read(path) => call["locations"] = json!([{"path": path}]),
        ToolAction::Edit { path, old, new } => {
            call["locations"] = json!([{"path": path}]);
            let diff = json!({"type": "diff", "path": path, "oldText": old, "newText": new});
            call["content"] = json!([diff]);
        }
        _ => {}
    }
    call
}

/// Returns the kind of a call.
pub(super) fn kind(name: &str, action: &ToolAction<'_>) -> &'static str {
    match action {
        ToolAction::Command(_) => "execute",
        ToolAction::Read(_) => "read",
        ToolAction::Edit { .. } => "edit",
        ToolAction::Search(_) => "search",
        ToolAction::Fetch(_) => "fetch",
        ToolAction::Other if name == "Agent" => "think",
        ToolAction::Other => "other",
    }
}

pub(super) fn modes(session: &Session) -> Value {
    let modes = MODES.iter().map(|mode| json!({"id": mode, "name": mode}));
    json!({"currentModeId": session.mode, "availableModes": modes.collect::<Vec<_>>()})
}

pub(super) fn options(session: &Session) -> Value {
    let choice = |value: &str| json!({"value": value, "name": value});
    let modes: Vec<Value> = MODES.iter().map(|mode| choice(mode)).collect();
    json!([
        {
            "id": "mode", "name": "Mode", "category": "mode", "type": "select",
            "currentValue": session.mode, "options": modes,
        },
        {
            "id": "model", "name": "Model", "category": "model", "type": "select",
            "currentValue": session.model, "options": [choice(&session.model)],
        },
    ])
}
