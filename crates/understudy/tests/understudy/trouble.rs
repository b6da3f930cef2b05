//! Everything that a host must survive.

use std::os::unix::process::ExitStatusExt;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use crate::stand::{Stand, all, names, once, once_scripted, streamed, texts};

fn steps(steps: &str) -> String {
    format!("[[turn]]\nsteps = [ {steps} ]")
}

#[test]
fn raw_lines_are_verbatim_but_for_placeholders() {
    let run = once_scripted(
        &steps(
            "{ raw = '{\"type\": \"x\",  \"id\": \"{{session_id}}\", \"lone\": \"\\ud83d\"}' }, \
                { raw = { type = 'y', deep = ['{{cwd}}', '{{nothing}}'] } }",
        ),
        &[],
    );
    let init: Value = serde_json::from_slice(&run.lines[0]).unwrap();
    let id = init["session_id"].as_str().unwrap();
    let expected = format!("{{\"type\": \"x\",  \"id\": \"{id}\", \"lone\": \"\\ud83d\"}}\n");
    assert_eq!(run.lines[1], expected.as_bytes());
    let raw: Value = serde_json::from_slice(&run.lines[2]).unwrap();
    assert_eq!(raw["deep"], json!([init["cwd"], "{{nothing}}"]));
}

#[test]
fn junk_is_written_as_it_is() {
    let run = once_scripted(
        &steps(
            "{ junk = '[SandboxDebug] hello' }, { junk = '[1, 2]' }, { junk = { hex = 'ff fe 00' } }, \
                { junk = { hex = '1b5b3f323568', unterminated = true } }, { text = 'x' }",
        ),
        &[],
    );
    assert_eq!(run.lines[1], b"[SandboxDebug] hello\n");
    assert_eq!(run.lines[2], b"[1, 2]\n");
    assert_eq!(run.lines[3], b"\xff\xfe\0\n");
    assert!(run.lines[4].starts_with(b"\x1b[?25h{\"type\":\"assistant\""));
}

#[test]
fn big_lines_and_texts_have_their_size() {
    let run = once_scripted(
        &steps("{ big = 5000000 }, { text = { text = '{{fill:150000}}', delta = 100000 } }"),
        &["--include-partial-messages"],
    );
    let big = run
        .lines
        .iter()
        .find(|line| line.len() > 1_000_000)
        .unwrap();
    assert_eq!(big.len(), 5_000_000);
    assert!(serde_json::from_slice::<Value>(big).is_ok());
    assert_eq!(texts(&run.frames())[0].len(), 150_000);
}

#[test]
fn steps_repeat() {
    let run = once_scripted(
        &steps(
            "{ many = { times = 1000, steps = [ { notice = 'n' }, { many = { times = 2, \
                steps = [ { system = { subtype = 'made_up', n = 1 } } ] } } ] } }",
        ),
        &[],
    );
    let frames = run.frames();
    assert_eq!(all(&frames, "system/informational").len(), 1000);
    assert_eq!(all(&frames, "system/made_up").len(), 2000);
}

#[test]
fn chunks_cut_lines_but_lose_nothing() {
    let whole = once_scripted(&steps("{ text = 'héllo 🦀 wörld' }"), &[]);
    let cut = once_scripted(
        &format!("chunk = 1\n{}", steps("{ text = 'héllo 🦀 wörld' }")),
        &[],
    );
    assert_eq!(texts(&whole.frames()), texts(&cut.frames()));
    assert_eq!(names(&whole.frames()), names(&cut.frames()));
}

#[test]
fn a_torn_tail_has_no_line_end() {
    let run = once_scripted(
        &steps("{ text = 'a' }, { torn = { keep = 33 } }, { exit = 0 }"),
        &[],
    );
    let tail = run.lines.last().unwrap();
    assert_eq!(tail.len(), 33);
    assert!(tail.starts_with(b"{\"type\":\"assistant\""));
    assert_eq!(run.code(), Some(0));
    let whole = once_scripted(&steps("{ torn = { keep = -1 } }, { exit = 0 }"), &[]);
    assert!(serde_json::from_slice::<Value>(whole.lines.last().unwrap()).is_ok());
}

