//! What recordings of read-only dialects show, read with `serde_json`.

use bowline_reducer::dialect::DialectName;
use serde_json::{Value, json};

use crate::recording::Recording;
use crate::seen::{Call, Seen, list, text};

pub(crate) fn read(recording: &Recording) -> Seen {
    let lines = recording.messages.iter().map(|(_, line)| line);
    let mut seen = match recording.dialect {
        DialectName::CodexExec => codex_exec(lines),
        DialectName::CopilotJson => copilot(lines),
        _ => opencode(lines),
    };
    seen.close(|_| "lost");
    seen
}

fn codex_exec<'v>(lines: impl Iterator<Item = &'v Value>) -> Seen {
    let mut seen = Seen::default();
    for line in lines {
        let item = &line["item"];
        let id = text(item, "id").unwrap_or_default();
        let words = text(item, "text").unwrap_or_default();
        match (
            text(line, "type").unwrap_or_default(),
            text(item, "type").unwrap_or_default(),
        ) {
            ("item.completed", "agent_message") => seen.push("", format!("text: {words}")),
            ("item.completed", "reasoning") => seen.push("", format!("thought: {words}")),
            ("item.started", "command_execution") => seen.push("", format!("call: {id}")),
            ("item.completed", "command_execution") => {
                let call = Call {
                    input: json!({ "command": item["command"] }),
                    state: if item["status"] == "completed" {
                        "succeeded"
                    } else {
                        "failed"
                    }
                    .to_owned(),
                    result: text(item, "aggregated_output").map(str::to_owned),
                    output: text(item, "aggregated_output").map(str::to_owned),
                    exit_code: item["exit_code"].as_i64(),
                    ..Call::default()
                };
                seen.calls.insert(id.to_owned(), call);
            }
            ("turn.completed", _) => seen.push("", "end: completed".to_owned()),
            ("turn.failed", _) => seen.push("", "end: failed".to_owned()),
            _ => {}
        }
    }
    seen
}

fn copilot<'v>(lines: impl Iterator<Item = &'v Value>) -> Seen {
    let mut seen = Seen::default();
    let mut printed: Option<String> = None;
    for line in lines {
        let data = &line["data"];
        let word = |key| text(data, key).unwrap_or_default();
        match text(line, "type").unwrap_or_default() {
            "user.message" => seen.push("", format!("prompt: {}", word("content"))),
            "assistant.message" => {
                let thought = word("reasoningText");
                if !thought.is_empty() {
                    seen.push("", format!("thought: {thought}"));
                }
                if !word("content").is_empty() {
                    seen.push("", format!("text: {}", word("content")));
                }
                for request in list(data, "toolRequests") {
                    let id = text(request, "toolCallId").unwrap_or_default();
                    seen.push("", format!("call: {id}"));
                    let call = Call {
                        input: request["arguments"].clone(),
                        ..Call::default()
                    };
                    seen.calls.insert(id.to_owned(), call);
                }
            }
            "tool.execution_partial_result" => printed = Some(word("partialOutput").to_owned()),
            "tool.execution_complete" => {
                let call = seen.calls.get_mut(word("toolCallId")).expect("its call");
                call.state = if data["success"] == true {
                    "succeeded"
                } else {
                    "failed"
                }
                .to_owned();
                call.result = text(&data["result"], "content").map(str::to_owned);
                call.exit_code = data["shellExecution"]["exitCode"].as_i64();
                call.output = printed.take();
            }
            "result" => {
                let outcome = if line["exitCode"] == 0 {
                    "completed"
                } else {
                    "failed"
                };
                seen.push("", format!("end: {outcome}"));
            }
            _ => {}
        }
    }
    seen
}

fn opencode<'v>(lines: impl Iterator<Item = &'v Value>) -> Seen {
    let mut seen = Seen::default();
    for line in lines {
        let part = &line["part"];
        let words = text(part, "text").unwrap_or_default();
        match text(line, "type").unwrap_or_default() {
            "text" => seen.push("", format!("text: {words}")),
            "reasoning" => seen.push("", format!("thought: {words}")),
            "tool_use" => {
                let id = text(part, "callID").unwrap_or_default();
                seen.push("", format!("call: {id}"));
                let state = &part["state"];
                let call = Call {
                    input: state["input"].clone(),
                    state: if state["status"] == "completed" {
                        "succeeded"
                    } else {
                        "failed"
                    }
                    .to_owned(),
                    result: text(state, "output").map(str::to_owned),
                    exit_code: state["metadata"]["exit"].as_i64(),
                    ..Call::default()
                };
                seen.calls.insert(id.to_owned(), call);
            }
            "step_finish" if part["reason"] != "tool-calls" => {
                seen.push("", "end: completed".to_owned());
            }
            _ => {}
        }
    }
    seen
}
