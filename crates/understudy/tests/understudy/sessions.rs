//! Session ids: resumed, forked, unknown, in use, cleared.

use crate::process::{Process, all, fixture, names, paths, run_once, run_scenario, texts};

const ID: &str = "99999999-2222-4333-8444-555555555555";

#[test]
fn resume_keeps_session_id_and_fork_does_not() {
    let resumed = run_once("hi", &["--resume", ID]).events();
    assert!(resumed.iter().all(|event| event["session_id"] == ID));
    let forked = run_once("hi", &["--resume", ID, "--fork-session"]).events();
    assert!(forked.iter().all(|event| event["session_id"] != ID));
    let named = run_once("hi", &["--session-id", ID]).events();
    assert_eq!(named[0]["session_id"], ID);
}

#[test]
fn resumed_process_plays_resume_turns() {
    let toml = "[[turn]]\nsteps = [ { text = 'new' } ]\n[[turn]]\non = 'resume'\n\
                steps = [ { text = 'old' } ]";
    assert_eq!(texts(&run_scenario(toml, &[]).events()), ["new"]);
    assert_eq!(
        texts(&run_scenario(toml, &["--resume", ID]).events()),
        ["old"]
    );
    assert_eq!(
        texts(&run_scenario(toml, &["--continue"]).events()),
        ["old"]
    );
}

#[test]
fn unknown_session_matches_recording() {
    let run = run_scenario("sessions = []", &["--resume", ID]);
    let recorded = fixture("resume_unknown.jsonl");
    let mut ours = run.events();
    assert_eq!(ours.len(), 1);
    assert_eq!(paths(&ours[0]), paths(&recorded[0]));
    ours[0]["uuid"] = recorded[0]["uuid"].clone();
    assert_eq!(ours[0], recorded[0]);
    assert!(run.stderr.contains("No conversation found"));
    assert_eq!(run.code(), Some(1));
}

#[test]
fn session_id_in_use_is_refused() {
    let run = run_scenario(&format!("sessions = ['{ID}']"), &["--session-id", ID]);
    assert!(run.lines.is_empty());
    assert!(run.stderr.contains("already in use"));
    assert_eq!(run.code(), Some(1));
    let known = run_scenario(&format!("sessions = ['{ID}']"), &["--resume", ID]);
    assert_eq!(known.code(), Some(0));
}

#[test]
fn clear_changes_session_and_resets_cost() {
    let mut process = Process::start(&[]);
    process.prompt("before");
    let before = process.until("result/success").pop().unwrap();
    assert!(before["total_cost_usd"].as_f64().unwrap() > 0.0);
    process.prompt("/clear");
    let cleared = process.until("result/success");
    assert_eq!(
        names(&cleared),
        [
            "conversation_reset",
            "system/background_tasks_changed",
            "system/init",
            "result/success",
        ]
    );
    assert_eq!(cleared[0]["session_id"], before["session_id"]);
    let new = &cleared[0]["new_conversation_id"];
    assert_eq!(&cleared[0]["uuid"], new);
    assert!(cleared[2..].iter().all(|event| &event["session_id"] == new));
    assert_eq!(cleared[3]["total_cost_usd"].as_f64(), Some(0.0));
    assert_eq!(cleared[3]["num_turns"], 0);
    assert!(cleared[3]["terminal_reason"].is_null());
    process.prompt("after");
    let after = process.finish().events();
    assert!(
        all(&after, "result/success")
            .iter()
            .all(|event| &event["session_id"] == new)
    );
}

#[test]
fn help_and_version_are_printed() {
    let version = Process::start(&["--version"]).finish();
    assert_eq!(version.lines, [b"2.1.330 (understudy)\n"]);
    let help = Process::start(&["--help"]).finish();
    let text = help.lines.concat();
    for word in ["--play", "--scenario", "/ask", "/background", "--pace"] {
        assert!(String::from_utf8_lossy(&text).contains(word), "{word}");
    }
}

#[test]
fn wrong_command_line_is_usage_error() {
    for args in [
        &["--pace", "fast"][..],
        &["--scenario", "none-such"],
        &["--play", "/none/such"],
    ] {
        let run = Process::start(args).finish();
        assert_eq!(run.code(), Some(2), "{args:?}");
        assert_eq!(run.stderr.lines().count(), 1);
    }
}

#[test]
fn unknown_step_is_reported() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "[[turn]]\nsteps = [ { dance = 1 } ]").unwrap();
    let run = Process::start(&["--scenario", file.path().to_str().unwrap()]).finish();
    assert_eq!(run.code(), Some(2));
    assert!(run.stderr.contains("dance"), "{}", run.stderr);
}

#[test]
fn startup_failure_is_scripted() {
    let run = run_scenario("startup = { stderr = 'no config', exit = 1 }", &[]);
    assert!(run.lines.is_empty());
    assert_eq!(run.stderr, "no config\n");
    assert_eq!(run.code(), Some(1));
}
