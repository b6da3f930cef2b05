//! Permission questions and all the ways to answer them.

use serde_json::{Value, json};

use crate::stand::{Stand, all, find, names, once_scripted, texts};

const ASKS: &str = "[[turn]]\nsteps = [
    { tool = { name = 'Bash', input = { command = 'rm x' }, ask = true,
      result = 'ran {{input.command}}', allowed = [ { text = 'thanks' } ],
      denied = [ { text = 'pity' } ] } },
    { text = 'end' } ]";
const STDIO: &[&str] = &["--permission-prompt-tool", "stdio"];

fn asked(args: &[&str]) -> (Stand, Value) {
    let mut stand = Stand::script(ASKS, args);
    stand.prompt("go");
    let ask = stand.until("control_request").pop().unwrap();
    (stand, ask)
}

fn result_block(frames: &[Value]) -> &Value {
    &find(frames, "user")["message"]["content"][0]
}

#[test]
fn an_allowed_call_runs_with_the_updated_input() {
    let (mut stand, ask) = asked(STDIO);
    assert_eq!(ask["request"]["subtype"], "can_use_tool");
    assert_eq!(ask["request"]["input"]["command"], "rm x");
    stand.answer(
        &ask,
        &json!({"behavior": "allow", "updatedInput": {"command": "ls x"}}),
    );
    let run = stand.finish();
    let frames = run.frames();
    assert_eq!(result_block(&frames)["content"], "ran ls x");
    assert_eq!(texts(&frames), ["thanks", "end"]);
    assert_eq!(run.code(), Some(0));
}

#[test]
fn a_denied_call_fails_and_the_turn_goes_on() {
    let (mut stand, ask) = asked(STDIO);
    stand.answer(&ask, &json!({"behavior": "deny", "message": "not today"}));
    let frames = stand.finish().frames();
    assert_eq!(result_block(&frames)["is_error"], true);
    assert_eq!(result_block(&frames)["content"], "not today");
    assert_eq!(texts(&frames), ["pity", "end"]);
    let denials = &find(&frames, "result/success")["permission_denials"];
    assert_eq!(denials[0]["tool_input"]["command"], "rm x");
}

#[test]
fn a_denial_with_interrupt_ends_the_turn() {
    let (mut stand, ask) = asked(STDIO);
    stand.answer(
        &ask,
        &json!({"behavior": "deny", "message": "stop", "interrupt": true}),
    );
    let run = stand.finish();
    let frames = run.frames();
    assert_eq!(
        names(&frames),
        ["user", "user", "result/error_during_execution"]
    );
    assert_eq!(frames[2]["terminal_reason"], "aborted_tools");
    assert_eq!(run.code(), Some(1));
}

#[test]
fn second_and_unknown_answers_are_ignored() {
    let (mut stand, ask) = asked(STDIO);
    stand.answer(
        &json!({"request_id": "never-asked"}),
        &json!({"behavior": "allow"}),
    );
    stand.answer(&ask, &json!({"behavior": "allow"}));
    stand.answer(&ask, &json!({"behavior": "deny", "message": "too late"}));
    let frames = stand.finish().frames();
    assert_eq!(all(&frames, "user").len(), 1);
    assert_eq!(result_block(&frames)["is_error"], false);
}

#[test]
fn an_error_or_a_malformed_answer_fails_the_call() {
    let (mut stand, ask) = asked(STDIO);
    let body = json!({"subtype": "error", "request_id": ask["request_id"], "error": "no ui"});
    stand.send(&json!({"type": "control_response", "response": body}));
    let frames = stand.finish().frames();
    assert_eq!(
        result_block(&frames)["content"],
        "Tool permission request failed: no ui"
    );
    let (mut stand, ask) = asked(STDIO);
    stand.answer(&ask, &json!({"nonsense": 1}));
    assert_eq!(result_block(&stand.finish().frames())["is_error"], true);
}

#[test]
fn the_end_of_stdin_denies_and_the_turn_goes_on() {
    let (stand, _) = asked(STDIO);
    let run = stand.finish();
    let frames = run.frames();
    let content = result_block(&frames)["content"].as_str().unwrap();
    assert!(content.contains("Stream closed"), "{content}");
    assert_eq!(texts(&frames), ["pity", "end"]);
    assert_eq!(run.code(), Some(0));
}

