//! The items of a turn (`crates/jsonl/PROTOCOL-codex.md`, Items), without their times.

use serde_json::{Value, json};

use crate::dialect::tool::{ToolAction, exit_code, text_of};
use crate::event::{CallOf, Decision};
use crate::prompt::Prompt;
use crate::session::Session;

pub(super) fn user_message(id: &str, prompt: &Prompt) -> Value {
    let mut content = prompt.content();
    for part in content.as_array_mut().into_iter().flatten() {
        if part["type"] == "text" && part["text_elements"].is_null() {
            part["text_elements"] = json!([]);
        }
    }
    json!({"type": "userMessage", "id": id, "clientId": prompt.uuid, "content": content})
}

pub(super) fn agent_message(id: &str, text: &str) -> Value {
    json!({
        "type": "agentMessage", "moderation": null, "id": id, "text": text, "phase": null,
        "memoryCitation": null, "delivery": null, "questions": null,
    })
}

pub(super) fn reasoning(id: &str, summary: &[&str]) -> Value {
    json!({"type": "reasoning", "id": id, "summary": summary, "content": []})
}

/// Returns a call of `spawnAgent` or `wait`.
pub(super) fn collab(id: &str, tool: &str, sender: &str, status: &str) -> Value {
    json!({
        "type": "collabAgentToolCall", "id": id, "tool": tool, "status": status,
        "senderThreadId": sender, "receiverThreadIds": [], "prompt": null, "model": null,
        "reasoningEffort": null, "agentsStates": {},
    })
}

/// Returns the item of a call: before its end if there is no decision.
pub(super) fn call(session: &Session, call: CallOf<'_>, decision: Option<&Decision>) -> Value {
    let tool = call.tool;
    let status = status(tool.is_error, decision);
    let ran = status == "completed" || status == "failed";
    let text = match decision {
        Some(Decision::Failed(why)) => why.clone(),
        _ => text_of(&tool.result),
    };
    match ToolAction::of(&tool.name, &tool.input) {
        ToolAction::Edit { path, old, new } => json!({
            "type": "fileChange", "id": call.id,
            "changes": [{
                "path": path, "kind": kind(old), "diff": old.map_or_else(|| new.to_owned(), |old| hunk(old, new)),
            }],
            "status": status,
        }),
        ToolAction::Command(command) => {
            let actions = json!([{"type": "unknown", "command": command}]);
            command_execution(
                session,
                call.id,
                command,
                actions,
                status,
                ran.then_some(&text),
            )
        }
        ToolAction::Read(path) => {
            let command = format!("cat {path}");
            let name = path.rsplit('/').next().unwrap_or_default();
            let actions = json!([{"type": "read", "command": command, "name": name, "path": path}]);
            command_execution(
                session,
                call.id,
                &command,
                actions,
                status,
                ran.then_some(&text),
            )
        }
        ToolAction::Search(pattern) => {
            let command = format!("rg {pattern}");
            let actions = json!([
                {"type": "search", "command": command, "query": pattern, "path": null},
            ]);
            command_execution(
                session,
                call.id,
                &command,
                actions,
                status,
                ran.then_some(&text),
            )
        }
        ToolAction::Fetch(_) | ToolAction::Other => mcp(call, status, ran.then_some(&text)),
    }
}

fn status(is_error: bool, decision: Option<&Decision>) -> &'static str {
    match decision {
        None => "inProgress",
        Some(Decision::AllowedByRule | Decision::Allowed(_)) if !is_error => "completed",
        Some(Decision::Denied { .. }) => "declined",
        Some(_) => "failed",
    }
}

fn command_execution(
    session: &Session,
    id: &str,
    command: &str,
    actions: Value,
    status: &str,
    output: Option<&String>,
) -> Value {
    let (code, output) = match output.map(String::as_str) {
        None => (Value::Null, None),
        Some(text) if status == "failed" => {
            let (code, text) = exit_code(text).unwrap_or((1, text));
            (code.into(), Some(text))
        }
        Some(text) => (0.into(), Some(text)),
    };
    json!({
        "type": "commandExecution", "id": id, "pluginId": null, "scriptPath": null,
        "command": format!("/bin/bash -lc {}", quoted(command)), "cwd": session.cwd, "processId": null,
        "source": "agent", "status": status, "commandActions": actions, "aggregatedOutput": output,
        "exitCode": code, "durationMs": output.map(|_| 0),
    })
}

fn mcp(call: CallOf<'_>, status: &str, output: Option<&String>) -> Value {
    let (result, error) = match output {
        None => (Value::Null, Value::Null),
        Some(text) if status == "failed" => (Value::Null, json!({"message": text})),
        Some(text) => {
            let content = json!([{"type": "text", "text": text}]);
            (
                json!({"content": content, "structuredContent": null, "_meta": null}),
                Value::Null,
            )
        }
    };
    // The protocol has no status for a refused call of this type.
    let status = if status == "declined" {
        "failed"
    } else {
        status
    };
    json!({
        "type": "mcpToolCall", "id": call.id, "server": "understudy", "tool": call.tool.name,
        "status": status, "arguments": call.tool.input, "result": result, "error": error,
        "durationMs": output.map(|_| 0),
    })
}

fn kind(old: Option<&str>) -> Value {
    match old {
        Some(_) => json!({"type": "update", "move_path": null}),
        None => json!({"type": "add"}),
    }
}

/// Returns a hunk of a unified diff that replaces one text by another.
pub(super) fn hunk(old: &str, new: &str) -> String {
    let (removed, added) = (old.lines().count(), new.lines().count());
    let first = |count: usize| usize::from(count > 0);
    let (from, to) = (first(removed), first(added));
    let mut hunk = format!("@@ -{from},{removed} +{to},{added} @@\n");
    for (sign, text) in [('-', old), ('+', new)] {
        for line in text.lines() {
            hunk.push(sign);
            hunk.push_str(line);
            hunk.push('\n');
        }
    }
    hunk
}

/// Quotes a word for a shell.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
