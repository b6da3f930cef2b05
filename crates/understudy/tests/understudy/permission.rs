//! Permission requests and their answers.

use serde_json::{Value, json};

use crate::process::{Process, all, find, names, run_scenario, texts};

const ASKS: &str = "[[turn]]\nsteps = [
    { tool = { name = 'Bash', input = { command = 'rm x' }, ask = true,
      result = 'ran {{input.command}}', allowed = [ { text = 'thanks' } ],
      denied = [ { text = 'pity' } ] } },
    { text = 'end' } ]";
const STDIO: &[&str] = &["--permission-prompt-tool", "stdio"];

fn permission_request(args: &[&str]) -> (Process, Value) {
    let mut process = Process::script(ASKS, args);
    process.prompt("go");
    let ask = process.until("control_request").pop().unwrap();
    (process, ask)
}

fn result_block(events: &[Value]) -> &Value {
    &find(events, "user")["message"]["content"][0]
}

#[test]
fn allowed_call_has_updated_input() {
    let (mut process, ask) = permission_request(STDIO);
    assert_eq!(ask["request"]["subtype"], "can_use_tool");
    assert_eq!(ask["request"]["input"]["command"], "rm x");
    process.answer(
        &ask,
        &json!({"behavior": "allow", "updatedInput": {"command": "ls x"}}),
    );
    let run = process.finish();
    let events = run.events();
    assert_eq!(result_block(&events)["content"], "ran ls x");
    assert_eq!(texts(&events), ["thanks", "end"]);
    assert_eq!(run.code(), Some(0));
}

#[test]
fn denied_call_fails_and_turn_continues() {
    let (mut process, ask) = permission_request(STDIO);
    process.answer(&ask, &json!({"behavior": "deny", "message": "not today"}));
    let events = process.finish().events();
    assert_eq!(result_block(&events)["is_error"], true);
    assert_eq!(result_block(&events)["content"], "not today");
    assert_eq!(texts(&events), ["pity", "end"]);
    let denials = &find(&events, "result/success")["permission_denials"];
    assert_eq!(denials[0]["tool_input"]["command"], "rm x");
}

#[test]
fn denial_with_interrupt_ends_turn() {
    let (mut process, ask) = permission_request(STDIO);
    process.answer(
        &ask,
        &json!({"behavior": "deny", "message": "stop", "interrupt": true}),
    );
    let run = process.finish();
    let events = run.events();
    assert_eq!(
        names(&events),
        ["user", "user", "result/error_during_execution"]
    );
    assert_eq!(events[2]["terminal_reason"], "aborted_tools");
    assert_eq!(run.code(), Some(1));
}

#[test]
fn repeated_and_unknown_answers_are_ignored() {
    let (mut process, ask) = permission_request(STDIO);
    process.answer(
        &json!({"request_id": "never-asked"}),
        &json!({"behavior": "allow"}),
    );
    process.answer(&ask, &json!({"behavior": "allow"}));
    process.answer(&ask, &json!({"behavior": "deny", "message": "too late"}));
    let events = process.finish().events();
    assert_eq!(all(&events, "user").len(), 1);
    assert_eq!(result_block(&events)["is_error"], false);
}

#[test]
fn error_or_malformed_answer_fails_call() {
    let (mut process, ask) = permission_request(STDIO);
    let body = json!({"subtype": "error", "request_id": ask["request_id"], "error": "no ui"});
    process.send(&json!({"type": "control_response", "response": body}));
    let events = process.finish().events();
    assert_eq!(
        result_block(&events)["content"],
        "Tool permission request failed: no ui"
    );
    let (mut process, ask) = permission_request(STDIO);
    process.answer(&ask, &json!({"nonsense": 1}));
    assert_eq!(result_block(&process.finish().events())["is_error"], true);
}

#[test]
fn eof_denies_and_turn_continues() {
    let (process, _) = permission_request(STDIO);
    let run = process.finish();
    let events = run.events();
    let content = result_block(&events)["content"].as_str().unwrap();
    assert!(content.contains("Stream closed"), "{content}");
    assert_eq!(texts(&events), ["pity", "end"]);
    assert_eq!(run.code(), Some(0));
}

#[test]
fn call_is_denied_without_permission_prompt_tool() {
    let run = run_scenario(ASKS, &[]);
    let events = run.events();
    assert_eq!(
        find(&events, "system/permission_denied")["tool_name"],
        "Bash"
    );
    assert!(all(&events, "control_request").is_empty());
    assert_eq!(texts(&events), ["pity", "end"]);
}

