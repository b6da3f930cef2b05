//! Dialogues whose connection to the runner fails for good: the command ends, the agent does not.

use std::path::Path;

use bowline_lifecycle::{DialogueConfiguration, DialogueSession};
use bowline_runner::RunnerClient;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::socket_proxy::SocketProxy;
use crate::support::{CommandOutput, Running, ScriptedAgent, command};
use crate::test_runner::TestRunner;

const LONG: &str = "[[turn]]\nsteps = [ { text = \"One line.\\n\" }, { wait_for = 'interrupt' } ]";

fn proxy(served: &TestRunner) -> SocketProxy {
    SocketProxy::of(&Path::new(&served.state()).join("runner.sock"))
}

/// Returns the only session of the runner.
fn only_session(served: &TestRunner) -> Value {
    served.json("GET", "/api/sessions", None)["sessions"][0].take()
}

/// Asserts that the command has failed for this reason and names the way back, and that the agent
/// still runs.
fn assert_detached(served: &TestRunner, done: &CommandOutput, url: &str, why: &str) {
    assert_eq!(done.code, Some(1), "{done:?}");
    let last = done.stderr.lines().last().unwrap();
    let session = only_session(served);
    let id = session["id"].as_str().unwrap();
    assert!(
        last.contains(&format!("session {id} is unreachable: {why}")),
        "{done:?}"
    );
    assert!(last.contains(&format!("--runner {url} {id}")), "{done:?}");
    assert_eq!(session["state"], "running");
}

#[test]
fn run_ends_when_token_is_refused() {
    let (served, scripted) = (TestRunner::start(), ScriptedAgent::new(LONG));
    let proxy = proxy(&served);
    let run = scripted.run_until(&["--runner", &proxy.url(), "go"], "One line.");
    proxy.refuse("401 Unauthorized");
    assert_detached(
        &served,
        &run.finish(),
        &proxy.url(),
        "the runner answered 401",
    );
}

#[test]
fn recording_of_a_lost_session_is_reported_as_incomplete() {
    let (served, scripted) = (TestRunner::start(), ScriptedAgent::new(LONG));
    let (proxy, file) = (proxy(&served), scripted.path("recording.jsonl"));
    let args = ["--runner", &proxy.url(), "--record", &file, "go"];
    let run = scripted.run_until(&args, "One line.");
    proxy.refuse("401 Unauthorized");
    let done = run.finish();
    let line = "bowline: the recording is incomplete: the session goes on without this host\n";
    assert!(done.stderr.contains(line), "{done:?}");
    assert_detached(&served, &done, &proxy.url(), "the runner answered 401");
}

#[test]
fn run_ends_by_signal_without_connection() {
    let (served, scripted) = (TestRunner::start(), ScriptedAgent::new(LONG));
    let proxy = proxy(&served);
    let mut run = scripted.run_until(&["--runner", &proxy.url(), "go"], "One line.");
    proxy.close();
    run.until_stderr("connection to the agent lost");
    run.signal(Signal::TERM);
    proxy.refuse("401 Unauthorized");
    assert_eq!(run.finish().code, Some(130));
}

