//! Names of kinds as numbers, for contenders that decode them as strings. Zero is unknown.

/// The `type` of a line.
#[must_use]
pub fn line_kind(name: &str) -> u64 {
    match name {
        "stream_event" => 1,
        "assistant" => 2,
        "user" => 3,
        "system" => 4,
        "result" => 5,
        "control_request" => 6,
        "control_response" => 7,
        "control_cancel_request" => 8,
        "keep_alive" => 9,
        "tool_progress" => 10,
        "tool_use_summary" => 11,
        "rate_limit_event" => 12,
        "auth_status" => 13,
        "prompt_suggestion" => 14,
        "conversation_reset" => 15,
        "active_goal" => 16,
        "command_lifecycle" => 17,
        "transcript_mirror" => 18,
        _ => 0,
    }
}

/// The `type` of a block.
#[must_use]
pub fn block_kind(name: &str) -> u64 {
    match name {
        "text" => 1,
        "thinking" => 2,
        "redacted_thinking" => 3,
        "tool_use" => 4,
        "server_tool_use" => 5,
        "tool_result" => 6,
        "image" => 7,
        "document" => 8,
        _ => 0,
    }
}

/// The `type` of a streaming event.
#[must_use]
pub fn event_kind(name: &str) -> u64 {
    match name {
        "content_block_delta" => 1,
        "content_block_start" => 2,
        "content_block_stop" => 3,
        "message_start" => 4,
        "message_delta" => 5,
        "message_stop" => 6,
        "ping" => 7,
        "error" => 8,
        _ => 0,
    }
}

/// The `type` of a delta.
#[must_use]
pub fn delta_kind(name: &str) -> u64 {
    match name {
        "text_delta" => 1,
        "input_json_delta" => 2,
        "thinking_delta" => 3,
        "signature_delta" => 4,
        _ => 0,
    }
}
