//! Gemini's `streamGenerateContent`.

use serde_json::{Value, json};

use super::{Content, Streamed, data};

pub(super) fn encode(content: Content<'_>) -> Streamed {
    let part = match content {
        Content::Text(text) => json!({"text": text}),
        Content::Call(call) => {
            json!({"functionCall": {"name": call.tool, "args": call.arguments}})
        }
    };
    Streamed {
        first: data([chunk(&part, None)]),
        rest: data([chunk(&json!({"text": ""}), Some("STOP"))]),
    }
}

fn chunk(part: &Value, finish: Option<&str>) -> Value {
    let usage =
        json!({"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110});
    let mut candidate = json!({"content": {"role": "model", "parts": [part]}, "index": 0});
    if let Some(finish) = finish {
        candidate["finishReason"] = finish.into();
    }
    json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"})
}