#[test]
fn without_a_prompt_tool_it_is_denied_unasked() {
    let run = once_scripted(ASKS, &[]);
    let frames = run.frames();
    assert_eq!(
        find(&frames, "system/permission_denied")["tool_name"],
        "Bash"
    );
    assert!(all(&frames, "control_request").is_empty());
    assert_eq!(texts(&frames), ["pity", "end"]);
}

#[test]
fn modes_may_make_the_question_needless() {
    let bypass = once_scripted(ASKS, &["--dangerously-skip-permissions"]);
    assert_eq!(texts(&bypass.frames()), ["thanks", "end"]);
    let edit = ASKS.replace("'Bash'", "'Edit'");
    let accept = once_scripted(&edit, &["--permission-mode", "acceptEdits"]);
    assert_eq!(texts(&accept.frames()), ["thanks", "end"]);
}

#[test]
fn an_answer_may_change_the_mode() {
    let (mut stand, ask) = asked(STDIO);
    let update = json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"});
    stand.answer(
        &ask,
        &json!({"behavior": "allow", "updatedPermissions": [update]}),
    );
    let frames = stand.finish().frames();
    assert_eq!(
        find(&frames, "system/status")["permissionMode"],
        "acceptEdits"
    );
}

#[test]
fn replay_echoes_the_hosts_own_answer() {
    let (mut stand, ask) = asked(&[
        "--permission-prompt-tool",
        "stdio",
        "--replay-user-messages",
    ]);
    stand.answer(&ask, &json!({"behavior": "allow"}));
    let echo = stand.until("control_response").pop().unwrap();
    assert_eq!(echo["response"]["request_id"], ask["request_id"]);
}

#[test]
fn an_interrupt_withdraws_the_question_before_its_receipt() {
    let (mut stand, ask) = asked(STDIO);
    stand.request("int-1", &json!({"subtype": "interrupt"}));
    let frames = stand.until("result/error_during_execution");
    assert_eq!(
        names(&frames),
        [
            "control_cancel_request",
            "control_response",
            "user",
            "user",
            "result/error_during_execution",
        ]
    );
    assert_eq!(frames[0]["request_id"], ask["request_id"]);
    stand.answer(&ask, &json!({"behavior": "allow"}));
    assert!(stand.is_silent());
}

#[test]
fn several_agents_may_ask_at_once() {
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
    let mut stand = Stand::script(&toml, STDIO);
    stand.prompt("go");
    let left = stand.until("control_request").pop().unwrap();
    let right = stand.until("control_request").pop().unwrap();
    assert_ne!(left["request"]["agent_id"], right["request"]["agent_id"]);
    stand.answer(&right, &json!({"behavior": "allow"}));
    let first = stand.until("user").pop().unwrap();
    assert_eq!(first["agent_id"], right["request"]["agent_id"]);
    stand.answer(&left, &json!({"behavior": "allow"}));
    assert_eq!(stand.finish().code(), Some(0));
}

#[test]
fn a_withdrawn_question_takes_no_answer() {
    let toml = ASKS.replace("ask = true", "ask = true, withdraw_ms = 10");
    let mut stand = Stand::script(&toml, STDIO);
    stand.prompt("go");
    let ask = stand.until("control_request").pop().unwrap();
    let cancel = stand.next();
    assert_eq!(
        names(std::slice::from_ref(&cancel)),
        ["control_cancel_request"]
    );
    assert_eq!(cancel["request_id"], ask["request_id"]);
    stand.answer(&ask, &json!({"behavior": "allow"}));
    let frames = stand.finish().frames();
    assert_eq!(result_block(&frames)["is_error"], true);
    assert_eq!(texts(&frames), ["pity", "end"]);
}

#[test]
fn other_questions_can_be_asked() {
    let toml = "[[turn]]\nsteps = [ { request = { request = { subtype = 'hook_callback', \
                callback_id = 'hook_0', input = { cwd = '{{cwd}}' } } } }, { text = 'end' } ]";
    let mut stand = Stand::script(toml, &[]);
    stand.prompt("go");
    let ask = stand.until("control_request").pop().unwrap();
    assert_eq!(ask["request"]["callback_id"], "hook_0");
    assert!(stand.is_silent());
    stand.answer(&ask, &json!({}));
    assert_eq!(texts(&stand.finish().frames()), ["end"]);
}
