//! The log on standard error.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{TIMEOUT, bowline, command, finish, fixture, json_lines};

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

#[test]
fn request_is_a_line_of_the_access_log() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let state = folder.path().join("s").display().to_string();
    let args = ["serve", "--log-format", "json", "--state-dir", &state];
    let mut serve = command(&[&args[..], &["--listen", "127.0.0.1:0"]].concat());
    let mut runner = serve
        .env("RUST_LOG", "bowline::access=info")
        .spawn()
        .unwrap();
    let mut out = BufReader::new(runner.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("token in ") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "the runner ended");
    }
    let id = "6b1b36cb-9a4e-4d5c-8a35-7f1d7f5f0a01";
    let mut stream = UnixStream::connect(format!("{state}/runner.sock")).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let request = format!(
        "GET /api/sessions/{id}?hidden=1 HTTP/1.0\r\nHost: localhost\r\nX-Request-Id: trace-78\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.0 404"), "{answer}");

    kill_process(Pid::from_child(&runner), Signal::TERM).unwrap();
    runner.wait().unwrap();
    let mut log = String::new();
    runner
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut log)
        .unwrap();
    assert!(!log.contains("hidden"), "{log}");
    let lines = json_lines(&log);
    assert_eq!(lines.len(), 1, "{log}");
    let line = &lines[0];
    assert_eq!(line["target"], "bowline::access");
    assert_eq!(line["fields"]["message"], "request");
    assert!(line["fields"]["duration_us"].is_u64(), "{line}");
    for (name, value) in [
        ("request.id", "trace-78"),
        ("http.request.method", "GET"),
        ("http.route", "/api/sessions/{id}"),
    ] {
        assert_eq!(line["fields"][name], value, "{line}");
    }
    assert_eq!(line["fields"]["http.response.status_code"], 404, "{line}");
}
