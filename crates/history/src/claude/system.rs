//! `system` lines.

use bowline_jsonl::RawJson;

use crate::lines::text;
use crate::stream::{LineWriter, StreamWriter};

/// Subtypes that hold no part of the conversation.
const SILENT: &[&str] = &[
    "agents_killed",
    "away_summary",
    "bridge_status",
    "file_snapshot",
    "memory_saved",
    "microcompact_boundary",
    "per_turn_effort_changed",
    "permission_retry",
    "post_turn_summary",
    "scheduled_task_fire",
    "session_metadata",
    "stop_hook_summary",
    "thinking",
    "turn_duration",
];

/// Writes a `system` line, if it has a place in the stream.
pub(super) fn system(object: RawJson<'_>, out: &mut StreamWriter) {
    let subtype = text(object, "subtype").unwrap_or_default();
    let begin = |out: &mut StreamWriter, subtype: &str, write: &dyn Fn(&mut LineWriter<'_>)| {
        let mut line = out.line("system");
        line.text("subtype", Some(subtype));
        write(&mut line);
        line.raw("session_id", object.get("sessionId"))
            .raw("uuid", object.get("uuid"))
            .raw("timestamp", object.get("timestamp"));
    };
    match &*subtype {
        "compact_boundary" => begin(out, &subtype, &|line| compaction(object, line)),
        "api_error" => begin(out, "api_retry", &|line| {
            line.raw("attempt", object.get("retryAttempt"))
                .raw("max_retries", object.get("maxRetries"))
                .raw("retry_delay_ms", object.get("retryInMs"));
        }),
        "local_command" => begin(out, "local_command_output", &|line| {
            line.raw("content", object.get("content"));
        }),
        silent if SILENT.contains(&silent) => {}
        _ => begin(out, &subtype, &|line| {
            line.raw("content", object.get("content"))
                .raw("level", object.get("level"));
        }),
    }
}

fn compaction(object: RawJson<'_>, line: &mut LineWriter<'_>) {
    let metadata = object.get("compactMetadata");
    let number = |key: &str| metadata.and_then(|metadata| metadata.get(key)?.as_u64());
    let trigger = metadata.and_then(|metadata| text(metadata, "trigger"));
    let metadata = serde_json::json!({
        "trigger": trigger,
        "pre_tokens": number("preTokens"),
        "post_tokens": number("postTokens"),
        "duration_ms": number("durationMs"),
    });
    line.value("compact_metadata", &metadata)
        .raw("logical_parent_uuid", object.get("logicalParentUuid"));
}