#[tokio::test]
async fn run_ends_when_another_host_attaches() {
    let (served, scripted) = (TestRunner::start(), ScriptedAgent::new(LONG));
    let url = format!("unix:{}/runner.sock", served.state());
    let run = scripted.run_until(&["--runner", &url, "go"], "One line.");
    let remote = RunnerClient::at(&url, None, None).unwrap().into_remote();
    let id = only_session(&served)["id"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let configuration = DialogueConfiguration::default();
    let other = DialogueSession::attach(&remote, id, configuration)
        .await
        .unwrap();
    let done = tokio::task::spawn_blocking(|| run.finish()).await.unwrap();
    assert_detached(
        &served,
        &done,
        &url,
        "another host has taken over the session",
    );
    other.detach().await.unwrap();
}

#[test]
fn attached_dialogue_ends_with_its_connection() {
    for (status, next) in [("401 Unauthorized", "attach"), ("404 Not Found", "ps")] {
        let served = TestRunner::start();
        let (proxy, id) = (proxy(&served), served.dialogue(LONG));
        served.json(
            "POST",
            &format!("/api/sessions/{id}/prompt"),
            Some(&json!({"text": "go"})),
        );
        let run = Running::until(
            command(&["attach", "--runner", &proxy.url(), &id]),
            "One line.",
        );
        proxy.refuse(status);
        let done = run.finish();
        assert_eq!(done.code, Some(1), "{done:?}");
        let line = done.stderr.lines().last().unwrap();
        assert!(
            line.contains(&format!(
                "session {id} is unreachable: the runner answered {status}"
            )),
            "{line}"
        );
        assert!(
            line.contains(&format!("`bowline {next} --runner {}", proxy.url())),
            "{line}"
        );
    }
}

#[test]
fn attached_dialogue_reports_that_it_reconnects() {
    let served = TestRunner::start();
    let (proxy, id) = (proxy(&served), served.dialogue(LONG));
    served.json(
        "POST",
        &format!("/api/sessions/{id}/prompt"),
        Some(&json!({"text": "go"})),
    );
    let attach = command(&["attach", "--runner", &proxy.url(), &id]);
    let mut run = Running::until(attach, "One line.");
    proxy.close();
    run.until_stderr("connection to the session lost; reconnecting");
    proxy.refuse("404 Not Found");
    assert_eq!(run.finish().code, Some(1));
}

/// Asserts that the command has left its session running after signals, and names the way to end it.
fn assert_left(served: &TestRunner, done: &CommandOutput, url: &str) {
    assert_eq!(done.code, Some(130), "{done:?}");
    let last = done.stderr.lines().last().unwrap();
    let session = only_session(served);
    let id = session["id"].as_str().unwrap();
    let line = format!(
        "bowline: detached from session {id}, which may still be running; end it with \
         `bowline kill --runner {url} {id}`"
    );
    assert_eq!(last, line, "{done:?}");
}

#[test]
fn second_interrupt_detaches_without_connection() {
    let (served, scripted) = (TestRunner::start(), ScriptedAgent::new(LONG));
    let proxy = proxy(&served);
    let mut run = scripted.run_until(&["--runner", &proxy.url(), "go"], "One line.");
    proxy.close();
    run.until_stderr("connection to the agent lost");
    run.signal(Signal::INT);
    run.until_stderr("interrupting");
    run.signal(Signal::INT);
    let done = run.finish();
    assert_left(&served, &done, &proxy.url());
    assert_eq!(only_session(&served)["state"], "running");
}

#[test]
fn second_interrupt_detaches_from_stalled_connection() {
    let (served, scripted) = (TestRunner::start(), ScriptedAgent::new(LONG));
    let proxy = proxy(&served);
    let mut run = scripted.run_until(&["--runner", &proxy.url(), "go"], "One line.");
    proxy.stall();
    run.signal(Signal::INT);
    run.until_stderr("interrupting");
    run.signal(Signal::INT);
    let done = run.finish();
    assert_left(&served, &done, &proxy.url());
    // It did not wait until the connection counted as dead.
    assert!(!done.stderr.contains("lost"), "{done:?}");
}

#[test]
fn signal_ends_a_reachable_session() {
    let (served, scripted) = (TestRunner::start(), ScriptedAgent::new(LONG));
    let url = format!("unix:{}/runner.sock", served.state());
    let run = scripted.run_until(&["--runner", &url, "go"], "One line.");
    run.signal(Signal::TERM);
    let done = run.finish();
    assert_eq!(done.code, Some(130), "{done:?}");
    assert!(done.stderr.contains("ended by a signal"), "{done:?}");
    assert_ne!(only_session(&served)["state"], "running");
}
