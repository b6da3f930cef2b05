//! The dialect of a recording, by its first lines.

use bowline_jsonl::{RawJson, Str};

use crate::dialect_name::DialectName;

/// Returns the dialect of a stream by its first lines: the first of them that only one dialect has
/// decides. `None` if there is no such line.
pub fn recognize<'a>(lines: impl IntoIterator<Item = RawJson<'a>>) -> Option<DialectName> {
    lines.into_iter().find_map(of_line)
}

fn of_line(line: RawJson<'_>) -> Option<DialectName> {
    if line.get("jsonrpc").is_some() {
        return Some(DialectName::Acp);
    }
    let text = |key: &str| line.get(key).and_then(RawJson::as_str);
    let Some(kind) = text("type") else {
        let is_answer = line.get("result").is_some() || line.get("error").is_some();
        let is_message = line.get("method").is_some() || line.get("id").is_some() && is_answer;
        return is_message.then_some(DialectName::Codex);
    };
    match &*kind.decode() {
        "init" if line.get("timestamp").is_some() => Some(DialectName::GeminiStreamJson),
        "thread.started" | "turn.started" | "item.started" | "item.completed" => {
            Some(DialectName::CodexExec)
        }
        "step_start" | "step_finish" | "tool_use" | "text" | "reasoning"
            if line.get("sessionID").is_some() =>
        {
            Some(DialectName::OpencodeRunJson)
        }
        "system" if text("subtype").is_some_and(|it| it == "init") => Some(stream_json(line)),
        kind if kind.contains('.') && line.get("data").is_some() => Some(DialectName::CopilotJson),
        _ => None,
    }
}

/// Qwen Code's `init` names its own version, and its uuid is that of the session.
fn stream_json(init: RawJson<'_>) -> DialectName {
    let text = |key: &str| init.get(key).and_then(RawJson::as_str).map(Str::decode);
    let is_qwen = init.get("qwen_code_version").is_some()
        || init.get("claude_code_version").is_none() && text("uuid") == text("session_id");
    if is_qwen {
        DialectName::Qwen
    } else {
        DialectName::Claude
    }
}
