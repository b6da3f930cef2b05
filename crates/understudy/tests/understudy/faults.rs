//! Fault injection.

use std::os::unix::process::ExitStatusExt;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use crate::process::{Process, all, names, run_once, run_scenario, streamed, texts};

fn steps(steps: &str) -> String {
    format!("[[turn]]\nsteps = [ {steps} ]")
}

#[test]
fn raw_lines_replace_placeholders_only() {
    let run = run_scenario(
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
fn junk_is_verbatim() {
    let run = run_scenario(
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
fn big_lines_have_exact_size() {
    let run = run_scenario(
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
    assert_eq!(texts(&run.events())[0].len(), 150_000);
}

#[test]
fn many_repeats_steps() {
    let run = run_scenario(
        &steps(
            "{ many = { times = 1000, steps = [ { notice = 'n' }, { many = { times = 2, \
                steps = [ { system = { subtype = 'made_up', n = 1 } } ] } } ] } }",
        ),
        &[],
    );
    let events = run.events();
    assert_eq!(all(&events, "system/informational").len(), 1000);
    assert_eq!(all(&events, "system/made_up").len(), 2000);
}

#[test]
fn chunks_keep_all_bytes() {
    let whole = run_scenario(&steps("{ text = 'héllo 🦀 wörld' }"), &[]);
    let cut = run_scenario(
        &format!("chunk = 1\n{}", steps("{ text = 'héllo 🦀 wörld' }")),
        &[],
    );
    assert_eq!(texts(&whole.events()), texts(&cut.events()));
    assert_eq!(names(&whole.events()), names(&cut.events()));
}

#[test]
fn torn_line_has_no_line_end() {
    let run = run_scenario(
        &steps("{ text = 'a' }, { torn = { keep = 33 } }, { exit = 0 }"),
        &[],
    );
    let tail = run.lines.last().unwrap();
    assert_eq!(tail.len(), 33);
    assert!(tail.starts_with(b"{\"type\":\"assistant\""));
    assert_eq!(run.code(), Some(0));
    let whole = run_scenario(&steps("{ torn = { keep = -1 } }, { exit = 0 }"), &[]);
    assert!(serde_json::from_slice::<Value>(whole.lines.last().unwrap()).is_ok());
}

#[test]
fn exit_and_die_end_the_process() {
    let run = run_scenario(&steps("{ text = 'a' }, { exit = 7 }"), &[]);
    assert_eq!(names(&run.events()), ["system/init", "assistant"]);
    assert_eq!(run.code(), Some(7));
    for (name, signal) in [
        ("SIGKILL", Signal::KILL),
        ("SIGTERM", Signal::TERM),
        ("SEGV", Signal::SEGV),
    ] {
        let run = run_scenario(
            &steps(&format!("{{ text = 'a' }}, {{ die = '{name}' }}")),
            &[],
        );
        assert_eq!(run.status.signal(), Some(signal.as_raw()), "{name}");
        assert_eq!(run.events().len(), 2, "earlier lines are printed");
    }
}

#[test]
fn deaf_hang_ends_by_sigkill_only() {
    let mut process = Process::script(&steps("{ hang = {} }"), &[]);
    process.prompt("go");
    process.next();
    process.request("i", &json!({"subtype": "interrupt"}));
    process.until("result/error_during_execution");
    let mut process = Process::script(
        &steps("{ hang = { deaf = true, ignore_signals = true } }, { text = 'x' }"),
        &[],
    );
    process.prompt("go");
    process.next();
    process.request("i", &json!({"subtype": "interrupt"}));
    process.eof();
    process.signal(Signal::TERM);
    process.signal(Signal::INT);
    assert!(process.is_running());
    process.signal(Signal::KILL);
    assert!(process.raw().is_none(), "no further line");
    assert_eq!(process.wait().signal(), Some(9));
}

#[test]
fn stdout_closes_while_process_runs() {
    let mut process = Process::script(
        &steps("{ text = 'a' }, { close_stdout = true }, { text = 'b' }, { hang = {} }"),
        &[],
    );
    process.prompt("go");
    process.until("assistant");
    assert!(process.raw().is_none());
    assert!(process.is_running());
}

#[test]
fn stdin_is_ignored_from_start_or_later() {
    let toml = "ignore_stdin = true\n[[turn]]\non = 'start'\nsteps = [ { text = 'unasked' } ]";
    let run = run_scenario_without_prompt(toml);
    assert_eq!(texts(&run), ["unasked"]);
    let mut process = Process::script(&steps("{ ignore_stdin = true }, { text = 'a' }"), &[]);
    process.prompt("go");
    process.until("result/success");
    process.prompt("ignored");
    process.eof();
    process.signal(Signal::INT);
    assert!(process.raw().is_none());
    assert_eq!(process.wait().code(), Some(0));
}

fn run_scenario_without_prompt(toml: &str) -> Vec<Value> {
    Process::script(toml, &[]).finish().events()
}

#[test]
fn stderr_flood_has_exact_size() {
    let run = run_scenario(
        &steps("{ stderr = 'warning: x' }, { stderr = { bytes = 500000 } }, { text = 'a' }"),
        &[],
    );
    assert!(run.stderr.starts_with("warning: x\n"));
    assert_eq!(run.stderr.len(), 500_000 + "warning: x\n".len());
    assert_eq!(run.code(), Some(0));
}

#[test]
fn retry_abandons_draft() {
    let events = run_once("/retry", &["--include-partial-messages"]).events();
    let stops = all(&events, "stream_event/message_stop");
    let draft = stops[0]["abandoned_blocks"]["api_message_id"]
        .as_str()
        .unwrap();
    assert_eq!(stops[0]["abandoned_blocks"]["from_block_index"], 0);
    assert_eq!(streamed(&events, draft), "The first attempt breaks of");
    let answer = events
        .iter()
        .find(|event| event["type"] == "assistant")
        .unwrap();
    assert_ne!(answer["message"]["id"], draft);
    assert_eq!(texts(&events), ["The second attempt came through."]);
}

#[test]
fn results_are_changed_skipped_and_held() {
    let toml = "
        [[turn]]\nresult = { set = { subtype = 'odd', extra = '{{cwd}}' }, unset = ['result'] }\nsteps = []
        [[turn]]\nresult = { skip = true }\nsteps = [ { text = 'no result' } ]
        [[turn]]\nresult = { hold = true }\nsteps = [ { text = 'held' } ]
        [[turn]]\nsteps = [ { text = 'last' } ]";
    let mut process = Process::script(toml, &[]);
    process.prompt("a");
    let odd = process.until("result/odd").pop().unwrap();
    assert!(odd["result"].is_null() && odd["extra"].is_string());
    process.prompt("b");
    assert_eq!(
        names(&process.until("assistant")),
        ["system/init", "assistant"]
    );
    assert!(process.is_silent());
    process.prompt("c");
    process.until("assistant");
    process.prompt("d");
    let events = process.finish().events();
    let results: Vec<&Value> = all(&events, "result/success")
        .iter()
        .map(|event| &event["result"])
        .collect();
    assert_eq!(results, ["held", "last"]);
}

#[test]
fn held_result_of_interrupted_turn_comes_later() {
    let toml = "
        [[turn]]\nresult = { hold_if_interrupted = true }\nsteps = [ { hang = {} } ]
        [[turn]]\nsteps = [ { text = 'next' } ]";
    let mut process = Process::script(toml, &[]);
    process.prompt("a");
    process.next();
    process.request("i", &json!({"subtype": "interrupt"}));
    process.until("user");
    assert!(process.is_silent());
    process.prompt("b");
    let events = process.finish().events();
    assert_eq!(
        names(&events),
        [
            "system/init",
            "assistant",
            "result/error_during_execution",
            "result/success",
        ]
    );
}

#[test]
fn follow_turns_need_no_prompt() {
    let toml = "
        [[turn]]\nsteps = [ { text = 'asked' } ]
        [[turn]]\non = 'follow'\nsteps = [ { text = 'unasked' } ]
        [[turn]]\non = 'follow'\nquiet = true\nresult = { skip = true }\nsteps = [ { hang = {} } ]";
    let mut process = Process::script(toml, &[]);
    process.prompt("go");
    assert_eq!(texts(&process.until("result/success")), ["asked"]);
    assert_eq!(texts(&process.until("result/success")), ["unasked"]);
    process.eof();
    assert!(process.is_running());
    process.signal(Signal::TERM);
    assert_eq!(process.wait().code(), Some(143));
}

#[test]
fn grandchild_outlives_process_and_holds_stdout() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().display();
    let toml = steps(&format!(
        "{{ grandchild = {{ seconds = 60, setsid = true, nohup = true, hold_stdout = true, \
         pid_file = '{path}' }} }}, {{ notice = '{{{{child_pid}}}}' }}, {{ exit = 0 }}"
    ));
    let mut process = Process::script(&toml, &[]);
    process.prompt("go");
    let notice = process.until("system/informational").pop().unwrap();
    assert_eq!(process.wait().code(), Some(0));
    let written = std::fs::read_to_string(file.path()).unwrap();
    assert_eq!(notice["content"], written.as_str());
    let pid = Pid::from_raw(written.parse().unwrap()).unwrap();
    test_kill_process(pid).expect("the grandchild runs");
    kill_process(pid, Signal::KILL).unwrap();
    assert!(process.raw().is_none(), "stdout ends with the grandchild");
}

#[test]
fn large_output_is_complete() {
    let mut process = Process::script(
        &steps("{ many = { times = 20, steps = [ { big = 100000 } ] } }"),
        &[],
    );
    process.prompt("go");
    let run = process.finish();
    assert_eq!(run.events().len(), 22);
    assert_eq!(run.code(), Some(0));
}
