//! Control requests of the host.

use serde_json::{Value, json};

use crate::process::{Process, all, find, fixture, names, sequence, shape};

const STREAMS: &str = "
    [[turn]]\nsteps = [ { text = { text = 'some words ', delta = 4 } }, { text = 'cut here' }, { hang = {} } ]
    [[turn]]\nsteps = [ { text = 'after' } ]";

/// A block that is still streaming when the interrupt arrives.
const ENDLESS: &str = "
    [[turn]]\nmatch = 'first'\nsteps = [ { text = '{{fill:500000}}' } ]
    [[turn]]\nsteps = [ { text = 'after it' } ]";

fn send_request(process: &mut Process, request: &Value) -> Value {
    process.request("r", request);
    process.until("control_response").pop().unwrap()["response"].clone()
}

#[test]
fn initialize_has_recorded_keys() {
    let mut process = Process::start(&["--permission-mode", "plan"]);
    let reply = send_request(&mut process, &json!({"subtype": "initialize"}));
    assert_eq!(reply["subtype"], "success");
    assert_eq!(reply["response"]["pid"], process.pid());
    assert_eq!(reply["response"]["current_permission_mode"], "plan");
    let recorded = find(&fixture("control_init.jsonl"), "control_response").clone();
    let known = crate::process::paths(&recorded["response"]);
    assert!(crate::process::paths(&reply).is_subset(&known));
}

