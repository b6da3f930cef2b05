use serde_json::json;

use crate::feed::Feed;

const MARKER: &str = r#""type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}"#;
const ABORTED: &str = r#""type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools""#;

fn state(feed: &mut Feed, id: &str) -> String {
    feed.call(id)["state"].as_str().unwrap().to_owned()
}

#[test]
fn results_come_in_any_order() {
    let mut feed = Feed::new();
    feed.calls("null", "t1", "Bash").calls("null", "t2", "Read");
    assert_eq!(state(&mut feed, "t2"), "running");
    feed.gives("t2", "two", false, "")
        .gives("t1", "one", true, "");
    let (one, two) = (feed.call("t1"), feed.call("t2"));
    assert_eq!(
        (&one["state"], &two["state"]),
        (&json!("failed"), &json!("succeeded"))
    );
    assert_eq!(one["result"], json!({"is_error": true, "text": "one"}));
    assert_eq!(two["input"], json!({"n": 1}));
    let order: Vec<_> = feed.json()["tool_calls"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    assert_eq!(order, ["t1", "t2"]);
}

#[test]
fn the_first_result_counts() {
    let mut feed = Feed::new();
    feed.calls("null", "t1", "Bash")
        .gives("t1", "one", false, "")
        .gives("t1", "two", true, "");
    assert_eq!(
        feed.call("t1")["result"],
        json!({"is_error": false, "text": "one"})
    );
}

#[test]
fn parts_are_joined_and_what_is_no_text_has_a_placeholder() {
    let mut feed = Feed::new();
    feed.calls("null", "t1", "Read");
    feed.line(r#""type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"a\n"},{"type":"text","text":"b"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJDRA=="}},{"type":"document","source":{"type":"url","url":"u:1"}},{"type":"odd","n":1}]}]}"#);
    assert_eq!(
        feed.call("t1")["result"]["text"],
        "a\nb\n[image image/png 4 bytes]\n[document u:1]\n[odd 20 bytes]"
    );
    let result = feed.transcript.tool_call("t1").unwrap().result().unwrap();
    let raw: serde_json::Value = serde_json::from_str(&result.raw_parts().unwrap().text()).unwrap();
    assert_eq!(raw[2]["source"]["data"], "QUJDRA==");
}

#[test]
fn a_result_knows_its_line_in_the_log() {
    let mut feed = Feed::new();
    feed.calls("null", "t1", "Read");
    let from = feed.transcript.applied();
    feed.gives("t1", "x", false, "");
    let line = feed
        .transcript
        .tool_call("t1")
        .unwrap()
        .result()
        .unwrap()
        .line();
    assert_eq!(line, from..feed.transcript.applied());
}

#[test]
fn a_result_of_a_call_that_was_never_seen_is_kept() {
    let mut feed = Feed::new();
    feed.gives("t1", "orphan", false, "");
    let call = feed.call("t1");
    assert_eq!(
        (&call["name"], &call["state"]),
        (&json!(""), &json!("succeeded"))
    );
    assert_eq!(call["result"]["text"], "orphan");
}

#[test]
fn an_interrupt_is_told_from_a_refusal() {
    let rejected = r#","tool_use_result":"User rejected tool use""#;
    let decided = r#","tool_result_meta":[{"id":"t1","non_execution_kind":"user-rejected","permission_decision":{"decision":"reject"}}]"#;
    let cancelled = r#","tool_result_meta":[{"id":"t1","non_execution_kind":"cancelled"}]"#;
    for (more, before, behind) in [
        (rejected, "failed", "interrupted"),
        (decided, "failed", "failed"),
        (cancelled, "interrupted", "interrupted"),
        ("", "failed", "failed"),
    ] {
        let mut feed = Feed::new();
        feed.calls("null", "t1", "Bash")
            .gives("t1", "no", true, more);
        assert_eq!(state(&mut feed, "t1"), before, "{more}");
        feed.line(MARKER).line(ABORTED);
        assert_eq!(state(&mut feed, "t1"), behind, "{more}");
    }
}

#[test]
fn a_refusal_of_an_earlier_message_is_no_interrupt() {
    let mut feed = Feed::new();
    feed.calls("null", "t1", "Bash").gives(
        "t1",
        "no",
        true,
        r#","tool_use_result":"User rejected tool use""#,
    );
    feed.calls("null", "t2", "Bash").line(MARKER).line(ABORTED);
    assert_eq!(state(&mut feed, "t1"), "failed");
    assert_eq!(state(&mut feed, "t2"), "interrupted");
}

#[test]
fn what_is_open_when_a_turn_ends_is_closed_and_a_late_result_still_counts() {
    for (result, closed) in [
        (ABORTED, "interrupted"),
        (
            r#""type":"result","subtype":"success","is_error":false"#,
            "lost",
        ),
        (
            r#""type":"result","subtype":"success","is_error":false,"deferred_tool_use":{"id":"t1"}"#,
            "running",
        ),
    ] {
        let mut feed = Feed::new();
        feed.calls("null", "t1", "Bash").line(result);
        assert_eq!(state(&mut feed, "t1"), closed);
        feed.gives("t1", "late", false, "");
        assert_eq!(state(&mut feed, "t1"), "succeeded");
    }
}

#[test]
fn what_is_open_when_the_process_ends_is_lost() {
    let mut feed = Feed::new();
    feed.calls("null", "t1", "Bash")
        .calls("\"t1\"", "t2", "Bash")
        .ends();
    assert_eq!(
        (state(&mut feed, "t1"), state(&mut feed, "t2")),
        ("lost".into(), "lost".into())
    );
}
