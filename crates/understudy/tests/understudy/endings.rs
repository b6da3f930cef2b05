//! Exit codes, signals, fatal input.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::stand::{Stand, find, fixture, names, once, sequence};

/// Far more text than is said while a test runs.
const ENDLESS: &str = "[[turn]]\nsteps = [ { text = '{{fill:500000}}' } ]";
const STREAMED: &[&str] = &["--include-partial-messages", "--pace", "1"];
const IN_TOOL: &str =
    "[[turn]]\nsteps = [ { tool = { name = 'Bash', input = { command = 'c' }, ask = true } } ]";
const ASK: &[&str] = &["--permission-prompt-tool", "stdio"];

#[test]
fn nothing_in_nothing_out() {
    let run = Stand::start(&[]).finish();
    assert!(run.lines.is_empty());
    assert_eq!(run.code(), Some(0));
}

#[test]
fn the_last_result_decides_the_exit_code() {
    assert_eq!(once("/error", &[]).code(), Some(1));
    let mut stand = Stand::start(&[]);
    stand.prompt("/error");
    stand.until("result/success");
    stand.prompt("fine");
    assert_eq!(stand.finish().code(), Some(0));
}

#[test]
fn an_api_failure_is_a_success_that_failed() {
    let frames = once("/error", &[]).frames();
    let result = find(&frames, "result/success");
    assert_eq!(result["is_error"], true);
    assert_eq!(result["terminal_reason"], "api_error");
    assert_eq!(
        find(&frames, "assistant")["message"]["model"],
        "<synthetic>"
    );
}

#[test]
fn the_end_of_stdin_does_not_cut_a_turn() {
    let mut stand = Stand::script(
        "[[turn]]\nsteps = [ { text = 'a' }, { wait_for = 'eof' }, { delay_ms = 5 }, { text = 'b' } ]",
        &["--pace", "1"],
    );
    stand.prompt("go");
    stand.until("assistant");
    let run = stand.finish();
    assert_eq!(names(&run.frames()), ["assistant", "result/success"]);
    assert_eq!(run.code(), Some(0));
}

#[test]
fn sigint_in_a_stream_has_the_recorded_order_and_exits_0() {
    let mut stand = Stand::script(ENDLESS, STREAMED);
    stand.prompt("go");
    let mut frames = stand.until("stream_event/content_block_delta");
    stand.signal(Signal::INT);
    let run = stand.record();
    frames.extend(run.frames());
    assert_eq!(sequence(&frames), sequence(&fixture("sigint_stream.jsonl")));
    assert_eq!(run.code(), Some(0));
}

#[test]
fn sigterm_leaves_no_result() {
    let mut stand = Stand::script(ENDLESS, STREAMED);
    stand.prompt("go");
    let mut frames = stand.until("stream_event/content_block_delta");
    stand.signal(Signal::TERM);
    let run = stand.record();
    frames.extend(run.frames());
    assert_eq!(
        sequence(&frames),
        sequence(&fixture("sigterm_stream.jsonl"))
    );
    assert_eq!(run.code(), Some(143));
}

#[test]
fn sigterm_in_a_tool_leaves_its_result_only() {
    let mut stand = Stand::script(IN_TOOL, ASK);
    stand.prompt("go");
    stand.until("control_request");
    stand.signal(Signal::TERM);
    let run = stand.record();
    assert_eq!(names(&run.frames()), ["user"]);
    assert_eq!(
        run.frames()[0]["message"]["content"][0]["content"],
        "Exit code 137"
    );
    assert_eq!(run.code(), Some(143));
}

#[test]
fn sighup_and_idle_sigint() {
    for (signal, code) in [(Signal::HUP, 129), (Signal::INT, 0), (Signal::TERM, 143)] {
        let mut stand = Stand::start(&[]);
        assert!(stand.is_silent());
        stand.signal(signal);
        assert_eq!(stand.wait().code(), Some(code));
    }
}

#[test]
fn other_signals_kill() {
    let mut stand = Stand::start(&[]);
    assert!(stand.is_silent());
    stand.signal(Signal::QUIT);
    assert_eq!(stand.wait().signal(), Some(Signal::QUIT.as_raw()));
}

#[test]
fn bad_lines_are_fatal() {
    for line in [
        &b"{not json\n"[..],
        b"\xff\xfe\n",
        b"{\"type\":\"user\"}\n",
        b"{\"type\":\"user\",\"message\":{\"role\":\"assistant\",\"content\":\"x\"}}\n",
    ] {
        let mut stand = Stand::start(&[]);
        stand.send_raw(line);
        let run = stand.finish();
        assert!(run.lines.is_empty());
        assert!(run.stderr.contains("Error"), "{}", run.stderr);
        assert_eq!(run.code(), Some(1));
    }
}

#[test]
fn a_last_line_without_a_line_end_counts() {
    let mut stand = Stand::start(&[]);
    stand.send_raw(br#"{"type":"user","message":{"role":"user","content":"x"}}"#);
    assert_eq!(stand.finish().frames().len(), 3);
}

#[test]
fn a_long_line_and_a_carriage_return_are_taken() {
    let mut stand = Stand::start(&[]);
    let text = "y".repeat(3_000_000);
    let line = serde_json::json!({"type": "user", "message": {"role": "user", "content": text}});
    stand.send_raw(format!("{line}\r\n").as_bytes());
    let result = stand.until("result/success").pop().unwrap();
    assert_eq!(
        result["result"].as_str().unwrap().len(),
        "You said: ".len() + 3_000_000
    );
}

/// protocol.md E.5: who does not read gets one pipe's worth, a cut line and exit code 0.
#[test]
fn an_unread_pipe_is_given_up() {
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