#[test]
fn it_exits_and_dies_as_told() {
    let run = once_scripted(&steps("{ text = 'a' }, { exit = 7 }"), &[]);
    assert_eq!(names(&run.frames()), ["system/init", "assistant"]);
    assert_eq!(run.code(), Some(7));
    for (name, signal) in [
        ("SIGKILL", Signal::KILL),
        ("SIGTERM", Signal::TERM),
        ("SEGV", Signal::SEGV),
    ] {
        let run = once_scripted(
            &steps(&format!("{{ text = 'a' }}, {{ die = '{name}' }}")),
            &[],
        );
        assert_eq!(run.status.signal(), Some(signal.as_raw()), "{name}");
        assert_eq!(run.frames().len(), 2, "what was said before is delivered");
    }
}

#[test]
fn a_hang_ends_by_interrupt_but_a_deaf_one_only_by_force() {
    let mut stand = Stand::script(&steps("{ hang = {} }"), &[]);
    stand.prompt("go");
    stand.next();
    stand.request("i", &json!({"subtype": "interrupt"}));
    stand.until("result/error_during_execution");
    let mut stand = Stand::script(
        &steps("{ hang = { deaf = true, ignore_signals = true } }, { text = 'x' }"),
        &[],
    );
    stand.prompt("go");
    stand.next();
    stand.request("i", &json!({"subtype": "interrupt"}));
    stand.eof();
    stand.signal(Signal::TERM);
    stand.signal(Signal::INT);
    assert!(stand.is_running());
    stand.signal(Signal::KILL);
    assert!(stand.raw().is_none(), "it said nothing more");
    assert_eq!(stand.wait().signal(), Some(9));
}

#[test]
fn stdout_can_close_while_the_process_lives() {
    let mut stand = Stand::script(
        &steps("{ text = 'a' }, { close_stdout = true }, { text = 'b' }, { hang = {} }"),
        &[],
    );
    stand.prompt("go");
    stand.until("assistant");
    assert!(stand.raw().is_none());
    assert!(stand.is_running());
}

#[test]
fn stdin_can_be_ignored_from_the_start_or_later() {
    let toml = "ignore_stdin = true\n[[turn]]\non = 'start'\nsteps = [ { text = 'unasked' } ]";
    let run = once_scripted_without_prompt(toml);
    assert_eq!(texts(&run), ["unasked"]);
    let mut stand = Stand::script(&steps("{ ignore_stdin = true }, { text = 'a' }"), &[]);
    stand.prompt("go");
    stand.until("result/success");
    stand.prompt("never heard");
    stand.eof();
    stand.signal(Signal::INT);
    assert!(stand.raw().is_none());
    assert_eq!(stand.wait().code(), Some(0));
}

fn once_scripted_without_prompt(toml: &str) -> Vec<Value> {
    Stand::script(toml, &[]).finish().frames()
}

#[test]
fn stderr_can_flood() {
    let run = once_scripted(
        &steps("{ stderr = 'warning: x' }, { stderr = { bytes = 500000 } }, { text = 'a' }"),
        &[],
    );
    assert!(run.stderr.starts_with("warning: x\n"));
    assert_eq!(run.stderr.len(), 500_000 + "warning: x\n".len());
    assert_eq!(run.code(), Some(0));
}

#[test]
fn an_abandoned_draft_is_followed_by_another_message() {
    let frames = once("/retry", &["--include-partial-messages"]).frames();
    let stops = all(&frames, "stream_event/message_stop");
    let draft = stops[0]["abandoned_blocks"]["api_message_id"]
        .as_str()
        .unwrap();
    assert_eq!(stops[0]["abandoned_blocks"]["from_block_index"], 0);
    assert_eq!(streamed(&frames, draft), "The first attempt breaks of");
    let answer = frames
        .iter()
        .find(|frame| frame["type"] == "assistant")
        .unwrap();
    assert_ne!(answer["message"]["id"], draft);
    assert_eq!(texts(&frames), ["The second attempt came through."]);
}

