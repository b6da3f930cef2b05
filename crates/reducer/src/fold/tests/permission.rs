use serde_json::json;

use crate::host::HostDecision;
use crate::test_util::{TestSession, first_json};

const ALLOW: HostDecision<'static> = HostDecision::Allow {
    updated_input: None,
};

fn ask(session: &mut TestSession, request: &str, call: &str) {
    session.raw(&format!(
        r#"{{"type":"control_request","request_id":"{request}","request":{{"subtype":"can_use_tool","tool_name":"Bash","input":{{"n":1}},"permission_suggestions":[{{"type":"setMode"}}],"tool_use_id":"{call}"}}}}"#
    ));
    session.raw("\n");
}

fn asked() -> TestSession {
    let mut session = TestSession::new();
    session.tool_use("null", "t1", "Bash");
    ask(&mut session, "r1", "t1");
    session
}

/// The states of the first request and of its call, and the phase.
fn states(session: &mut TestSession) -> [String; 3] {
    let json = session.json();
    let word = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    [
        word(&json["permissions"][0]["state"]),
        word(&json["tool_calls"]["t1"]["state"]),
        word(&json["status"]["phase"]),
    ]
}

#[test]
fn request_is_open_until_answered() {
    let mut session = asked();
    assert_eq!(
        states(&mut session),
        ["open", "awaiting_permission", "awaiting_permission"]
    );
    let status = session.transcript.status();
    assert_eq!(status.reason, "Bash waits for permission");
    let pending: Vec<_> = session.transcript.pending_permissions().collect();
    assert_eq!(pending.len(), 1);
    assert_eq!(pending[0].input().unwrap(), r#"{"n":1}"#);
    assert_eq!(pending[0].suggestions().unwrap(), r#"[{"type":"setMode"}]"#);
    let expected =
        json!({"request_id": "r1", "tool_use_id": "t1", "tool_name": "Bash", "state": "open"});
    assert_eq!(first_json(&session)["permissions"][0], expected);
    let request = session.json()["permissions"][0].clone();
    assert_eq!(request["kind"], "permission");
    assert_eq!(request["options"][0]["kind"], "allow_once");
    assert_eq!(request["decided_by"], json!(null));
}

#[test]
fn first_answer_wins() {
    let mut session = asked();
    session
        .permission_answered("r1", ALLOW)
        .permission_answered("r1", HostDecision::Deny)
        .permission_answered("r9", ALLOW);
    assert_eq!(states(&mut session), ["allowed", "running", "running"]);
    let mut session = asked();
    session
        .permission_answered("r1", HostDecision::Deny)
        .tool_result("t1", "no", true, "");
    assert_eq!(states(&mut session), ["denied", "failed", "running"]);
}

#[test]
fn updated_input_is_kept_beside_the_original() {
    let mut session = asked();
    let updated_input = Some(r#"{"n":2}"#);
    session.permission_answered("r1", HostDecision::Allow { updated_input });
    assert_eq!(session.call_json("t1")["input"], json!({"n": 1}));
    let call = session.transcript.tool_call("t1").unwrap();
    assert_eq!(call.updated_input().unwrap().text(), r#"{"n":2}"#);
}

#[test]
fn cancelled_request_is_withdrawn() {
    let mut session = asked();
    session.raw("{\"type\":\"control_cancel_request\",\"request_id\":\"r1\"}\n");
    assert_eq!(states(&mut session), ["withdrawn", "running", "running"]);
}

#[test]
fn result_implies_an_answer() {
    let mut session = asked();
    session.tool_result("t1", "ok", false, "");
    assert_eq!(states(&mut session), ["answered", "succeeded", "running"]);
}

#[test]
fn echoed_answer_closes_request() {
    for (behavior, state) in [("allow", "allowed"), ("deny", "denied")] {
        let mut session = asked();
        session.raw(&format!(
            r#"{{"type":"control_response","response":{{"subtype":"success","request_id":"r1","response":{{"behavior":"{behavior}"}}}}}}"#
        ));
        session.raw("\n");
        assert_eq!(states(&mut session), [state, "running", "running"]);
    }
}

#[test]
fn repeated_request_is_added_once() {
    let mut session = asked();
    ask(&mut session, "r1", "t1");
    assert_eq!(session.json()["permissions"].as_array().unwrap().len(), 1);
}

#[test]
fn request_may_precede_its_call() {
    let mut session = TestSession::new();
    ask(&mut session, "r1", "t1");
    session.tool_use("null", "t1", "Bash");
    assert_eq!(
        states(&mut session),
        ["open", "awaiting_permission", "awaiting_permission"]
    );
}

#[test]
fn unanswered_request_expires() {
    let mut session = asked();
    ask(&mut session, "r2", "never announced");
    session.end();
    assert_eq!(states(&mut session), ["expired", "lost", "ended"]);
    assert_eq!(session.json()["permissions"][1]["state"], "orphaned");
    let mut session = asked();
    session.line(r#""type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools""#);
    assert_eq!(states(&mut session), ["expired", "interrupted", "idle"]);
}

#[test]
fn call_runs_after_its_last_request_closes() {
    let mut session = asked();
    ask(&mut session, "r2", "t1");
    session.permission_answered("r2", ALLOW);
    assert_eq!(
        states(&mut session),
        ["open", "awaiting_permission", "awaiting_permission"]
    );
    session.permission_answered("r1", ALLOW);
    assert_eq!(states(&mut session), ["allowed", "running", "running"]);
}

#[test]
fn result_closes_all_requests_of_its_call() {
    let mut session = asked();
    ask(&mut session, "r2", "t1");
    session.tool_result("t1", "ok", false, "");
    assert_eq!(states(&mut session), ["answered", "succeeded", "running"]);
    assert_eq!(session.json()["permissions"][1]["state"], "answered");
}

#[test]
fn cancelled_turn_expires_its_requests() {
    let mut session = asked();
    ask(&mut session, "r2", "t1");
    ask(&mut session, "r3", "never announced");
    session.raw("{\"type\":\"control_request\",\"request_id\":\"r4\",\"request\":{\"subtype\":\"can_use_tool\",\"tool_use_id\":\"theirs\",\"agent_id\":\"a1\"}}\n");
    session.line(r#""type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming""#);
    let permissions = session.json()["permissions"].clone();
    let states: Vec<_> = (0..4).map(|at| permissions[at]["state"].clone()).collect();
    // A sub-agent in the background may go on, and ask.
    assert_eq!(states, ["expired", "expired", "expired", "open"]);
}
