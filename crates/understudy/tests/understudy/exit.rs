//! Exit codes, signals, invalid input.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::process::{Process, find, fixture, names, run_once, sequence};

/// Far more text than is streamed during a test.
const ENDLESS: &str = "[[turn]]\nsteps = [ { text = '{{fill:500000}}' } ]";
const STREAMED: &[&str] = &["--include-partial-messages", "--pace", "1"];
const IN_TOOL: &str =
    "[[turn]]\nsteps = [ { tool = { name = 'Bash', input = { command = 'c' }, ask = true } } ]";
const ASK: &[&str] = &["--permission-prompt-tool", "stdio"];

#[test]
fn no_input_gives_no_output() {
    let run = Process::start(&[]).finish();
    assert!(run.lines.is_empty());
    assert_eq!(run.code(), Some(0));
}

#[test]
fn last_result_decides_exit_code() {
    assert_eq!(run_once("/error", &[]).code(), Some(1));
    let mut process = Process::start(&[]);
    process.prompt("/error");
    process.until("result/success");
    process.prompt("fine");
    assert_eq!(process.finish().code(), Some(0));
}

#[test]
fn api_failure_is_success_with_is_error() {
    let events = run_once("/error", &[]).events();
    let result = find(&events, "result/success");
    assert_eq!(result["is_error"], true);
    assert_eq!(result["terminal_reason"], "api_error");
    assert_eq!(
        find(&events, "assistant")["message"]["model"],
        "<synthetic>"
    );
}

#[test]
fn eof_does_not_end_the_turn() {
    let mut process = Process::script(
        "[[turn]]\nsteps = [ { text = 'a' }, { wait_for = 'eof' }, { delay_ms = 5 }, { text = 'b' } ]",
        &["--pace", "1"],
    );
    process.prompt("go");
    process.until("assistant");
    let run = process.finish();
    assert_eq!(names(&run.events()), ["assistant", "result/success"]);
    assert_eq!(run.code(), Some(0));
}

#[test]
fn sigint_while_streaming_matches_recording() {
    let mut process = Process::script(ENDLESS, STREAMED);
    process.prompt("go");
    let mut events = process.until("stream_event/content_block_delta");
    process.signal(Signal::INT);
    let run = process.wait_for_exit();
    events.extend(run.events());
    assert_eq!(sequence(&events), sequence(&fixture("sigint_stream.jsonl")));
    assert_eq!(run.code(), Some(0));
}

#[test]
fn sigterm_prints_no_result() {
    let mut process = Process::script(ENDLESS, STREAMED);
    process.prompt("go");
    let mut events = process.until("stream_event/content_block_delta");
    process.signal(Signal::TERM);
    let run = process.wait_for_exit();
    events.extend(run.events());
    assert_eq!(
        sequence(&events),
        sequence(&fixture("sigterm_stream.jsonl"))
    );
    assert_eq!(run.code(), Some(143));
}

#[test]
fn sigterm_during_tool_prints_its_result_only() {
    let mut process = Process::script(IN_TOOL, ASK);
    process.prompt("go");
    process.until("control_request");
    process.signal(Signal::TERM);
    let run = process.wait_for_exit();
    assert_eq!(names(&run.events()), ["user"]);
    assert_eq!(
        run.events()[0]["message"]["content"][0]["content"],
        "Exit code 137"
    );
    assert_eq!(run.code(), Some(143));
}

#[test]
fn signals_while_idle_have_exit_codes() {
    for (signal, code) in [(Signal::HUP, 129), (Signal::INT, 0), (Signal::TERM, 143)] {
        let mut process = Process::start(&[]);
        assert!(process.is_silent());
        process.signal(signal);
        assert_eq!(process.wait().code(), Some(code));
    }
}

#[test]
fn other_signals_terminate() {
    let mut process = Process::start(&[]);
    assert!(process.is_silent());
    process.signal(Signal::USR1);
    assert_eq!(process.wait().signal(), Some(Signal::USR1.as_raw()));
}

#[test]
fn invalid_lines_are_fatal() {
    for line in [
        &b"{not json\n"[..],
        b"\xff\xfe\n",
        b"{\"type\":\"user\"}\n",
        b"{\"type\":\"user\",\"message\":{\"role\":\"assistant\",\"content\":\"x\"}}\n",
    ] {
        let mut process = Process::start(&[]);
        process.send_raw(line);
        let run = process.finish();
        assert!(run.lines.is_empty());
        assert!(run.stderr.contains("Error"), "{}", run.stderr);
        assert_eq!(run.code(), Some(1));
    }
}

#[test]
fn last_line_without_line_end_is_read() {
    let mut process = Process::start(&[]);
    process.send_raw(br#"{"type":"user","message":{"role":"user","content":"x"}}"#);
    assert_eq!(process.finish().events().len(), 3);
}

#[test]
fn long_line_with_carriage_return_is_read() {
    let mut process = Process::start(&[]);
    let text = "y".repeat(3_000_000);
    let line = serde_json::json!({"type": "user", "message": {"role": "user", "content": text}});
    process.send_raw(format!("{line}\r\n").as_bytes());
    let result = process.until("result/success").pop().unwrap();
    assert_eq!(
        result["result"].as_str().unwrap().len(),
        "You said: ".len() + 3_000_000
    );
}

/// An unread pipe gets as much as it holds; the exit code is 0.
#[test]
fn unread_pipe_is_abandoned() {
    let scenario = understudy::Scenario::parse(
        "[[turn]]\nsteps = [ { many = { times = 3, steps = [ { big = 200000 } ] } } ]",
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    scenario.unwrap().save(file.path()).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_understudy"))
        .args([
            "--scenario".as_ref(),
            file.path().as_os_str(),
            "go".as_ref(),
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut kept = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut kept).unwrap();
    assert!(kept.len() < 200_000, "{}", kept.len());
    assert_ne!(kept.last(), Some(&b'\n'));
}
