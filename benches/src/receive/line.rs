//! Lines that contain their time of writing.

use std::io::Write as _;

use rustix::time::{ClockId, clock_gettime};

/// Bytes of text of one line: the time, then padding to a line of 330 bytes.
const PIECE: usize = 45;

/// Digits of a timestamp.
const DIGITS: usize = 20;

/// The parts before the text, between text and uuid, and after the uuid.
const PARTS: [&str; 3] = [
    r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""#,
    r#""}},"session_id":"8f14e45f-ceea-467f-a0e6-c7b1d3a5f201","parent_tool_use_id":null,"uuid":""#,
    "\",\"api_message_id\":\"msg_01ciuUvMbpegtvwNa9pDWbKX\"}\n",
];

/// Returns nanoseconds of CLOCK_MONOTONIC, which all processes share.
pub(super) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or_default()
}

/// Returns the result line of turn number `turn`, for a session written by
/// [`crate::reduce::Script`].
pub(super) fn result(turn: u64) -> Vec<u8> {
    let mut line = Vec::new();
    // Writing to a vector cannot fail.
    let _ = writeln!(
        line,
        r#"{{"type":"result","subtype":"success","is_error":false,"num_turns":{turn},"result":"Aye.","session_id":"8f14e45f-ceea-467f-a0e6-c7b1d3a5f201","total_cost_usd":0.01,"usage":{{"input_tokens":1,"output_tokens":40}},"uuid":"{turn:08x}-0000-4000-9000-{turn:012x}"}}"#
    );
    line
}

/// Replaces `line` by delta number `number` of a session, with the time `at`.
pub(super) fn write(line: &mut Vec<u8>, number: u64, at: u64) {
    line.clear();
    let [before, between, after] = PARTS;
    let fill = PIECE - DIGITS;
    // Writing to a vector cannot fail.
    let _ = write!(
        line,
        "{before}{at:0DIGITS$}{:.<fill$}{between}{number:08x}-0000-4000-8000-{number:012x}{after}",
        ""
    );
}

/// Returns the timestamps in the text of a block.
pub(super) fn times(text: &str) -> impl Iterator<Item = u64> {
    let pieces = text.as_bytes().chunks_exact(PIECE);
    pieces.filter_map(|piece| str::from_utf8(piece.get(..DIGITS)?).ok()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_has_fixed_length_and_timestamp() {
        let mut line = Vec::new();
        write(&mut line, 7, 42);
        assert_eq!(line.len(), 330);
        let value: serde_json::Value = serde_json::from_slice(&line).expect("JSON");
        let text = value["event"]["delta"]["text"].as_str().expect("a text");
        assert_eq!(times(&text.repeat(2)).collect::<Vec<_>>(), [42, 42]);
    }
}
