use serde_json::json;

use crate::test_util::{TestSession, text, tool};

#[test]
fn lines_of_one_message_form_one_entry() {
    let mut session = TestSession::new();
    session.assistant_block(
        "m1",
        r#"{"type":"thinking","thinking":"hm","signature":"x"}"#,
    );
    session.assistant_block("m1", r#"{"type":"redacted_thinking","data":"x"}"#);
    session
        .assistant_block("m1", &text("Ahoy"))
        .assistant_block("m1", &tool("t1", "Bash"));
    session.assistant_block("m2", &text("next"));
    assert_eq!(
        session.entry_lines(),
        [
            "m1 complete: (hm) | redacted_thinking | Ahoy | @t1",
            "m2 complete: next"
        ]
    );
    assert_eq!(session.json()["entries"][0]["model"], "m");
}

#[test]
fn unknown_block_is_kept_raw() {
    let mut session = TestSession::new();
    session.assistant_block(
        "m1",
        r#"{"type":"server_tool_use","id":"x","input":{"q":"\ud83d"}}"#,
    );
    let raw = session.json()["entries"][0]["blocks"][0].clone();
    let expected = json!({"type": "server_tool_use", "id": "x", "input": {"q": "\u{fffd}"}});
    let bytes = [0, session.log().len() - 1];
    assert_eq!(
        raw,
        json!({"type": "other", "raw": expected, "bytes": bytes})
    );
}

#[test]
fn message_content_may_be_a_string() {
    let mut session = TestSession::new();
    session.line(r#""type":"assistant","message":{"id":"m1","content":"Ahoy"}"#);
    assert_eq!(session.entry_lines(), ["m1 complete: Ahoy"]);
}

#[test]
fn superseded_lines_are_removed() {
    let mut session = TestSession::new();
    session
        .assistant_block("m1", &text("kept"))
        .assistant_block("m1", &text("bad"))
        .assistant_block("m2", &tool("t1", "Bash"));
    assert_eq!(session.json()["tool_calls"].as_object().unwrap().len(), 1);
    session.line(r#""type":"assistant","supersedes":["u2","u3","u99"],"message":{"id":"m3","content":[{"type":"text","text":"good"}]}"#);
    assert_eq!(
        session.entry_lines(),
        ["m1 complete: kept", "m3 complete: good"]
    );
    assert_eq!(session.json()["tool_calls"], json!({}));
}

#[test]
fn repeated_retraction_is_idempotent() {
    let mut session = TestSession::new();
    session.assistant_block("m1", &text("refused"));
    session.line(r#""type":"user","message":{"content":"go"}"#);
    for _ in 0..2 {
        session.line(r#""type":"system","subtype":"model_refusal_fallback","content":"a model refused","retracted_message_uuids":["u1","u2"]"#);
    }
    let notice = "notice model_refusal_fallback: a model refused";
    assert_eq!(session.entry_lines(), [notice, notice]);
}

#[test]
fn call_with_result_outlives_its_block() {
    let mut session = TestSession::new();
    session
        .assistant_block("m1", &tool("t1", "Bash"))
        .tool_result("t1", "done", false, "");
    session.line(r#""type":"assistant","supersedes":["u1"],"message":{"id":"m2","content":[]}"#);
    assert_eq!(session.call_json("t1")["result"]["text"], "done");
}

/// LoggedHostEvent a line looks at is what waits for one: here one draft that nothing ends.
#[test]
fn line_of_a_long_message_does_not_scan_it() {
    const LINES: u32 = 2_000;
    let mut session = TestSession::new();
    session
        .message_start("m1")
        .text_block("m1", 0, "as far as")
        .block_stop("m1", 0);
    for line in 1..=LINES {
        session.stream_event("m1", &format!(r#"{{"type":"content_block_start","index":{line},"content_block":{{"type":"redacted_thinking"}}}}"#));
        session.assistant_block("m1", r#"{"type":"redacted_thinking"}"#);
        session.block_stop("m1", line);
    }
    let blocks = session.json()["entries"][0]["blocks"].clone();
    assert_eq!(blocks.as_array().unwrap().len(), LINES as usize + 1);
    let entry = session.transcript.entries().next().unwrap().id();
    assert_eq!(session.transcript.draft_blocks_of(entry).count(), 1);
    session.assistant_block("m1", &text("as far as it goes"));
    assert_eq!(session.transcript.draft_blocks_of(entry).count(), 0);
}
