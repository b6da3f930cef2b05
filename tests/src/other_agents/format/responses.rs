//! OpenAI's Responses.

use serde_json::{Value, json};

use super::{Content, Streamed};
use crate::other_agents::Call;

pub(super) fn encode(name: &str, content: Content<'_>) -> Streamed {
    let id = format!("response-{name}");
    let usage = json!({"input_tokens": 100, "output_tokens": 10, "total_tokens": 110});
    let created = json!({"type": "response.created", "response": {"id": id}});
    let completed = json!({"type": "response.completed", "response": {"id": id, "usage": usage}});
    let (first, last) = match content {
        Content::Text(text) => message(name, text),
        Content::Call(call) => command(name, call),
    };
    let first = std::iter::once(created).chain(first);
    Streamed {
        first: first.map(|it| named(&it)).collect(),
        rest: [last, completed].iter().map(named).collect(),
    }
}

fn named(event: &Value) -> String {
    let kind = event["type"].as_str().unwrap_or_default();
    format!("event: {kind}\ndata: {event}\n\n")
}

fn message(name: &str, text: &str) -> (Vec<Value>, Value) {
    let id = format!("message-{name}");
    let item = |content: Value| json!({"type": "message", "id": id, "role": "assistant", "content": content});
    let content = json!([{"type": "output_text", "text": text}]);
    let first = vec![
        json!({"type": "response.output_item.added", "output_index": 0, "item": item(json!([]))}),
        json!({"type": "response.output_text.delta", "item_id": id, "output_index": 0,
            "content_index": 0, "delta": text}),
    ];
    let done =
        json!({"type": "response.output_item.done", "output_index": 0, "item": item(content)});
    (first, done)
}

fn command(name: &str, call: &Call) -> (Vec<Value>, Value) {
    let mut item = json!({"type": "function_call", "id": format!("item-{name}"), "call_id": call.id,
        "name": call.tool, "arguments": call.arguments.to_string()});
    if let Some(namespace) = call.namespace {
        item["namespace"] = namespace.into();
    }
    let added = json!({"type": "response.output_item.added", "output_index": 0, "item": item});
    let done = json!({"type": "response.output_item.done", "output_index": 0, "item": item});
    (vec![added], done)
}

/// Calls the tool that waits for the sub-agents that the conversation has.
pub(super) fn wait(id: &'static str, request: &Value) -> Call {
    let items = request["input"].as_array().into_iter().flatten();
    let outputs = items.filter_map(|it| serde_json::from_str(it["output"].as_str()?).ok());
    let agents: Vec<Value> = outputs
        .map(|mut output: Value| output["agent_id"].take())
        .filter(Value::is_string)
        .collect();
    Call {
        id,
        tool: "wait_agent",
        namespace: Some("multi_agent_v1"),
        arguments: json!({"targets": agents}),
    }
}
