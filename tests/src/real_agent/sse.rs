//! Encodes a reply as the Messages API does: as server-sent events, or as one JSON object.

use serde_json::{Value, json};

use super::{Block, Reply};

/// Returns the events of a streamed message in order.
pub(super) fn events(reply: &Reply, id: &str, model: &str) -> Vec<Value> {
    let mut events = vec![message_start(reply, id, model)];
    for (index, block) in reply.blocks.iter().enumerate() {
        events.push(
            json!({"type": "content_block_start", "index": index, "content_block": block_start(block)}),
        );
        events.extend(
            deltas(block, reply.chunk).into_iter().map(
                |delta| json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({
        "type": "message_delta",
        "delta": {"stop_reason": reply.stop_reason(), "stop_sequence": null},
        "usage": usage(reply, reply.usage.output),
    }));
    events.push(json!({"type": "message_stop"}));
    events
}

/// Encodes an event as `text/event-stream`, with its type in the field `event` and in the data.
pub(super) fn encode(event: &Value) -> String {
    let kind = event["type"].as_str().unwrap_or_default();
    format!("event: {kind}\ndata: {event}\n\n")
}

/// Returns whether the event is a delta of a block; [`Reply::pace`] delays only these.
pub(super) fn is_delta(event: &Value) -> bool {
    event["type"] == "content_block_delta"
}

/// Returns the complete message, for a request without streaming.
pub(super) fn message(reply: &Reply, id: &str, model: &str) -> Value {
    let blocks: Vec<Value> = reply.blocks.iter().map(complete_block).collect();
    json!({
        "id": id, "type": "message", "role": "assistant", "model": model, "content": blocks,
        "stop_reason": reply.stop_reason(), "stop_sequence": null,
        "usage": usage(reply, reply.usage.output),
    })
}

fn message_start(reply: &Reply, id: &str, model: &str) -> Value {
    json!({"type": "message_start", "message": {
        "id": id, "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage(reply, 1),
    }})
}

fn usage(reply: &Reply, output_tokens: u64) -> Value {
    json!({
        "input_tokens": reply.usage.input, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0, "output_tokens": output_tokens,
    })
}

fn block_start(block: &Block) -> Value {
    match block {
        Block::Text(_) => json!({"type": "text", "text": ""}),
        Block::Thinking(_) => json!({"type": "thinking", "thinking": "", "signature": ""}),
        Block::ToolUse { id, name, .. } => {
            json!({"type": "tool_use", "id": id, "name": name, "input": {}})
        }
    }
}

fn complete_block(block: &Block) -> Value {
    match block {
        Block::Text(text) => json!({"type": "text", "text": text}),
        Block::Thinking(text) => {
            json!({"type": "thinking", "thinking": text, "signature": SIGNATURE})
        }
        Block::ToolUse { id, name, input } => {
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }
    }
}

/// A placeholder: the agent stores signatures and returns them, but only the API can verify one.
const SIGNATURE: &str = "c2NyaXB0ZWQ=";

fn deltas(block: &Block, chunk: usize) -> Vec<Value> {
    let pieces = |text: &str| pieces(text, chunk);
    match block {
        Block::Text(text) => pieces(text)
            .map(|text| json!({"type": "text_delta", "text": text}))
            .collect(),
        Block::Thinking(text) => pieces(text)
            .map(|thinking| json!({"type": "thinking_delta", "thinking": thinking}))
            .chain([json!({"type": "signature_delta", "signature": SIGNATURE})])
            .collect(),
        Block::ToolUse { input, .. } => pieces(&input.to_string())
            .map(|json| json!({"type": "input_json_delta", "partial_json": json}))
            .collect(),
    }
}

fn pieces(text: &str, chunk: usize) -> std::vec::IntoIter<String> {
    let chars: Vec<char> = text.chars().collect();
    chars
        .chunks(chunk)
        .map(String::from_iter)
        .collect::<Vec<_>>()
        .into_iter()
}
