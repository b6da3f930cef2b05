//! The log on standard error.

use crate::support::{bowline, command, finish, fixture, json_lines};

#[test]
fn commands_log_nothing_without_rust_log() {
    bowline(&["replay", &fixture("plain.jsonl")]).ok();
}

#[test]
fn wrong_filter_is_refused() {
    let child = command(&["doctor"]).env("RUST_LOG", "=[").spawn();
    let line = finish(child.unwrap()).failed(2);
    assert!(line.contains("RUST_LOG is no log filter"), "{line}");
}

#[test]
fn log_is_text_or_json_on_stderr() {
    for (format, is_json) in [("text", false), ("json", true)] {
        let agent = crate::support::ScriptedAgent::new("[[turn]]\nsteps = [ { text = 'Hello.' } ]");
        let mut command = agent.command(&["--log-format", format, "hi"]);
        let done = finish(command.env("RUST_LOG", "info").spawn().unwrap());
        assert_eq!(done.code, Some(0), "{done:?}");
        assert!(done.stderr.contains("session ended"), "{done:?}");
        assert!(!done.stderr.contains('\x1b'), "{done:?}");
        if is_json {
            let events = json_lines(&done.stderr);
            assert!(events.iter().all(|event| event["level"].is_string()));
        }
    }
}
