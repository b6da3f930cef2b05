//! Control requests of the host.

use serde_json::{Value, json};

use crate::stand::{Stand, all, find, fixture, names, sequence, shape};

const STREAMS: &str = "
    [[turn]]\nsteps = [ { text = { text = 'some words ', delta = 4 } }, { text = 'cut here' }, { hang = {} } ]
    [[turn]]\nsteps = [ { text = 'after' } ]";

/// A block that is still being said when the interrupt comes.
const ENDLESS: &str = "
    [[turn]]\nmatch = 'first'\nsteps = [ { text = '{{fill:500000}}' } ]
    [[turn]]\nsteps = [ { text = 'after it' } ]";

fn ask(stand: &mut Stand, request: &Value) -> Value {
    stand.request("r", request);
    stand.until("control_response").pop().unwrap()["response"].clone()
}

#[test]
fn initialize_is_answered_with_the_recorded_keys() {
    let mut stand = Stand::start(&["--permission-mode", "plan"]);
    let reply = ask(&mut stand, &json!({"subtype": "initialize"}));
    assert_eq!(reply["subtype"], "success");
    assert_eq!(reply["response"]["pid"], stand.pid());
    assert_eq!(reply["response"]["current_permission_mode"], "plan");
    let recorded = find(&fixture("control_init.jsonl"), "control_response").clone();
    let known = crate::stand::paths(&recorded["response"]);
    assert!(crate::stand::paths(&reply).is_subset(&known));
}

