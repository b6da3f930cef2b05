use crate::test_util::{TestSession, text, tool};

const STOP: &str = r#"{"type":"message_stop"}"#;

#[test]
fn line_replaces_its_draft() {
    let mut session = TestSession::new();
    session
        .message_start("m1")
        .text_block("m1", 0, "Ah")
        .text_delta("m1", 0, "oy");
    assert_eq!(session.entry_lines(), ["m1 streaming: Ahoy"]);
    session.assistant_block("m1", &text("Ahoy"));
    assert_eq!(session.entry_lines(), ["m1 streaming: Ahoy"]);
    session.block_stop("m1", 0).stream_event("m1", STOP);
    assert_eq!(session.entry_lines(), ["m1 complete: Ahoy"]);
}

#[test]
fn line_wins_over_a_different_draft() {
    for content in ["Ahoy there", "Ah", "Other", ""] {
        let mut session = TestSession::new();
        session.message_start("m1").text_block("m1", 0, "Ahoy");
        session.json();
        session
            .assistant_block("m1", &text(content))
            .block_stop("m1", 0)
            .stream_event("m1", STOP);
        assert_eq!(session.entry_lines(), [format!("m1 complete: {content}")]);
    }
}

#[test]
fn each_line_matches_its_own_draft() {
    let mut session = TestSession::new();
    // The agent sends no line for an empty block.
    session
        .message_start("m1")
        .text_block("m1", 0, "")
        .block_stop("m1", 0);
    session
        .text_block("m1", 1, "one")
        .assistant_block("m1", &text("one"))
        .block_stop("m1", 1);
    session
        .text_block("m1", 2, "one")
        .assistant_block("m1", &text("one"))
        .block_stop("m1", 2);
    session.stream_event("m1", STOP);
    assert_eq!(session.entry_lines(), ["m1 complete: one | one"]);
}

#[test]
fn late_lines_match_stopped_drafts() {
    let mut session = TestSession::new();
    session
        .message_start("m1")
        .text_block("m1", 0, "one")
        .block_stop("m1", 0);
    session
        .text_block("m1", 1, "two")
        .block_stop("m1", 1)
        .stream_event("m1", STOP);
    session
        .assistant_block("m1", &text("one"))
        .assistant_block("m1", &text("two"));
    assert_eq!(session.entry_lines(), ["m1 complete: one | two"]);
}

#[test]
fn abandoned_blocks_are_removed_finished_ones_kept() {
    let mut session = TestSession::new();
    session
        .message_start("m1")
        .text_block("m1", 0, "kept")
        .assistant_block("m1", &text("kept"))
        .block_stop("m1", 0);
    session.text_block("m1", 1, "void").block_stop("m1", 1);
    session.json();
    session.line(&format!(
        r#""type":"stream_event","event":{STOP},"api_message_id":"m1","abandoned_blocks":{{"api_message_id":"m1","from_block_index":0}}"#
    ));
    assert_eq!(session.entry_lines(), ["m1 complete: kept"]);
}

#[test]
fn message_without_blocks_is_removed() {
    let mut session = TestSession::new();
    session.message_start("m1");
    session.stream_event(
        "m1",
        &format!(
            r#"{{"type":"content_block_start","index":0,"content_block":{}}}"#,
            tool("t1", "Bash")
        ),
    );
    assert_eq!(session.json()["tool_calls"]["t1"]["state"], "pending");
    session.line(&format!(
        r#""type":"stream_event","event":{STOP},"api_message_id":"m1","abandoned_blocks":{{"api_message_id":"m1","from_block_index":0}}"#
    ));
    let json = session.json();
    assert_eq!(json["entries"].as_array().unwrap().len(), 0);
    assert_eq!(json["tool_calls"].as_object().unwrap().len(), 0);
}

