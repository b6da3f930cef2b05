use serde_json::json;

use crate::test_util::TestSession;

const MARKER: &str = r#""type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}"#;
const ABORTED: &str = r#""type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools""#;

fn state(session: &mut TestSession, id: &str) -> String {
    session.call_json(id)["state"].as_str().unwrap().to_owned()
}

#[test]
fn results_arrive_in_any_order() {
    let mut session = TestSession::new();
    session
        .tool_use("null", "t1", "Bash")
        .tool_use("null", "t2", "Read");
    assert_eq!(state(&mut session, "t2"), "running");
    session
        .tool_result("t2", "two", false, "")
        .tool_result("t1", "one", true, "");
    let (one, two) = (session.call_json("t1"), session.call_json("t2"));
    assert_eq!(
        (&one["state"], &two["state"]),
        (&json!("failed"), &json!("succeeded"))
    );
    assert_eq!(one["result"], json!({"is_error": true, "text": "one"}));
    assert_eq!(two["input"], json!({"n": 1}));
    let order: Vec<_> = session.json()["tool_calls"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    assert_eq!(order, ["t1", "t2"]);
}

#[test]
fn first_result_wins() {
    let mut session = TestSession::new();
    session
        .tool_use("null", "t1", "Bash")
        .tool_result("t1", "one", false, "")
        .tool_result("t1", "two", true, "");
    assert_eq!(
        session.call_json("t1")["result"],
        json!({"is_error": false, "text": "one"})
    );
}

#[test]
fn result_parts_are_joined_with_placeholders() {
    let mut session = TestSession::new();
    session.tool_use("null", "t1", "Read");
    session.line(r#""type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"a\n"},{"type":"text","text":"b"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJDRA=="}},{"type":"document","source":{"type":"url","url":"u:1"}},{"type":"odd","n":1}]}]}"#);
    assert_eq!(
        session.call_json("t1")["result"]["text"],
        "a\nb\n[image image/png 4 bytes]\n[document u:1]\n[odd 20 bytes]"
    );
    let result = session
        .transcript
        .tool_call("t1")
        .unwrap()
        .result()
        .unwrap();
    let raw: serde_json::Value = serde_json::from_str(&result.raw_parts().unwrap().text()).unwrap();
    assert_eq!(raw[2]["source"]["data"], "QUJDRA==");
}

#[test]
fn result_has_its_byte_range() {
    let mut session = TestSession::new();
    session.tool_use("null", "t1", "Read");
    let from = session.transcript.applied();
    session.tool_result("t1", "x", false, "");
    let line = session
        .transcript
        .tool_call("t1")
        .unwrap()
        .result()
        .unwrap()
        .line();
    assert_eq!(line, from..session.transcript.applied() - 1);
}

#[test]
fn result_of_unknown_call_is_kept() {
    let mut session = TestSession::new();
    session.tool_result("t1", "orphan", false, "");
    let call = session.call_json("t1");
    assert_eq!(
        (&call["name"], &call["state"]),
        (&json!(""), &json!("succeeded"))
    );
    assert_eq!(call["result"]["text"], "orphan");
}

#[test]
fn interrupt_differs_from_rejection() {
    let rejected = r#","tool_use_result":"User rejected tool use""#;
    let decided = r#","tool_result_meta":[{"id":"t1","non_execution_kind":"user-rejected","permission_decision":{"decision":"reject"}}]"#;
    let cancelled = r#","tool_result_meta":[{"id":"t1","non_execution_kind":"cancelled"}]"#;
    for (more, before, after) in [
        (rejected, "failed", "interrupted"),
        (decided, "failed", "failed"),
        (cancelled, "interrupted", "interrupted"),
        ("", "failed", "failed"),
    ] {
        let mut session = TestSession::new();
        session
            .tool_use("null", "t1", "Bash")
            .tool_result("t1", "no", true, more);
        assert_eq!(state(&mut session, "t1"), before, "{more}");
        session.line(MARKER).line(ABORTED);
        assert_eq!(state(&mut session, "t1"), after, "{more}");
    }
}

#[test]
fn earlier_rejection_is_not_an_interrupt() {
    let mut session = TestSession::new();
    session.tool_use("null", "t1", "Bash").tool_result(
        "t1",
        "no",
        true,
        r#","tool_use_result":"User rejected tool use""#,
    );
    session
        .tool_use("null", "t2", "Bash")
        .line(MARKER)
        .line(ABORTED);
    assert_eq!(state(&mut session, "t1"), "failed");
    assert_eq!(state(&mut session, "t2"), "interrupted");
}

#[test]
fn open_call_closes_with_turn_and_accepts_late_result() {
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
        let mut session = TestSession::new();
        session.tool_use("null", "t1", "Bash").line(result);
        assert_eq!(state(&mut session, "t1"), closed);
        session.tool_result("t1", "late", false, "");
        assert_eq!(state(&mut session, "t1"), "succeeded");
    }
}

#[test]
fn open_call_is_lost_at_process_end() {
    let mut session = TestSession::new();
    session
        .tool_use("null", "t1", "Bash")
        .tool_use("\"t1\"", "t2", "Bash")
        .end();
    assert_eq!(
        (state(&mut session, "t1"), state(&mut session, "t2")),
        ("lost".into(), "lost".into())
    );
}