#[test]
fn results_can_be_changed_skipped_and_held() {
    let toml = "
        [[turn]]\nresult = { set = { subtype = 'odd', extra = '{{cwd}}' }, unset = ['result'] }\nsteps = []
        [[turn]]\nresult = { skip = true }\nsteps = [ { text = 'no result' } ]
        [[turn]]\nresult = { hold = true }\nsteps = [ { text = 'held' } ]
        [[turn]]\nsteps = [ { text = 'last' } ]";
    let mut stand = Stand::script(toml, &[]);
    stand.prompt("a");
    let odd = stand.until("result/odd").pop().unwrap();
    assert!(odd["result"].is_null() && odd["extra"].is_string());
    stand.prompt("b");
    assert_eq!(
        names(&stand.until("assistant")),
        ["system/init", "assistant"]
    );
    assert!(stand.is_silent());
    stand.prompt("c");
    stand.until("assistant");
    stand.prompt("d");
    let frames = stand.finish().frames();
    let results: Vec<&Value> = all(&frames, "result/success")
        .iter()
        .map(|frame| &frame["result"])
        .collect();
    assert_eq!(results, ["held", "last"]);
}

#[test]
fn a_late_result_of_an_interrupted_turn_comes_in_the_next_one() {
    let toml = "
        [[turn]]\nresult = { hold_if_interrupted = true }\nsteps = [ { hang = {} } ]
        [[turn]]\nsteps = [ { text = 'next' } ]";
    let mut stand = Stand::script(toml, &[]);
    stand.prompt("a");
    stand.next();
    stand.request("i", &json!({"subtype": "interrupt"}));
    stand.until("user");
    assert!(stand.is_silent());
    stand.prompt("b");
    let frames = stand.finish().frames();
    assert_eq!(
        names(&frames),
        [
            "system/init",
            "assistant",
            "result/error_during_execution",
            "result/success",
        ]
    );
}

#[test]
fn unasked_turns_and_silence_after_a_result() {
    let toml = "
        [[turn]]\nsteps = [ { text = 'asked' } ]
        [[turn]]\non = 'follow'\nsteps = [ { text = 'unasked' } ]
        [[turn]]\non = 'follow'\nquiet = true\nresult = { skip = true }\nsteps = [ { hang = {} } ]";
    let mut stand = Stand::script(toml, &[]);
    stand.prompt("go");
    assert_eq!(texts(&stand.until("result/success")), ["asked"]);
    assert_eq!(texts(&stand.until("result/success")), ["unasked"]);
    stand.eof();
    assert!(stand.is_running());
    stand.signal(Signal::TERM);
    assert_eq!(stand.wait().code(), Some(143));
}

#[test]
fn a_grandchild_outlives_us_and_may_hold_stdout() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().display();
    let toml = steps(&format!(
        "{{ grandchild = {{ seconds = 60, setsid = true, nohup = true, hold_stdout = true, \
         pid_file = '{path}' }} }}, {{ notice = '{{{{child_pid}}}}' }}, {{ exit = 0 }}"
    ));
    let mut stand = Stand::script(&toml, &[]);
    stand.prompt("go");
    let notice = stand.until("system/informational").pop().unwrap();
    assert_eq!(stand.wait().code(), Some(0));
    let written = std::fs::read_to_string(file.path()).unwrap();
    assert_eq!(notice["content"], written.as_str());
    let pid = Pid::from_raw(written.parse().unwrap()).unwrap();
    test_kill_process(pid).expect("the grandchild lives on");
    kill_process(pid, Signal::KILL).unwrap();
    assert!(stand.raw().is_none(), "stdout ends with its last holder");
}

#[test]
fn a_reader_that_goes_away_is_not_noticed() {
    let mut stand = Stand::script(
        &steps("{ many = { times = 20, steps = [ { big = 100000 } ] } }"),
        &[],
    );
    stand.prompt("go");
    let run = stand.finish();
    assert_eq!(run.frames().len(), 22);
    assert_eq!(run.code(), Some(0));
}