#[test]
fn api_retry_discards_open_draft() {
    let mut session = TestSession::new();
    session
        .message_start("m1")
        .text_block("m1", 0, "lost")
        .block_stop("m1", 0)
        .text_block("m1", 1, "too");
    session.json();
    session.line(r#""type":"system","subtype":"api_retry","attempt":1,"max_retries":3,"retry_delay_ms":500,"error_status":529,"error":"overloaded""#);
    session.message_start("m2").text_block("m2", 0, "again");
    assert_eq!(
        session.entry_lines(),
        [
            "notice api_retry: attempt 1 of 3 in 500 ms: overloaded (529)",
            "m2 streaming: again"
        ]
    );
}

#[test]
fn new_draft_discards_open_blocks_of_previous() {
    let mut session = TestSession::new();
    session
        .message_start("m1")
        .text_block("m1", 0, "kept")
        .assistant_block("m1", &text("kept"))
        .block_stop("m1", 0);
    session
        .text_block("m1", 1, "lost")
        .message_start("m2")
        .text_block("m2", 0, "new");
    assert_eq!(
        session.entry_lines(),
        ["m1 aborted: kept", "m2 streaming: new"]
    );
}

#[test]
fn unstreamed_message_discards_draft() {
    let mut session = TestSession::new();
    session.message_start("m1").text_block("m1", 0, "Aho");
    session.json();
    session.assistant_block("m3", &text("Ahoy"));
    assert_eq!(session.entry_lines(), ["m3 complete: Ahoy"]);
    // When the draft was alive after all, its line brings it back.
    session.assistant_block("m1", &text("Ahoy?"));
    assert_eq!(
        session.entry_lines(),
        ["m1 aborted: Ahoy?", "m3 complete: Ahoy"]
    );
}

#[test]
fn tool_input_is_assembled_at_block_stop() {
    for (pieces, input) in [
        (
            vec![r#"{\"a\":"#, r"[1,2]}"],
            serde_json::json!({"a": [1, 2]}),
        ),
        (vec![""], serde_json::json!({})),
        (vec![], serde_json::json!({})),
        (vec![r#"{\"a\":"#], serde_json::Value::Null),
    ] {
        let mut session = TestSession::new();
        session.message_start("m1");
        let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"Bash","input":{}}}"#;
        session.stream_event("m1", start);
        for piece in pieces {
            session.stream_event("m1", &format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":"{piece}"}}}}"#));
        }
        assert_eq!(session.call_json("t1")["input"], serde_json::Value::Null);
        session.block_stop("m1", 0);
        assert_eq!(session.call_json("t1")["input"], input);
        assert_eq!(session.call_json("t1")["state"], "pending");
        session
            .assistant_block("m1", &tool("t1", "Bash"))
            .stream_event("m1", STOP);
        assert_eq!(
            session.call_json("t1")["input"],
            serde_json::json!({"n": 1})
        );
        assert_eq!(session.call_json("t1")["state"], "running");
        assert_eq!(session.entry_lines(), ["m1 complete: @t1"]);
    }
}

#[test]
fn surrogate_pair_over_two_deltas_is_joined() {
    let mut session = TestSession::new();
    session.message_start("m1").text_block("m1", 0, r"a\ud83d");
    assert_eq!(session.entry_lines(), ["m1 streaming: a\u{fffd}"]);
    session.text_delta("m1", 0, r"\ude00b");
    assert_eq!(session.entry_lines(), ["m1 streaming: a😀b"]);
}

#[test]
fn interrupted_message_stays_aborted() {
    let mut session = TestSession::new();
    session.message_start("m1").text_block("m1", 0, "half a wo");
    session.line(r#""type":"assistant","aborted":true,"message":{"id":"m1","content":[{"type":"text","text":"half a wo"}]}"#);
    session.block_stop("m1", 0).stream_event("m1", STOP);
    assert_eq!(session.entry_lines(), ["m1 aborted: half a wo"]);
}

#[test]
fn truncated_stream_aborts_message() {
    let mut session = TestSession::new();
    session
        .message_start("m1")
        .text_block("m1", 0, "half")
        .end();
    assert_eq!(session.entry_lines(), ["m1 aborted: half"]);
}

#[test]
fn draft_may_begin_in_the_middle() {
    let mut session = TestSession::new();
    session
        .text_delta("m1", 3, "dle")
        .text_delta("m1", 3, " part");
    assert_eq!(session.entry_lines(), ["m1 streaming: dle part"]);
    session
        .assistant_block("m1", &text("the middle part"))
        .block_stop("m1", 3)
        .stream_event("m1", STOP);
    assert_eq!(session.entry_lines(), ["m1 complete: the middle part"]);
}

#[test]
fn line_finishes_its_own_draft_while_the_next_is_open() {
    let mut session = TestSession::new();
    session
        .message_start("m1")
        .text_block("m1", 0, "AAA")
        .block_stop("m1", 0)
        .text_block("m1", 1, "BB")
        .assistant_block("m1", &text("AAA"));
    assert_eq!(session.entry_lines(), ["m1 streaming: AAA | BB"]);
    session
        .text_delta("m1", 1, "B")
        .assistant_block("m1", &text("BBB"))
        .block_stop("m1", 1);
    assert_eq!(session.entry_lines(), ["m1 streaming: AAA | BBB"]);
}

#[test]
fn blocks_of_one_line_keep_their_order() {
    let mut session = TestSession::new();
    session
        .message_start("m1")
        .text_block("m1", 0, "AAA")
        .block_stop("m1", 0)
        .text_block("m1", 1, "CCC")
        .assistant_block("m1", &format!("{},{}", text("AAA"), text("CCC")));
    assert_eq!(session.entry_lines(), ["m1 streaming: AAA | CCC"]);
}

#[test]
fn killed_run_keeps_its_streamed_text() {
    let mut session = TestSession::new();
    session
        .message_start("m1")
        .text_block("m1", 0, "on its way")
        .line(r#""type":"system","subtype":"init""#)
        .message_start("m2")
        .text_block("m2", 0, "second");
    assert_eq!(
        session.entry_lines(),
        ["m1 aborted: on its way", "m2 streaming: second"]
    );
}
