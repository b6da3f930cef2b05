//! `serde_json::Value`, then the members of the job.

use serde_json::Value;

use super::{Refused, lines, refused};
use crate::job::{Digest, Fold, Folded, Tag, block_kind, delta_kind, event_kind, line_kind};

pub(super) fn run<D: Digest>(bytes: &[u8]) -> Result<Folded, Refused> {
    let mut fold = Fold::<D>::default();
    for (number, line) in lines(bytes) {
        let line: Value = serde_json::from_slice(line).map_err(|error| refused(number, error))?;
        fold_line(&line, &mut fold);
    }
    Ok(fold.folded())
}

fn fold_line<D: Digest>(line: &Value, fold: &mut Fold<D>) {
    let kind = line["type"].as_str().map_or(0, line_kind);
    fold.number(Tag::Kind, kind);
    if kind != 0 {
        fold.optional(Tag::Uuid, line["uuid"].as_str());
        fold.optional(Tag::SessionId, line["session_id"].as_str());
        fold.optional(Tag::ParentToolUseId, line["parent_tool_use_id"].as_str());
    }
    match kind {
        1 => fold_event(&line["event"], fold),
        2 | 3 => fold_message(&line["message"], fold),
        4 => fold.optional(Tag::Subtype, line["subtype"].as_str()),
        5 => fold_result(line, fold),
        _ => {}
    }
    fold.end_line();
}

fn fold_result<D: Digest>(line: &Value, fold: &mut Fold<D>) {
    fold.optional(Tag::Subtype, line["subtype"].as_str());
    fold.number(Tag::IsError, flag(&line["is_error"]));
    fold.optional(Tag::ResultText, line["result"].as_str());
    if let Some(cost) = line["total_cost_usd"].as_f64() {
        fold.number(Tag::Cost, cost.to_bits());
    }
    if let Some(turns) = line["num_turns"].as_u64() {
        fold.number(Tag::Turns, turns);
    }
    fold_usage(&line["usage"], fold);
}

fn fold_message<D: Digest>(message: &Value, fold: &mut Fold<D>) {
    fold.optional(Tag::MessageId, message["id"].as_str());
    fold.optional(Tag::MessageModel, message["model"].as_str());
    fold.optional(Tag::MessageRole, message["role"].as_str());
    fold_usage(&message["usage"], fold);
    match &message["content"] {
        Value::String(text) => fold.text(Tag::MessageText, text),
        Value::Array(blocks) => {
            for (at, block) in blocks.iter().enumerate() {
                fold_block(block, at, fold);
            }
        }
        _ => {}
    }
}

fn fold_block<D: Digest>(block: &Value, at: usize, fold: &mut Fold<D>) {
    let kind = block["type"].as_str().map_or(0, block_kind);
    fold.block_number(Tag::BlockKind, at, kind);
    match kind {
        1 | 2 => fold.block_text(Tag::BlockText, at, text(block, kind)),
        4 | 5 => {
            fold.block_text(Tag::ToolId, at, block["id"].as_str().unwrap_or_default());
            fold.block_text(
                Tag::ToolName,
                at,
                block["name"].as_str().unwrap_or_default(),
            );
        }
        6 => fold_tool_result(block, at, fold),
        _ => {}
    }
}

fn fold_tool_result<D: Digest>(block: &Value, at: usize, fold: &mut Fold<D>) {
    let id = block["tool_use_id"].as_str().unwrap_or_default();
    fold.block_text(Tag::ToolUseId, at, id);
    fold.block_number(Tag::ToolError, at, flag(&block["is_error"]));
    match &block["content"] {
        Value::String(text) => fold.block_text(Tag::ToolText, at, text),
        Value::Array(parts) => {
            for (number, part) in parts.iter().enumerate() {
                let kind = part["type"].as_str().map_or(0, block_kind);
                fold.part(at, number, text(part, kind));
            }
        }
        _ => {}
    }
}

fn text(block: &Value, kind: u64) -> &str {
    let text = match kind {
        1 => &block["text"],
        2 => &block["thinking"],
        _ => return "",
    };
    text.as_str().unwrap_or_default()
}

fn fold_event<D: Digest>(event: &Value, fold: &mut Fold<D>) {
    let kind = event["type"].as_str().map_or(0, event_kind);
    fold.number(Tag::EventKind, kind);
    if (1..=3).contains(&kind) {
        fold.number(Tag::EventIndex, event["index"].as_u64().unwrap_or_default());
    }
    match kind {
        1 => fold_delta(&event["delta"], fold),
        2 if event["content_block"].is_null() => {}
        2 => fold_block(&event["content_block"], 0, fold),
        4 => fold_message(&event["message"], fold),
        5 => {
            fold.optional(Tag::StopReason, event["delta"]["stop_reason"].as_str());
            fold_usage(&event["usage"], fold);
        }
        _ => {}
    }
}

fn fold_delta<D: Digest>(delta: &Value, fold: &mut Fold<D>) {
    let kind = delta["type"].as_str().map_or(0, delta_kind);
    fold.number(Tag::DeltaKind, kind);
    let text = match kind {
        1 => &delta["text"],
        2 => &delta["partial_json"],
        3 => &delta["thinking"],
        4 => &delta["signature"],
        _ => return,
    };
    fold.text(Tag::DeltaText, text.as_str().unwrap_or_default());
}

fn fold_usage<D: Digest>(usage: &Value, fold: &mut Fold<D>) {
    fold.usage([
        usage["input_tokens"].as_u64(),
        usage["output_tokens"].as_u64(),
        usage["cache_read_input_tokens"].as_u64(),
        usage["cache_creation_input_tokens"].as_u64(),
    ]);
}

fn flag(value: &Value) -> u64 {
    value.as_bool().unwrap_or_default().into()
}