#[test]
fn interrupt_while_streaming_matches_recording() {
    let mut process = Process::script(ENDLESS, &["--include-partial-messages", "--pace", "1"]);
    process.prompt("first");
    let mut events = process.until("stream_event/content_block_delta");
    process.request("int-1", &json!({"subtype": "interrupt"}));
    events.extend(process.until("result/error_during_execution"));
    process.prompt("second");
    events.extend(process.until("result/success"));
    assert_eq!(sequence(&events), sequence(&fixture("interrupt.jsonl")));
    let aborted = events
        .iter()
        .find(|event| event["aborted"] == true)
        .unwrap();
    let id = aborted["message"]["id"].as_str().unwrap();
    let text = aborted["message"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(crate::process::streamed(&events, id), text);
    let result = find(&events, "result/error_during_execution");
    assert_eq!(result["terminal_reason"], "aborted_streaming");
    assert_eq!(result["is_error"], true);
    assert!(result["result"].is_null());
}

#[test]
fn interrupt_during_tool_matches_recording() {
    let toml = "[[turn]]\nsteps = [ { text = 'a' }, { tool = { name = 'Bash', input = { command \
                = 'c' }, ask = true } } ]\n[[turn]]\nsteps = [ { text = 'b' } ]";
    let mut process = Process::script(toml, &["--permission-prompt-tool", "stdio"]);
    process.prompt("go");
    let mut events = process.until("control_request");
    process.request("int-1", &json!({"subtype": "interrupt"}));
    events.extend(process.until("result/error_during_execution"));
    process.prompt("on");
    events.extend(process.until("result/success"));
    events.retain(|event| {
        !["control_request", "control_cancel_request"].contains(&shape(event).as_str())
    });
    assert_eq!(
        sequence(&events),
        sequence(&fixture("interrupt_during_tool.jsonl"))
    );
    assert_eq!(
        find(&events, "result/error_during_execution")["terminal_reason"],
        "aborted_tools"
    );
}

#[test]
fn interrupt_while_idle_is_acknowledged_only() {
    let mut process = Process::start(&[]);
    let reply = send_request(&mut process, &json!({"subtype": "interrupt"}));
    assert_eq!(reply["response"], json!({"still_queued": []}));
    assert!(process.is_silent());
    let run = process.finish();
    assert!(run.lines.is_empty());
    assert_eq!(run.code(), Some(0));
}

#[test]
fn interrupt_keeps_queue_unless_cancelled() {
    for cancel in [false, true] {
        let mut process = Process::script(STREAMS, &[]);
        process.prompt("go");
        process.until("assistant");
        process.prompt_as("bbbbbbbb-0000-4000-8000-000000000001", "next");
        process.request(
            "int-1",
            &json!({"subtype": "interrupt", "cancel_queued": cancel}),
        );
        let events = process.finish().events();
        let receipt = &find(&events, "control_response")["response"]["response"];
        let kept = receipt["still_queued"].as_array().unwrap().len();
        assert_eq!(kept, usize::from(!cancel));
        assert_eq!(all(&events, "result/success").len(), kept);
    }
}

#[test]
fn permission_modes_are_set_or_refused() {
    let mut process = Process::start(&[]);
    let reply = send_request(
        &mut process,
        &json!({"subtype": "set_permission_mode", "mode": "plan"}),
    );
    assert_eq!(reply["response"], json!({"mode": "plan"}));
    let status = process.next();
    assert_eq!(
        (&status["status"], &status["permissionMode"]),
        (&Value::Null, &json!("plan"))
    );
    let bad = send_request(
        &mut process,
        &json!({"subtype": "set_permission_mode", "mode": "wild"}),
    );
    assert_eq!(bad["error_code"], "invalid_mode");
    let bypass = json!({"subtype": "set_permission_mode", "mode": "bypassPermissions"});
    assert_eq!(
        send_request(&mut process, &bypass)["error_code"],
        "bypass_not_launched"
    );
    process.prompt("hi");
    assert_eq!(process.next()["permissionMode"], "plan");
}

#[test]
fn model_is_set_and_echoed() {
    let mut process = Process::start(&["--model", "sonnet"]);
    process.request(
        "m",
        &json!({"subtype": "set_model", "model": "claude-haiku-5-5"}),
    );
    let events = process.until("control_response");
    assert_eq!(events[0]["isReplay"], true);
    assert!(events[0]["message"]["content"].is_string());
    assert_eq!(
        events[1]["response"]["response"]["model"],
        "claude-haiku-5-5"
    );
    process.prompt("hi");
    assert_eq!(process.next()["model"], "claude-haiku-5-5");
}

#[test]
fn unknown_requests_are_refused() {
    let mut process = Process::start(&[]);
    for subtype in [
        "get_context_usage",
        "mcp_status",
        "get_settings",
        "set_max_thinking_tokens",
    ] {
        assert_eq!(
            send_request(&mut process, &json!({"subtype": subtype}))["subtype"],
            "success",
            "{subtype}"
        );
    }
    let reply = send_request(&mut process, &json!({"subtype": "make_tea"}));
    assert_eq!(reply["error_code"], "unsupported_request");
}

#[test]
fn end_session_exits_with_stdin_open() {
    let mut process = Process::start(&[]);
    let reply = send_request(&mut process, &json!({"subtype": "end_session"}));
    assert_eq!(reply["subtype"], "success");
    assert_eq!(process.wait().code(), Some(0));
}

#[test]
fn other_lines_are_ignored() {
    let mut process = Process::start(&[]);
    process.send(&json!({"type": "keep_alive"}));
    process.send(&json!({"type": "made_up", "x": 1}));
    process.send_raw(b"\n   \r\n");
    process.send(&json!({"type": "control_cancel_request", "request_id": "x"}));
    assert!(process.is_silent());
}

#[test]
fn control_responses_are_scripted() {
    let toml = "
        [[control]]\nsubtype = 'get_usage'\ndelay_ms = 50\nresponse = { late = true }
        [[control]]\nsubtype = 'initialize'\nerror = 'no'\nerror_code = 'initialize_not_first'
        [[control]]\nsubtype = 'interrupt'\nsilent = true";
    let mut process = Process::script(toml, &["--pace", "1"]);
    process.request("slow", &json!({"subtype": "get_usage"}));
    process.request("bad", &json!({"subtype": "initialize"}));
    process.request("mute", &json!({"subtype": "interrupt"}));
    let first = process.next();
    assert_eq!(first["response"]["request_id"], "bad");
    assert_eq!(first["response"]["error_code"], "initialize_not_first");
    let second = process.next();
    assert_eq!(second["response"]["response"], json!({"late": true}));
    assert!(process.is_silent());
}

#[test]
fn turn_waits_for_interrupt_or_request() {
    let toml = "[[turn]]\nsteps = [ { wait_for = 'interrupt' }, { text = 'one' }, \
                { wait_for = { control = 'mcp_status' } }, { text = 'two' }, \
                { wait_for = 'eof' }, { text = 'three' } ]";
    let mut process = Process::script(toml, &[]);
    process.prompt("go");
    process.next();
    process.request("i", &json!({"subtype": "interrupt"}));
    assert_eq!(
        names(&process.until("assistant")),
        ["control_response", "assistant"]
    );
    process.request("s", &json!({"subtype": "mcp_status"}));
    assert_eq!(
        names(&process.until("assistant")),
        ["control_response", "assistant"]
    );
    let run = process.finish();
    assert_eq!(names(&run.events()), ["assistant", "result/success"]);
    assert_eq!(run.code(), Some(0));
}
