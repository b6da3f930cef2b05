use serde_json::json;

use crate::feed::Feed;
use crate::host::HostDecision;

const ALLOW: HostDecision<'static> = HostDecision::Allow {
    updated_input: None,
};

fn ask(feed: &mut Feed, request: &str, call: &str) {
    feed.raw(&format!(
        r#"{{"type":"control_request","request_id":"{request}","request":{{"subtype":"can_use_tool","tool_name":"Bash","input":{{"n":1}},"permission_suggestions":[{{"type":"setMode"}}],"tool_use_id":"{call}"}}}}"#
    ));
    feed.raw("\n");
}

fn asked() -> Feed {
    let mut feed = Feed::new();
    feed.calls("null", "t1", "Bash");
    ask(&mut feed, "r1", "t1");
    feed
}

/// The states of the first request and of its call, and the phase.
fn states(feed: &mut Feed) -> [String; 3] {
    let json = feed.json();
    let word = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    [
        word(&json["permissions"][0]["state"]),
        word(&json["tool_calls"]["t1"]["state"]),
        word(&json["status"]["phase"]),
    ]
}

#[test]
fn a_request_waits_for_its_answer() {
    let mut feed = asked();
    assert_eq!(
        states(&mut feed),
        ["open", "awaiting_permission", "awaiting_permission"]
    );
    let status = feed.transcript.status();
    assert_eq!(status.reason, "Bash waits for permission");
    let pending: Vec<_> = feed.transcript.pending_permissions().collect();
    assert_eq!(pending.len(), 1);
    assert_eq!(pending[0].input().unwrap(), r#"{"n":1}"#);
    assert_eq!(pending[0].suggestions().unwrap(), r#"[{"type":"setMode"}]"#);
    let json = feed.json()["permissions"][0].clone();
    let expected =
        json!({"request_id": "r1", "tool_use_id": "t1", "tool_name": "Bash", "state": "open"});
    assert_eq!(json, expected);
}

#[test]
fn the_first_answer_counts() {
    let mut feed = asked();
    feed.answers("r1", ALLOW)
        .answers("r1", HostDecision::Deny)
        .answers("r9", ALLOW);
    assert_eq!(states(&mut feed), ["allowed", "running", "running"]);
    let mut feed = asked();
    feed.answers("r1", HostDecision::Deny)
        .gives("t1", "no", true, "");
    assert_eq!(states(&mut feed), ["denied", "failed", "running"]);
}

#[test]
fn a_rewritten_input_stands_beside_the_models() {
    let mut feed = asked();
    let updated_input = Some(r#"{"n":2}"#);
    feed.answers("r1", HostDecision::Allow { updated_input });
    assert_eq!(feed.call("t1")["input"], json!({"n": 1}));
    let call = feed.transcript.tool_call("t1").unwrap();
    assert_eq!(call.updated_input().unwrap().text(), r#"{"n":2}"#);
}

#[test]
fn the_agent_may_take_a_request_back() {
    let mut feed = asked();
    feed.raw("{\"type\":\"control_cancel_request\",\"request_id\":\"r1\"}\n");
    assert_eq!(states(&mut feed), ["withdrawn", "running", "running"]);
}

#[test]
fn a_result_shows_that_somebody_answered() {
    let mut feed = asked();
    feed.gives("t1", "ok", false, "");
    assert_eq!(states(&mut feed), ["answered", "succeeded", "running"]);
}

#[test]
fn the_hosts_own_answer_may_come_back() {
    for (behavior, state) in [("allow", "allowed"), ("deny", "denied")] {
        let mut feed = asked();
        feed.raw(&format!(
            r#"{{"type":"control_response","response":{{"subtype":"success","request_id":"r1","response":{{"behavior":"{behavior}"}}}}}}"#
        ));
        feed.raw("\n");
        assert_eq!(states(&mut feed), [state, "running", "running"]);
    }
}

#[test]
fn a_request_that_comes_again_is_one() {
    let mut feed = asked();
    ask(&mut feed, "r1", "t1");
    assert_eq!(feed.json()["permissions"].as_array().unwrap().len(), 1);
}

#[test]
fn a_request_may_come_before_its_call() {
    let mut feed = Feed::new();
    ask(&mut feed, "r1", "t1");
    feed.calls("null", "t1", "Bash");
    assert_eq!(
        states(&mut feed),
        ["open", "awaiting_permission", "awaiting_permission"]
    );
}

#[test]
fn what_nobody_answered_expires() {
    let mut feed = asked();
    ask(&mut feed, "r2", "never announced");
    feed.ends();
    assert_eq!(states(&mut feed), ["expired", "lost", "ended"]);
    assert_eq!(feed.json()["permissions"][1]["state"], "orphaned");
    let mut feed = asked();
    feed.line(r#""type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools""#);
    assert_eq!(states(&mut feed), ["expired", "interrupted", "idle"]);
}

#[test]
fn a_call_runs_when_nothing_asks_for_it_any_more() {
    let mut feed = asked();
    ask(&mut feed, "r2", "t1");
    feed.answers("r2", ALLOW);
    assert_eq!(
        states(&mut feed),
        ["open", "awaiting_permission", "awaiting_permission"]
    );
    feed.answers("r1", ALLOW);
    assert_eq!(states(&mut feed), ["allowed", "running", "running"]);
}

#[test]
fn a_result_closes_every_request_of_its_call() {
    let mut feed = asked();
    ask(&mut feed, "r2", "t1");
    feed.gives("t1", "ok", false, "");
    assert_eq!(states(&mut feed), ["answered", "succeeded", "running"]);
    assert_eq!(feed.json()["permissions"][1]["state"], "answered");
}

#[test]
fn a_cancelled_turn_asks_for_nothing() {
    let mut feed = asked();
    ask(&mut feed, "r2", "t1");
    ask(&mut feed, "r3", "never announced");
    feed.raw("{\"type\":\"control_request\",\"request_id\":\"r4\",\"request\":{\"subtype\":\"can_use_tool\",\"tool_use_id\":\"theirs\",\"agent_id\":\"a1\"}}\n");
    feed.line(r#""type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming""#);
    let permissions = feed.json()["permissions"].clone();
    let states: Vec<_> = (0..4).map(|at| permissions[at]["state"].clone()).collect();
    // A sub-agent in the background may go on, and ask.
    assert_eq!(states, ["expired", "expired", "expired", "open"]);
}