#[test]
fn an_interrupt_in_a_stream_has_the_recorded_order() {
    let mut stand = Stand::script(ENDLESS, &["--include-partial-messages", "--pace", "1"]);
    stand.prompt("first");
    let mut frames = stand.until("stream_event/content_block_delta");
    stand.request("int-1", &json!({"subtype": "interrupt"}));
    frames.extend(stand.until("result/error_during_execution"));
    stand.prompt("second");
    frames.extend(stand.until("result/success"));
    assert_eq!(sequence(&frames), sequence(&fixture("interrupt.jsonl")));
    let aborted = frames
        .iter()
        .find(|frame| frame["aborted"] == true)
        .unwrap();
    let id = aborted["message"]["id"].as_str().unwrap();
    let said = aborted["message"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(crate::stand::streamed(&frames, id), said);
    let result = find(&frames, "result/error_during_execution");
    assert_eq!(result["terminal_reason"], "aborted_streaming");
    assert_eq!(result["is_error"], true);
    assert!(result["result"].is_null());
}

#[test]
fn an_interrupt_in_a_tool_has_the_recorded_order() {
    let toml = "[[turn]]\nsteps = [ { text = 'a' }, { tool = { name = 'Bash', input = { command \
                = 'c' }, ask = true } } ]\n[[turn]]\nsteps = [ { text = 'b' } ]";
    let mut stand = Stand::script(toml, &["--permission-prompt-tool", "stdio"]);
    stand.prompt("go");
    let mut frames = stand.until("control_request");
    stand.request("int-1", &json!({"subtype": "interrupt"}));
    frames.extend(stand.until("result/error_during_execution"));
    stand.prompt("on");
    frames.extend(stand.until("result/success"));
    frames.retain(|frame| {
        !["control_request", "control_cancel_request"].contains(&shape(frame).as_str())
    });
    assert_eq!(
        sequence(&frames),
        sequence(&fixture("interrupt_during_tool.jsonl"))
    );
    assert_eq!(
        find(&frames, "result/error_during_execution")["terminal_reason"],
        "aborted_tools"
    );
}

#[test]
fn an_interrupt_while_idle_gives_only_a_receipt() {
    let mut stand = Stand::start(&[]);
    let reply = ask(&mut stand, &json!({"subtype": "interrupt"}));
    assert_eq!(reply["response"], json!({"still_queued": []}));
    assert!(stand.is_silent());
    let run = stand.finish();
    assert!(run.lines.is_empty());
    assert_eq!(run.code(), Some(0));
}

#[test]
fn queued_prompts_survive_an_interrupt_unless_they_are_cancelled() {
    for cancel in [false, true] {
        let mut stand = Stand::script(STREAMS, &[]);
        stand.prompt("go");
        stand.until("assistant");
        stand.prompt_as("bbbbbbbb-0000-4000-8000-000000000001", "next");
        stand.request(
            "int-1",
            &json!({"subtype": "interrupt", "cancel_queued": cancel}),
        );
        let frames = stand.finish().frames();
        let receipt = &find(&frames, "control_response")["response"]["response"];
        let kept = receipt["still_queued"].as_array().unwrap().len();
        assert_eq!(kept, usize::from(!cancel));
        assert_eq!(all(&frames, "result/success").len(), kept);
    }
}

#[test]
fn modes_are_set_announced_and_refused() {
    let mut stand = Stand::start(&[]);
    let reply = ask(
        &mut stand,
        &json!({"subtype": "set_permission_mode", "mode": "plan"}),
    );
    assert_eq!(reply["response"], json!({"mode": "plan"}));
    let status = stand.next();
    assert_eq!(
        (&status["status"], &status["permissionMode"]),
        (&Value::Null, &json!("plan"))
    );
    let bad = ask(
        &mut stand,
        &json!({"subtype": "set_permission_mode", "mode": "wild"}),
    );
    assert_eq!(bad["error_code"], "invalid_mode");
    let bypass = json!({"subtype": "set_permission_mode", "mode": "bypassPermissions"});
    assert_eq!(
        ask(&mut stand, &bypass)["error_code"],
        "bypass_not_launched"
    );
    stand.prompt("hi");
    assert_eq!(stand.next()["permissionMode"], "plan");
}

#[test]
fn the_model_is_set_and_echoed() {
    let mut stand = Stand::start(&["--model", "sonnet"]);
    stand.request(
        "m",
        &json!({"subtype": "set_model", "model": "claude-haiku-5-5"}),
    );
    let frames = stand.until("control_response");
    assert_eq!(frames[0]["isReplay"], true);
    assert!(frames[0]["message"]["content"].is_string());
    assert_eq!(
        frames[1]["response"]["response"]["model"],
        "claude-haiku-5-5"
    );
    stand.prompt("hi");
    assert_eq!(stand.next()["model"], "claude-haiku-5-5");
}

#[test]
fn reads_succeed_and_unknown_requests_do_not() {
    let mut stand = Stand::start(&[]);
    for subtype in [
        "get_context_usage",
        "mcp_status",
        "get_settings",
        "set_max_thinking_tokens",
    ] {
        assert_eq!(
            ask(&mut stand, &json!({"subtype": subtype}))["subtype"],
            "success",
            "{subtype}"
        );
    }
    let reply = ask(&mut stand, &json!({"subtype": "make_tea"}));
    assert_eq!(reply["error_code"], "unsupported_request");
}

#[test]
fn end_session_ends_it_with_stdin_open() {
    let mut stand = Stand::start(&[]);
    let reply = ask(&mut stand, &json!({"subtype": "end_session"}));
    assert_eq!(reply["subtype"], "success");
    assert_eq!(stand.wait().code(), Some(0));
}

#[test]
fn other_lines_are_ignored() {
    let mut stand = Stand::start(&[]);
    stand.send(&json!({"type": "keep_alive"}));
    stand.send(&json!({"type": "made_up", "x": 1}));
    stand.send_raw(b"\n   \r\n");
    stand.send(&json!({"type": "control_cancel_request", "request_id": "x"}));
    assert!(stand.is_silent());
}

#[test]
fn replies_can_be_scripted() {
    let toml = "
        [[control]]\nsubtype = 'get_usage'\ndelay_ms = 50\nresponse = { late = true }
        [[control]]\nsubtype = 'initialize'\nerror = 'no'\nerror_code = 'initialize_not_first'
        [[control]]\nsubtype = 'interrupt'\nsilent = true";
    let mut stand = Stand::script(toml, &["--pace", "1"]);
    stand.request("slow", &json!({"subtype": "get_usage"}));
    stand.request("bad", &json!({"subtype": "initialize"}));
    stand.request("mute", &json!({"subtype": "interrupt"}));
    let first = stand.next();
    assert_eq!(first["response"]["request_id"], "bad");
    assert_eq!(first["response"]["error_code"], "initialize_not_first");
    let second = stand.next();
    assert_eq!(second["response"]["response"], json!({"late": true}));
    assert!(stand.is_silent());
}

#[test]
fn a_turn_may_wait_for_an_interrupt_or_a_request() {
    let toml = "[[turn]]\nsteps = [ { wait_for = 'interrupt' }, { text = 'one' }, \
                { wait_for = { control = 'mcp_status' } }, { text = 'two' }, \
                { wait_for = 'eof' }, { text = 'three' } ]";
    let mut stand = Stand::script(toml, &[]);
    stand.prompt("go");
    stand.next();
    stand.request("i", &json!({"subtype": "interrupt"}));
    assert_eq!(
        names(&stand.until("assistant")),
        ["control_response", "assistant"]
    );
    stand.request("s", &json!({"subtype": "mcp_status"}));
    assert_eq!(
        names(&stand.until("assistant")),
        ["control_response", "assistant"]
    );
    let run = stand.finish();
    assert_eq!(names(&run.frames()), ["assistant", "result/success"]);
    assert_eq!(run.code(), Some(0));
}