#[test]
fn permission_mode_allows_without_request() {
    let bypass = run_scenario(ASKS, &["--dangerously-skip-permissions"]);
    assert_eq!(texts(&bypass.events()), ["thanks", "end"]);
    let edit = ASKS.replace("'Bash'", "'Edit'");
    let accept = run_scenario(&edit, &["--permission-mode", "acceptEdits"]);
    assert_eq!(texts(&accept.events()), ["thanks", "end"]);
}

#[test]
fn answer_changes_permission_mode() {
    let (mut process, ask) = permission_request(STDIO);
    let update = json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"});
    process.answer(
        &ask,
        &json!({"behavior": "allow", "updatedPermissions": [update]}),
    );
    let events = process.finish().events();
    assert_eq!(
        find(&events, "system/status")["permissionMode"],
        "acceptEdits"
    );
}

#[test]
fn replay_echoes_answer() {
    let (mut process, ask) = permission_request(&[
        "--permission-prompt-tool",
        "stdio",
        "--replay-user-messages",
    ]);
    process.answer(&ask, &json!({"behavior": "allow"}));
    let echo = process.until("control_response").pop().unwrap();
    assert_eq!(echo["response"]["request_id"], ask["request_id"]);
}

#[test]
fn interrupt_withdraws_request_first() {
    let (mut process, ask) = permission_request(STDIO);
    process.request("int-1", &json!({"subtype": "interrupt"}));
    let events = process.until("result/error_during_execution");
    assert_eq!(
        names(&events),
        [
            "control_cancel_request",
            "control_response",
            "user",
            "user",
            "result/error_during_execution",
        ]
    );
    assert_eq!(events[0]["request_id"], ask["request_id"]);
    process.answer(&ask, &json!({"behavior": "allow"}));
    assert!(process.is_silent());
}

#[test]
fn parallel_agents_request_permission() {
    let agent = |name: &str| {
        format!(
            "{{ agent = {{ description = '{name}', prompt = 'p', steps = [ {{ tool = {{ name = \
         'Bash', input = {{ command = '{name}' }}, ask = true, result = '{name}' }} }} ] }} }}"
        )
    };
    let toml = format!(
        "[[turn]]\nsteps = [ {{ parallel = [ {}, {} ] }} ]",
        agent("left"),
        agent("right")
    );
    let mut process = Process::script(&toml, STDIO);
    process.prompt("go");
    let left = process.until("control_request").pop().unwrap();
    let right = process.until("control_request").pop().unwrap();
    assert_ne!(left["request"]["agent_id"], right["request"]["agent_id"]);
    process.answer(&right, &json!({"behavior": "allow"}));
    let first = process.until("user").pop().unwrap();
    assert_eq!(first["agent_id"], right["request"]["agent_id"]);
    process.answer(&left, &json!({"behavior": "allow"}));
    assert_eq!(process.finish().code(), Some(0));
}

#[test]
fn withdrawn_request_ignores_answer() {
    let toml = ASKS.replace("ask = true", "ask = true, withdraw_ms = 10");
    let mut process = Process::script(&toml, STDIO);
    process.prompt("go");
    let ask = process.until("control_request").pop().unwrap();
    let cancel = process.next();
    assert_eq!(
        names(std::slice::from_ref(&cancel)),
        ["control_cancel_request"]
    );
    assert_eq!(cancel["request_id"], ask["request_id"]);
    process.answer(&ask, &json!({"behavior": "allow"}));
    let events = process.finish().events();
    assert_eq!(result_block(&events)["is_error"], true);
    assert_eq!(texts(&events), ["pity", "end"]);
}

#[test]
fn other_control_requests_are_sent() {
    let toml = "[[turn]]\nsteps = [ { request = { request = { subtype = 'hook_callback', \
                callback_id = 'hook_0', input = { cwd = '{{cwd}}' } } } }, { text = 'end' } ]";
    let mut process = Process::script(toml, &[]);
    process.prompt("go");
    let ask = process.until("control_request").pop().unwrap();
    assert_eq!(ask["request"]["callback_id"], "hook_0");
    assert!(process.is_silent());
    process.answer(&ask, &json!({}));
    assert_eq!(texts(&process.finish().events()), ["end"]);
}
