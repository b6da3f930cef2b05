use serde_json::json;

use crate::feed::{Feed, text};
use crate::host::{End, HostEvent, Meta};

fn result(members: &str) -> String {
    format!(r#""type":"result","subtype":"success",{members}"#)
}

#[test]
fn outcomes_follow_the_decision_table() {
    for (members, expected) in [
        (r#""is_error":false,"result":"ok""#, "result completed: ok"),
        (
            r#""is_error":true,"result":"API Error""#,
            "result failed: API Error",
        ),
        (
            r#""is_error":true,"terminal_reason":"aborted_streaming","errors":["a","b"]"#,
            "result cancelled: a\nb",
        ),
        (
            r#""is_error":false,"deferred_tool_use":{"id":"t"}"#,
            "result suspended: -",
        ),
        (
            r#""is_error":false,"deferred_tool_use":null"#,
            "result completed: -",
        ),
        (r#""is_error":false,"result":"""#, "result completed: "),
    ] {
        let mut feed = Feed::new();
        feed.line(&result(members));
        assert_eq!(feed.said(), [expected]);
        assert_eq!(feed.phase(), "idle");
    }
}

#[test]
fn a_result_closes_the_draft_of_its_turn() {
    for members in [
        r#""is_error":true,"terminal_reason":"aborted_streaming""#,
        r#""is_error":true,"result":"API Error""#,
        r#""is_error":false,"result":"ok""#,
    ] {
        let mut feed = Feed::new();
        feed.drafts("m1").writes("m1", 0, "as far as");
        feed.line(&result(members));
        assert_eq!(feed.said()[0], "m1 aborted: as far as");
        feed.drafts("m2").writes("m2", 0, "next");
        assert_eq!(feed.said()[2], "m2 streaming: next");
    }
}

#[test]
fn a_result_leaves_the_drafts_of_agents() {
    let mut feed = Feed::new();
    feed.calls("null", "a1", "Agent");
    feed.line(r#""type":"stream_event","event":{"type":"message_start","message":{"id":"m1"}},"parent_tool_use_id":"a1""#);
    feed.line(&result(r#""is_error":false"#));
    let draft = feed.call("a1")["subagent"]["entries"][0].clone();
    assert_eq!(draft["state"], "streaming");
}

#[test]
fn a_result_has_its_numbers_and_its_origin() {
    let mut feed = Feed::new();
    feed.line(&result(r#""is_error":false,"result":"ok","num_turns":2,"duration_ms":7,"origin":{"kind":"task-notification"}"#));
    assert_eq!(
        feed.json()["entries"][0],
        json!({"kind": "result", "subtype": "success", "is_error": false, "outcome": "completed", "text": "ok", "origin": "task-notification", "num_turns": 2, "duration_ms": 7})
    );
}

#[test]
fn a_result_ends_the_turn_and_not_the_run() {
    let mut feed = Feed::new();
    assert_eq!(feed.phase(), "starting");
    feed.raw("{\"type\":\"keep_alive\"}\n");
    assert_eq!(feed.phase(), "idle");
    feed.says("m1", &text("one"));
    assert_eq!(feed.phase(), "running");
    feed.line(&result(r#""is_error":false"#));
    assert_eq!(feed.phase(), "idle");
    feed.line(r#""type":"system","subtype":"init""#);
    assert_eq!(feed.phase(), "running");
    feed.line(&result(r#""is_error":false,"queued_turn_count":1"#));
    assert_eq!(feed.phase(), "running");
    feed.ends();
    assert_eq!(feed.phase(), "ended");
    assert_eq!(feed.transcript.status().reason, "end of recording");
}

#[test]
fn a_prompt_and_an_interrupt_show_in_the_status() {
    let mut feed = Feed::new();
    feed.raw("{\"type\":\"keep_alive\"}\n").sends("e1", "go");
    assert_eq!(feed.transcript.status().reason, "a turn is open");
    feed.host(HostEvent::InterruptRequested);
    assert_eq!(
        feed.transcript.status().reason,
        "an interrupt was asked for"
    );
    feed.calls("null", "t1", "Bash");
    assert_eq!(feed.transcript.status().reason, "Bash runs");
    feed.line(&result(
        r#""is_error":true,"terminal_reason":"aborted_tools""#,
    ));
    assert_eq!(feed.transcript.status().reason, "the turn was cancelled");
}

#[test]
fn counters_are_cumulative_and_survive_a_reset() {
    let mut feed = Feed::new();
    let used = |cost: f64, tokens: u64| {
        result(&format!(
            r#""is_error":false,"total_cost_usd":{cost},"modelUsage":{{"m":{{"inputTokens":{tokens},"outputTokens":1,"cacheReadInputTokens":2,"cacheCreationInputTokens":3}}}}"#
        ))
    };
    feed.line(&used(0.25, 10)).line(&used(0.5, 20));
    let usage = json!({"cost_usd": 0.5, "models": {"m": {"input_tokens": 20, "output_tokens": 1, "cache_read_tokens": 2, "cache_creation_tokens": 3}}});
    assert_eq!(feed.json()["usage"], usage);
    feed.line(r#""type":"conversation_reset","new_conversation_id":"n","trigger":"clear""#);
    feed.line(&result(
        r#""is_error":false,"total_cost_usd":0,"modelUsage":{}"#,
    ));
    assert_eq!(feed.json()["usage"]["cost_usd"], 0.5);
    feed.line(&used(0.25, 5));
    assert_eq!(feed.json()["usage"]["cost_usd"], 0.75);
    assert_eq!(feed.json()["usage"]["models"]["m"]["input_tokens"], 25);
}

#[test]
fn the_session_outlives_its_conversations() {
    let mut feed = Feed::new();
    feed.line(r#""type":"system","subtype":"init","model":"m","cwd":"/c","claude_code_version":"2","permissionMode":"default""#);
    feed.line(r#""type":"conversation_reset","new_conversation_id":"n","trigger":"clear""#);
    feed.line(r#""type":"system","subtype":"status","status":null,"permissionMode":"plan""#);
    feed.raw("{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s2\",\"uuid\":\"x1\",\"permissionMode\":\"plan\",\"model\":\"m2\"}\n");
    // A late line of the old conversation does not bring it back.
    feed.says("m1", &text("late"));
    let json = feed.json();
    assert_eq!(json["session_id"], "s2");
    assert_eq!(json["conversations"], json!(["s", "s2"]));
    assert_eq!((&json["model"], &json["cwd"]), (&json!("m2"), &json!("/c")));
    assert_eq!(
        (&json["cli_version"], &json["permission_mode"]),
        (&json!("2"), &json!("plan"))
    );
    assert_eq!(
        feed.said()[0],
        "notice conversation_reset: the conversation was replaced (clear)"
    );
}

#[test]
fn notices_are_for_readers_and_noise_is_not() {
    for (line, notice) in [
        (
            r#""type":"system","subtype":"informational","content":"hook said no""#,
            "informational: hook said no",
        ),
        (
            r#""type":"system","subtype":"notification","key":"k","text":"look""#,
            "notification: look",
        ),
        (
            r#""type":"system","subtype":"local_command_output","content":"out""#,
            "local_command_output: out",
        ),
        (
            r#""type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"auto","pre_tokens":9}"#,
            "compact_boundary: the history was compacted (auto): 9 tokens before, ? behind",
        ),
        (
            r#""type":"system","subtype":"status","status":null,"compact_error":"too long""#,
            "status: the history was not compacted: too long",
        ),
        (
            r#""type":"system","subtype":"permission_denied","tool_name":"Bash","message":"no rule""#,
            "permission_denied: Bash was denied: no rule",
        ),
        (
            r#""type":"system","subtype":"model_refusal_no_fallback","original_model":"m","content":"""#,
            "model_refusal_no_fallback: m refused",
        ),
        (
            r#""type":"system","subtype":"session_writes_lost","error_code":"ENOSPC""#,
            "session_writes_lost: the agent could not write its own record: ENOSPC",
        ),
        (
            r#""type":"tool_use_summary","summary":"read three files""#,
            "tool_use_summary: read three files",
        ),
        (
            r#""type":"rate_limit_event","rate_limit_info":{"status":"rejected","rateLimitType":"five_hour"}"#,
            "rate_limit_event: the rate limit is reached five_hour",
        ),
        (
            r#""type":"auth_status","isAuthenticating":false,"error":"expired""#,
            "auth_status: expired",
        ),
        (
            r#""type":"system","subtype":"brand_new","content":"hello""#,
            "brand_new: hello",
        ),
        (
            r#""type":"brand_new","message":"hello""#,
            "brand_new: hello",
        ),
    ] {
        let mut feed = Feed::new();
        feed.line(line);
        assert_eq!(feed.said(), [format!("notice {notice}")]);
    }
    for line in [
        r#""type":"system","subtype":"hook_response","output":"x","outcome":"success""#,
        r#""type":"system","subtype":"thinking_tokens","estimated_tokens":1"#,
        r#""type":"rate_limit_event","rate_limit_info":{"status":"allowed"}"#,
        r#""type":"auth_status","isAuthenticating":true,"output":["x"]"#,
        r#""type":"system","subtype":"brand_new","n":1"#,
        r#""type":"prompt_suggestion","suggestion":"and now?""#,
    ] {
        let mut feed = Feed::new();
        feed.line(line);
        assert_eq!(feed.said(), [""; 0], "{line}");
    }
}

#[test]
fn what_is_not_known_is_counted() {
    let mut feed = Feed::new();
    feed.line(r#""type":"system","subtype":"brand_new""#)
        .line(r#""type":"odd""#)
        .line(r#""n":1"#);
    feed.line(r#""type":"odd""#)
        .streams("m1", r#"{"type":"new_event"}"#);
    feed.raw("{\"type\":\"control_request\",\"request_id\":\"r\",\"request\":{\"subtype\":\"elicitation\"}}\n");
    let expected = json!({"?": 1, "control_request/elicitation": 1, "odd": 2, "stream_event/new_event": 1, "system/brand_new": 1});
    assert_eq!(feed.json()["stats"]["unknown"], expected);
}

#[test]
fn every_end_closes_what_came_behind_the_last() {
    let end = |feed: &mut Feed, expected| {
        let exit = "signal 9";
        feed.transcript
            .end(End::Process { exit, expected }, Meta::default());
    };
    let mut feed = Feed::new();
    feed.calls("null", "t1", "Bash").ends();
    feed.calls("null", "t2", "Bash")
        .drafts("m1")
        .writes("m1", 0, "so");
    feed.ends();
    assert_eq!(feed.call("t2")["state"], "lost");
    assert_eq!(feed.said()[2], "m1 aborted: so");
    feed.calls("null", "t3", "Bash");
    for _ in 0..2 {
        end(&mut feed, false);
        feed.ends();
        assert_eq!(feed.call("t3")["state"], "lost");
        assert_eq!(feed.transcript.status().reason, "signal 9");
        let said = feed.said();
        let last = "error unexpected_exit: the process ended unexpectedly: signal 9";
        assert_eq!((said.len(), &*said[4]), (5, last));
    }
    let revision = feed.transcript.revision();
    end(&mut feed, false);
    assert_eq!(feed.transcript.revision(), revision);
}

/// A turn about these prompts.
fn init(uuids: &[&str]) -> String {
    format!(
        r#""type":"system","subtype":"init","user_message_uuids":{}"#,
        json!(uuids)
    )
}

fn result_of(uuids: &[&str], members: &str) -> String {
    let last = uuids.last().expect("a prompt");
    result(&format!(
        r#""user_message_uuid":"{last}","user_message_uuids":{},{members}"#,
        json!(uuids)
    ))
}

#[test]
fn a_prompt_that_waits_keeps_a_turn_open_behind_the_result_of_another() {
    let mut feed = Feed::new();
    feed.sends("a", "first")
        .line(&init(&["a"]))
        .sends("b", "second");
    feed.line(&result_of(&["a"], r#""is_error":false"#));
    assert_eq!(feed.phase(), "running");
    feed.line(&init(&["b"]));
    feed.line(&result_of(&["b"], r#""is_error":false"#));
    assert_eq!(feed.phase(), "idle");
}

#[test]
fn the_late_result_of_an_interrupted_turn_closes_nothing_of_the_next() {
    let mut feed = Feed::new();
    feed.sends("a", "first").line(&init(&["a"]));
    feed.host(HostEvent::InterruptRequested)
        .sends("b", "second");
    feed.line(&init(&["b"])).calls("null", "t1", "Bash");
    feed.drafts("m2").writes("m2", 0, "half a");
    let aborted = r#""is_error":true,"terminal_reason":"aborted_tools""#;
    feed.line(&result_of(&["a"], aborted));
    assert_eq!(feed.call("t1")["state"], "running");
    assert_eq!(feed.transcript.status().reason, "Bash runs");
    assert!(feed.said().contains(&"m2 streaming: half a".to_owned()));
    assert!(feed.said().contains(&"result cancelled: -".to_owned()));
    feed.gives("t1", "done", false, "");
    feed.line(&result_of(&["b"], r#""is_error":false"#));
    assert_eq!(feed.phase(), "idle");
    assert_eq!(feed.transcript.status().reason, "the turn is completed");
}

#[test]
fn the_result_of_a_task_notification_closes_no_turn_of_a_prompt() {
    let mut feed = Feed::new();
    let unasked = result(r#""is_error":false,"origin":{"kind":"task-notification"}"#);
    feed.sends("a", "first")
        .line(&init(&["a"]))
        .calls("null", "t1", "Bash");
    feed.line(&unasked);
    assert_eq!(feed.call("t1")["state"], "running");
    feed.gives("t1", "done", false, "");
    feed.line(&result_of(&["a"], r#""is_error":false"#));
    assert_eq!(feed.phase(), "idle");
    // A turn of its own is ended by it.
    feed.line(r#""type":"system","subtype":"init""#);
    assert_eq!(feed.phase(), "running");
    feed.line(&unasked);
    assert_eq!(feed.phase(), "idle");
}

#[test]
fn a_prompt_that_joins_a_turn_is_answered_with_it() {
    let mut feed = Feed::new();
    feed.sends("a", "first")
        .line(&init(&["a"]))
        .sends("b", "joins");
    feed.line(&result_of(&["a", "b"], r#""is_error":false"#));
    assert_eq!(feed.phase(), "idle");
}

#[test]
fn a_prompt_that_comes_to_nothing_leaves_no_turn_open() {
    for state in ["cancelled", "discarded", "refused", "completed"] {
        let mut feed = Feed::new();
        feed.raw("{\"type\":\"keep_alive\"}\n").sends("a", "first");
        assert_eq!(feed.phase(), "running");
        feed.line(&format!(
            r#""type":"command_lifecycle","command_uuid":"a","state":"{state}""#
        ));
        assert_eq!(feed.phase(), "idle", "{state}");
    }
    let mut feed = Feed::new();
    feed.raw("{\"type\":\"keep_alive\"}\n").sends("a", "known");
    feed.host(HostEvent::PromptDropped { uuid: "a" });
    assert_eq!(feed.phase(), "idle");
}

#[test]
fn a_conversation_that_is_replaced_is_no_second_turn() {
    let mut feed = Feed::new();
    feed.sends("a", "/clear").line(&init(&["a"]));
    feed.line(r#""type":"conversation_reset","new_conversation_id":"n","trigger":"clear""#);
    feed.line(r#""type":"system","subtype":"init""#);
    feed.line(&result_of(&["a"], r#""is_error":false"#));
    assert_eq!(feed.phase(), "idle");
}

#[test]
fn an_agent_that_names_no_prompts_answers_all_that_it_has() {
    let mut feed = Feed::new();
    feed.sends("a", "first").sends("b", "second");
    feed.line(r#""type":"system","subtype":"init""#);
    feed.line(&result(r#""is_error":false"#));
    assert_eq!(feed.phase(), "idle");
}
