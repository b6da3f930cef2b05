//! The parts of a tool result line: block, structured result, and metadata.

use serde_json::{Value, json};

use crate::event::Decision;
use crate::scenario::Tool;

/// The agent's text for an interrupted call, shortened.
const INTERRUPTED: &str = "The user doesn't want to proceed with this tool use. The tool use was \
                       rejected (eg. if it was a file edit, the new_string was NOT written to \
                       the file). STOP what you are doing and wait for the user to tell you how \
                       to proceed.";

/// The three parts of a tool result line.
#[derive(Debug)]
pub(super) struct ToolResult {
    pub(super) block: Value,
    pub(super) structured: Value,
    pub(super) meta: Option<Value>,
}

/// Returns the result of a call after this decision.
pub(super) fn result_of(id: &str, tool: &Tool, decision: &Decision) -> ToolResult {
    let accepted = |source: Value| Some(json!({"id": id, "permission_decision": source}));
    let ruled = json!({"decision": "accept", "source": "config", "reason_type": "rule"});
    match decision {
        Decision::AllowedByRule => ran(id, tool, accepted(ruled)),
        Decision::Allowed(_) => {
            let source = json!({"decision": "accept", "source": "user_temporary"});
            ran(id, tool, accepted(source))
        }
        Decision::Denied { message, .. } => refused(id, message, "permission-rule", "user_reject"),
        Decision::DeniedWithoutHost => {
            refused(id, &not_granted(&tool.name), "user-rejected", "config")
        }
        Decision::Failed(why) => {
            failed(id, &format!("Tool permission request failed: {why}"), None)
        }
    }
}

/// Returns the result of an interrupted call.
pub(super) fn stopped(id: &str) -> ToolResult {
    ToolResult {
        block: error_block(id, &INTERRUPTED.into()),
        structured: "User rejected tool use".into(),
        meta: Some(json!({"id": id, "non_execution_kind": "user-rejected"})),
    }
}

/// Returns the result of a call whose command was killed by a signal to the agent.
pub(super) fn killed(id: &str) -> ToolResult {
    failed(id, "Exit code 137", None)
}

/// Returns the result of a call that failed with this text.
pub(super) fn failed(id: &str, text: &str, meta: Option<Value>) -> ToolResult {
    let structured = format!("Error: {text}").into();
    ToolResult {
        block: error_block(id, &text.into()),
        structured,
        meta,
    }
}

fn ran(id: &str, tool: &Tool, meta: Option<Value>) -> ToolResult {
    let content = if tool.result.is_null() {
        "".into()
    } else {
        tool.result.clone()
    };
    if tool.is_error {
        let structured = tool.tool_use_result.clone();
        let message = || format!("Error: {}", plain(&content)).into();
        let structured = structured.unwrap_or_else(message);
        return ToolResult {
            block: error_block(id, &content),
            structured,
            meta,
        };
    }
    let mut block = json!({"tool_use_id": id, "type": "tool_result", "content": content});
    if tool.name == "Bash" {
        block["is_error"] = false.into();
    }
    let structured = tool.tool_use_result.clone();
    let structured = structured.unwrap_or_else(|| structured_result(tool, &plain(&content)));
    ToolResult {
        block,
        structured,
        meta,
    }
}

/// Returns the agent's message for a call that nothing has granted.
pub(super) fn not_granted(name: &str) -> String {
    format!("Claude requested permissions to use {name}, but you haven't granted it yet.")
}

fn refused(id: &str, message: &str, kind: &str, source: &str) -> ToolResult {
    let meta = json!({
        "id": id, "non_execution_kind": kind,
        "permission_decision": {"decision": "reject", "source": source},
    });
    failed(id, message, Some(meta))
}

fn error_block(id: &str, content: &Value) -> Value {
    json!({"type": "tool_result", "content": content, "is_error": true, "tool_use_id": id})
}

/// Returns the structured result that the agent prints for this tool; null if unknown.
fn structured_result(tool: &Tool, text: &str) -> Value {
    let input = |key: &str| tool.input.get(key).cloned().unwrap_or_default();
    match tool.name.as_str() {
        "Bash" => json!({
            "stdout": text, "stderr": "", "interrupted": false, "isImage": false,
            "noOutputExpected": false,
        }),
        "Read" => {
            let lines = text.lines().count();
            json!({"type": "text", "file": {
                "filePath": input("file_path"), "content": text, "numLines": lines,
                "startLine": 1, "totalLines": lines,
            }})
        }
        "Write" => json!({
            "type": "create", "filePath": input("file_path"), "content": input("content"),
            "structuredPatch": [], "originalFile": null, "userModified": false,
        }),
        "Edit" => json!({
            "filePath": input("file_path"), "oldString": input("old_string"),
            "newString": input("new_string"), "originalFile": null, "structuredPatch": [],
            "userModified": false, "replaceAll": false,
        }),
        _ => Value::Null,
    }
}

fn plain(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect(),
        other => other.to_string(),
    }
}
