//! Session ids: kept, forked, unknown, in use, cleared.

use crate::stand::{Stand, all, fixture, names, once, once_scripted, paths, texts};

const ID: &str = "99999999-2222-4333-8444-555555555555";

#[test]
fn a_resumed_session_keeps_its_id_and_a_fork_does_not() {
    let resumed = once("hi", &["--resume", ID]).frames();
    assert!(resumed.iter().all(|frame| frame["session_id"] == ID));
    let forked = once("hi", &["--resume", ID, "--fork-session"]).frames();
    assert!(forked.iter().all(|frame| frame["session_id"] != ID));
    let named = once("hi", &["--session-id", ID]).frames();
    assert_eq!(named[0]["session_id"], ID);
}

#[test]
fn a_resumed_process_plays_its_own_turns() {
    let toml = "[[turn]]\nsteps = [ { text = 'new' } ]\n[[turn]]\non = 'resume'\n\
                steps = [ { text = 'old' } ]";
    assert_eq!(texts(&once_scripted(toml, &[]).frames()), ["new"]);
    assert_eq!(
        texts(&once_scripted(toml, &["--resume", ID]).frames()),
        ["old"]
    );
    assert_eq!(
        texts(&once_scripted(toml, &["--continue"]).frames()),
        ["old"]
    );
}

#[test]
fn an_unknown_session_is_the_recorded_result() {
    let run = once_scripted("sessions = []", &["--resume", ID]);
    let recorded = fixture("resume_unknown.jsonl");
    let mut ours = run.frames();
    assert_eq!(ours.len(), 1);
    assert_eq!(paths(&ours[0]), paths(&recorded[0]));
    ours[0]["uuid"] = recorded[0]["uuid"].clone();
    assert_eq!(ours[0], recorded[0]);
    assert!(run.stderr.contains("No conversation found"));
    assert_eq!(run.code(), Some(1));
}

#[test]
fn a_session_id_in_use_is_refused() {
    let run = once_scripted(&format!("sessions = ['{ID}']"), &["--session-id", ID]);
    assert!(run.lines.is_empty());
    assert!(run.stderr.contains("already in use"));
    assert_eq!(run.code(), Some(1));
    let known = once_scripted(&format!("sessions = ['{ID}']"), &["--resume", ID]);
    assert_eq!(known.code(), Some(0));
}

#[test]
fn clear_changes_the_session_and_resets_the_cost() {
    let mut stand = Stand::start(&[]);
    stand.prompt("before");
    let before = stand.until("result/success").pop().unwrap();
    assert!(before["total_cost_usd"].as_f64().unwrap() > 0.0);
    stand.prompt("/clear");
    let cleared = stand.until("result/success");
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
    assert!(cleared[2..].iter().all(|frame| &frame["session_id"] == new));
    assert_eq!(cleared[3]["total_cost_usd"].as_f64(), Some(0.0));
    assert_eq!(cleared[3]["num_turns"], 0);
    assert!(cleared[3]["terminal_reason"].is_null());
    stand.prompt("after");
    let after = stand.finish().frames();
    assert!(
        all(&after, "result/success")
            .iter()
            .all(|frame| &frame["session_id"] == new)
    );
}

#[test]
fn help_and_version() {
    let version = Stand::start(&["--version"]).finish();
    assert_eq!(version.lines, [b"2.1.330 (understudy)\n"]);
    let help = Stand::start(&["--help"]).finish();
    let text = help.lines.concat();
    for word in ["--play", "--scenario", "/ask", "/background", "--pace"] {
        assert!(String::from_utf8_lossy(&text).contains(word), "{word}");
    }
}

#[test]
fn a_wrong_command_line_is_usage() {
    for args in [
        &["--pace", "fast"][..],
        &["--scenario", "none-such"],
        &["--play", "/none/such"],
    ] {
        let run = Stand::start(args).finish();
        assert_eq!(run.code(), Some(2), "{args:?}");
        assert_eq!(run.stderr.lines().count(), 1);
    }
}

#[test]
fn a_broken_scenario_says_what_is_wrong() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "[[turn]]\nsteps = [ { dance = 1 } ]").unwrap();
    let run = Stand::start(&["--scenario", file.path().to_str().unwrap()]).finish();
    assert_eq!(run.code(), Some(2));
    assert!(run.stderr.contains("dance"), "{}", run.stderr);
}

#[test]
fn a_startup_failure_can_be_scripted() {
    let run = once_scripted("startup = { stderr = 'no config', exit = 1 }", &[]);
    assert!(run.lines.is_empty());
    assert_eq!(run.stderr, "no config\n");
    assert_eq!(run.code(), Some(1));
}
