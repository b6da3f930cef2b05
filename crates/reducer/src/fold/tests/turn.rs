use serde_json::json;

use crate::host::{End, HostEvent, Meta};
use crate::test_util::{TestSession, first_json, text};

fn result(members: &str) -> String {
    format!(r#""type":"result","subtype":"success",{members}"#)
}

#[test]
fn outcome_follows_decision_table() {
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
        let mut session = TestSession::new();
        session.line(&result(members));
        assert_eq!(session.entry_lines(), [expected]);
        assert_eq!(session.phase(), "idle");
    }
}

#[test]
fn interrupt_of_older_agent_is_cancelled() {
    let mut session = TestSession::new();
    session.line(r#""type":"result","subtype":"error_during_execution","is_error":false"#);
    session.line(r#""type":"result","subtype":"error_during_execution","is_error":true"#);
    let outcomes: Vec<_> = session
        .entry_lines()
        .iter()
        .map(|line| line.split(':').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(outcomes, ["result cancelled", "result failed"]);
}

#[test]
fn result_closes_draft_of_its_turn() {
    for members in [
        r#""is_error":true,"terminal_reason":"aborted_streaming""#,
        r#""is_error":true,"result":"API Error""#,
        r#""is_error":false,"result":"ok""#,
    ] {
        let mut session = TestSession::new();
        session.message_start("m1").text_block("m1", 0, "as far as");
        session.line(&result(members));
        assert_eq!(session.entry_lines()[0], "m1 aborted: as far as");
        session.message_start("m2").text_block("m2", 0, "next");
        assert_eq!(session.entry_lines()[2], "m2 streaming: next");
    }
}

#[test]
fn result_keeps_drafts_of_agents() {
    let mut session = TestSession::new();
    session.tool_use("null", "a1", "Agent");
    session.line(r#""type":"stream_event","event":{"type":"message_start","message":{"id":"m1"}},"parent_tool_use_id":"a1""#);
    session.line(&result(r#""is_error":false"#));
    let draft = session.call_json("a1")["subagent"]["entries"][0].clone();
    assert_eq!(draft["state"], "streaming");
}

#[test]
fn result_has_counts_and_origin() {
    let mut session = TestSession::new();
    session.line(&result(r#""is_error":false,"result":"ok","num_turns":2,"duration_ms":7,"origin":{"kind":"task-notification"}"#));
    assert_eq!(
        first_json(&session)["entries"][0],
        json!({"kind": "result", "subtype": "success", "is_error": false, "outcome": "completed", "text": "ok", "origin": "task-notification", "num_turns": 2, "duration_ms": 7})
    );
}

#[test]
fn result_ends_turn_not_process() {
    let mut session = TestSession::new();
    assert_eq!(session.phase(), "starting");
    session.raw("{\"type\":\"keep_alive\"}\n");
    assert_eq!(session.phase(), "idle");
    session.assistant_block("m1", &text("one"));
    assert_eq!(session.phase(), "running");
    session.line(&result(r#""is_error":false"#));
    assert_eq!(session.phase(), "idle");
    session.line(r#""type":"system","subtype":"init""#);
    assert_eq!(session.phase(), "running");
    session.line(&result(r#""is_error":false,"queued_turn_count":1"#));
    assert_eq!(session.phase(), "running");
    session.end();
    assert_eq!(session.phase(), "ended");
    assert_eq!(session.transcript.status().reason, "end of recording");
}

#[test]
fn prompt_and_interrupt_change_status() {
    let mut session = TestSession::new();
    session
        .raw("{\"type\":\"keep_alive\"}\n")
        .prompt_sent("e1", "go");
    assert_eq!(session.transcript.status().reason, "a turn is open");
    session.host_event(HostEvent::InterruptRequested);
    assert_eq!(
        session.transcript.status().reason,
        "an interrupt was asked for"
    );
    session.tool_use("null", "t1", "Bash");
    assert_eq!(session.transcript.status().reason, "Bash runs");
    session.line(&result(
        r#""is_error":true,"terminal_reason":"aborted_tools""#,
    ));
    assert_eq!(session.transcript.status().reason, "the turn was cancelled");
}

#[test]
fn usage_is_cumulative_over_conversations() {
    let mut session = TestSession::new();
    let used = |cost: f64, tokens: u64| {
        result(&format!(
            r#""is_error":false,"total_cost_usd":{cost},"modelUsage":{{"m":{{"inputTokens":{tokens},"outputTokens":1,"cacheReadInputTokens":2,"cacheCreationInputTokens":3}}}}"#
        ))
    };
    session.line(&used(0.25, 10)).line(&used(0.5, 20));
    let usage = json!({"cost_usd": 0.5, "models": {"m": {"input_tokens": 20, "output_tokens": 1, "cache_read_tokens": 2, "cache_creation_tokens": 3}}});
    assert_eq!(session.json()["usage"], usage);
    session.line(r#""type":"conversation_reset","new_conversation_id":"n","trigger":"clear""#);
    session.line(&result(
        r#""is_error":false,"total_cost_usd":0,"modelUsage":{}"#,
    ));
    assert_eq!(session.json()["usage"]["cost_usd"], 0.5);
    session.line(&used(0.25, 5));
    assert_eq!(session.json()["usage"]["cost_usd"], 0.75);
    assert_eq!(session.json()["usage"]["models"]["m"]["input_tokens"], 25);
}

#[test]
fn session_spans_conversations() {
    let mut session = TestSession::new();
    session.line(r#""type":"system","subtype":"init","model":"m","cwd":"/c","claude_code_version":"2","permissionMode":"default""#);
    session.line(r#""type":"conversation_reset","new_conversation_id":"n","trigger":"clear""#);
    session.line(r#""type":"system","subtype":"status","status":null,"permissionMode":"plan""#);
    session.raw("{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s2\",\"uuid\":\"x1\",\"permissionMode\":\"plan\",\"model\":\"m2\"}\n");
    // A late line of the old conversation does not bring it back.
    session.assistant_block("m1", &text("late"));
    let json = session.json();
    assert_eq!(json["session_id"], "s2");
    assert_eq!(json["conversations"], json!(["s", "s2"]));
    assert_eq!((&json["model"], &json["cwd"]), (&json!("m2"), &json!("/c")));
    assert_eq!(
        (&json["cli_version"], &json["permission_mode"]),
        (&json!("2"), &json!("plan"))
    );
    assert_eq!(
        session.entry_lines()[0],
        "notice conversation_reset: the conversation was replaced (clear)"
    );
}

#[test]
fn models_and_modes_are_options() {
    let mut session = TestSession::new();
    session.line(
        r#""type":"control_response","response":{"subtype":"success","request_id":"i","response":{"commands":[],
            "models":[{"value":"default","resolvedModel":"m1","displayName":"Default"},
                {"value":"big","resolvedModel":"m1","displayName":"Big","description":"slow"},
                {"value":"small","resolvedModel":"m2"}],"current_permission_mode":"plan"}}"#
            .replace('\n', "")
            .as_str(),
    );
    let options = |session: &mut TestSession| session.json()["options"].take();
    let first = options(&mut session);
    assert_eq!(
        first[0],
        json!({"id": "model", "name": "Model", "category": "model", "value": null, "choices": [
            {"id": "default", "name": "Default", "description": null},
            {"id": "big", "name": "Big", "description": "slow"},
            {"id": "small", "name": "small", "description": null},
        ]})
    );
    assert_eq!(
        (&first[1]["id"], &first[1]["value"]),
        (&json!("mode"), &json!("plan"))
    );
    let init = |model: &str, mode: &str| {
        format!(r#""type":"system","subtype":"init","model":"{model}","permissionMode":"{mode}""#)
    };
    let values = |session: &mut TestSession, model: &str, mode: &str| {
        session.line(&init(model, mode));
        let options = options(session);
        (options[0]["value"].clone(), options[1]["value"].clone())
    };
    let value = |model: &str, mode: &str| (json!(model), json!(mode));
    assert_eq!(
        values(&mut session, "m1", "default"),
        value("default", "default")
    );
    assert_eq!(
        values(&mut session, "m2", "acceptEdits"),
        value("small", "acceptEdits")
    );
    assert_eq!(
        values(&mut session, "m9", "dontAsk"),
        value("m9", "dontAsk")
    );
    // A value that is no choice is added to them.
    let modes = options(&mut session)[1]["choices"].take();
    assert_eq!(modes.as_array().map(Vec::len), Some(4));
}

#[test]
fn only_relevant_lines_are_notices() {
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
            "compact_boundary: the history was compacted (auto): 9 tokens before, ? after",
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
        let mut session = TestSession::new();
        session.line(line);
        assert_eq!(session.entry_lines(), [format!("notice {notice}")]);
    }
    for line in [
        r#""type":"system","subtype":"hook_response","output":"x","outcome":"success""#,
        r#""type":"system","subtype":"thinking_tokens","estimated_tokens":1"#,
        r#""type":"rate_limit_event","rate_limit_info":{"status":"allowed"}"#,
        r#""type":"auth_status","isAuthenticating":true,"output":["x"]"#,
        r#""type":"system","subtype":"brand_new","n":1"#,
        r#""type":"prompt_suggestion","suggestion":"and now?""#,
    ] {
        let mut session = TestSession::new();
        session.line(line);
        assert_eq!(session.entry_lines(), [""; 0], "{line}");
    }
}

#[test]
fn unknown_lines_are_counted() {
    let mut session = TestSession::new();
    session
        .line(r#""type":"system","subtype":"brand_new""#)
        .line(r#""type":"odd""#)
        .line(r#""n":1"#);
    session
        .line(r#""type":"odd""#)
        .stream_event("m1", r#"{"type":"new_event"}"#);
    session.raw("{\"type\":\"control_request\",\"request_id\":\"r\",\"request\":{\"subtype\":\"elicitation\"}}\n");
    let expected = json!({"?": 1, "control_request/elicitation": 1, "odd": 2, "stream_event/new_event": 1, "system/brand_new": 1});
    assert_eq!(session.json()["stats"]["unknown"], expected);
}

#[test]
fn every_end_closes_what_came_since() {
    let end = |session: &mut TestSession, expected| {
        let exit = "signal 9";
        session
            .transcript
            .end(End::Process { exit, expected }, Meta::default());
    };
    let mut session = TestSession::new();
    session.tool_use("null", "t1", "Bash").end();
    session
        .tool_use("null", "t2", "Bash")
        .message_start("m1")
        .text_block("m1", 0, "so");
    session.end();
    assert_eq!(session.call_json("t2")["state"], "lost");
    assert_eq!(session.entry_lines()[2], "m1 aborted: so");
    session.tool_use("null", "t3", "Bash");
    for _ in 0..2 {
        end(&mut session, false);
        session.end();
        assert_eq!(session.call_json("t3")["state"], "lost");
        assert_eq!(session.transcript.status().reason, "signal 9");
        let lines = session.entry_lines();
        let last = "error unexpected_exit: the process ended unexpectedly: signal 9";
        assert_eq!((lines.len(), &*lines[4]), (5, last));
    }
    let revision = session.transcript.revision();
    end(&mut session, false);
    assert_eq!(session.transcript.revision(), revision);
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
fn pending_prompt_keeps_turn_open() {
    let mut session = TestSession::new();
    session
        .prompt_sent("a", "first")
        .line(&init(&["a"]))
        .prompt_sent("b", "second");
    session.line(&result_of(&["a"], r#""is_error":false"#));
    assert_eq!(session.phase(), "running");
    session.line(&init(&["b"]));
    session.line(&result_of(&["b"], r#""is_error":false"#));
    assert_eq!(session.phase(), "idle");
}

#[test]
fn late_result_does_not_close_next_turn() {
    let mut session = TestSession::new();
    session.prompt_sent("a", "first").line(&init(&["a"]));
    session
        .host_event(HostEvent::InterruptRequested)
        .prompt_sent("b", "second");
    session.line(&init(&["b"])).tool_use("null", "t1", "Bash");
    session.message_start("m2").text_block("m2", 0, "half a");
    let aborted = r#""is_error":true,"terminal_reason":"aborted_tools""#;
    session.line(&result_of(&["a"], aborted));
    assert_eq!(session.call_json("t1")["state"], "running");
    assert_eq!(session.transcript.status().reason, "Bash runs");
    assert!(
        session
            .entry_lines()
            .contains(&"m2 streaming: half a".to_owned())
    );
    assert!(
        session
            .entry_lines()
            .contains(&"result cancelled: -".to_owned())
    );
    session.tool_result("t1", "done", false, "");
    session.line(&result_of(&["b"], r#""is_error":false"#));
    assert_eq!(session.phase(), "idle");
    assert_eq!(session.transcript.status().reason, "the turn is completed");
}

#[test]
fn task_notification_result_does_not_close_prompt_turn() {
    let mut session = TestSession::new();
    let unasked = result(r#""is_error":false,"origin":{"kind":"task-notification"}"#);
    session
        .prompt_sent("a", "first")
        .line(&init(&["a"]))
        .tool_use("null", "t1", "Bash");
    session.line(&unasked);
    assert_eq!(session.call_json("t1")["state"], "running");
    session.tool_result("t1", "done", false, "");
    session.line(&result_of(&["a"], r#""is_error":false"#));
    assert_eq!(session.phase(), "idle");
    // A turn of its own is ended by it.
    session.line(r#""type":"system","subtype":"init""#);
    assert_eq!(session.phase(), "running");
    session.line(&unasked);
    assert_eq!(session.phase(), "idle");
}

#[test]
fn joined_prompt_is_answered_with_its_turn() {
    let mut session = TestSession::new();
    session
        .prompt_sent("a", "first")
        .line(&init(&["a"]))
        .prompt_sent("b", "joins");
    session.line(&result_of(&["a", "b"], r#""is_error":false"#));
    assert_eq!(session.phase(), "idle");
}

#[test]
fn dropped_prompt_closes_its_turn() {
    for state in ["cancelled", "discarded", "refused", "completed"] {
        let mut session = TestSession::new();
        session
            .raw("{\"type\":\"keep_alive\"}\n")
            .prompt_sent("a", "first");
        assert_eq!(session.phase(), "running");
        session.line(&format!(
            r#""type":"command_lifecycle","command_uuid":"a","state":"{state}""#
        ));
        assert_eq!(session.phase(), "idle", "{state}");
    }
    let mut session = TestSession::new();
    session
        .raw("{\"type\":\"keep_alive\"}\n")
        .prompt_sent("a", "known");
    session.host_event(HostEvent::PromptDropped { uuid: "a" });
    assert_eq!(session.phase(), "idle");
}

#[test]
fn replaced_conversation_is_not_a_turn() {
    let mut session = TestSession::new();
    session.prompt_sent("a", "/clear").line(&init(&["a"]));
    session.line(r#""type":"conversation_reset","new_conversation_id":"n","trigger":"clear""#);
    session.line(r#""type":"system","subtype":"init""#);
    session.line(&result_of(&["a"], r#""is_error":false"#));
    assert_eq!(session.phase(), "idle");
}

#[test]
fn unnamed_result_answers_all_prompts() {
    let mut session = TestSession::new();
    session.prompt_sent("a", "first").prompt_sent("b", "second");
    session.line(r#""type":"system","subtype":"init""#);
    session.line(&result(r#""is_error":false"#));
    assert_eq!(session.phase(), "idle");
}

#[test]
fn usage_is_summed_by_conversation() {
    let mut session = TestSession::new();
    let mut result = |id: &str, uuid: &str, cost: f64, input: u64, output: u64| {
        session.raw(&format!("{{\"type\":\"result\",\"session_id\":\"{id}\",\"uuid\":\"{uuid}\",\"is_error\":false,\"total_cost_usd\":{cost},\"modelUsage\":{{\"m\":{{\"inputTokens\":{input},\"outputTokens\":{output}}}}}}}\n"));
        let usage = session.json()["usage"].clone();
        let tokens = &usage["models"]["m"];
        (
            usage["cost_usd"].as_f64().unwrap(),
            tokens["input_tokens"].as_u64().unwrap(),
            tokens["output_tokens"].as_u64().unwrap(),
        )
    };
    assert_eq!(result("a", "1", 0.5, 1_000, 100), (0.5, 1_000, 100));
    assert_eq!(result("b", "2", 0.2, 10, 5), (0.7, 1_010, 105));
    // A late result of the first one, and an early one.
    assert_eq!(result("a", "3", 0.75, 1_500, 150), (0.95, 1_510, 155));
    assert_eq!(result("a", "4", 0.25, 500, 50), (0.95, 1_510, 155));
}
