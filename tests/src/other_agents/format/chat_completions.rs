//! OpenAI's chat completions.

use serde_json::{Value, json};

use super::{Content, Streamed, data};

pub(super) fn encode(name: &str, content: Content<'_>) -> Streamed {
    let (delta, finish) = match content {
        Content::Text(text) => (json!({"role": "assistant", "content": text}), "stop"),
        Content::Call(call) => {
            let function = json!({"name": call.tool, "arguments": call.arguments.to_string()});
            let call = json!({"index": 0, "id": call.id, "type": "function", "function": function});
            (
                json!({"role": "assistant", "tool_calls": [call]}),
                "tool_calls",
            )
        }
    };
    let choice = |delta: &Value, finish: Option<&str>| json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110});
    let mut last = chunk(name, json!([]));
    last["usage"] = usage;
    let finished = chunk(name, choice(&json!({}), Some(finish)));
    Streamed {
        first: data([chunk(name, choice(&delta, None))]),
        rest: data([finished, last]) + "data: [DONE]\n\n",
    }
}

fn chunk(name: &str, choices: Value) -> Value {
    json!({"id": format!("completion-{name}"), "object": "chat.completion.chunk", "created": 0,
        "model": "scripted", "choices": choices})
}
