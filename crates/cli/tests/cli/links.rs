//! Dialogues at a runner whose link is given up: the command ends, and the agent does not.

use std::path::Path;

use bowline_lifecycle::{DialogueConfiguration, DialogueSession};
use bowline_runner::RunnerClient;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::door::Door;
use crate::runner::Served;
use crate::support::{Done, Running, Scripted, command};

const LONG: &str = "[[turn]]\nsteps = [ { text = \"One line.\\n\" }, { wait_for = 'interrupt' } ]";

fn door(served: &Served) -> Door {
    Door::before(&Path::new(&served.state()).join("runner.sock"))
}

/// The runner's one session.
fn only(served: &Served) -> Value {
    served.json("GET", "/api/sessions", None)["sessions"][0].take()
}

/// The command has ended for this reason, and says how to go on; the agent goes on by itself.
fn let_go(served: &Served, done: &Done, url: &str, why: &str) {
    assert_eq!(done.code, Some(1), "{done:?}");
    let last = done.stderr.lines().last().unwrap();
    let session = only(served);
    let id = session["id"].as_str().unwrap();
    assert!(
        last.contains(&format!("{id} is out of reach: {why}")),
        "{done:?}"
    );
    assert!(last.contains(&format!("--runner {url} {id}")), "{done:?}");
    assert_eq!(session["state"], "running");
}

#[test]
fn a_run_ends_when_its_runner_lets_it_in_no_more() {
    let (served, scripted) = (Served::start(), Scripted::new(LONG));
    let door = door(&served);
    let run = scripted.run_until(&["--runner", &door.url(), "go"], "One line.");
    door.refuse("401 Unauthorized");
    let_go(
        &served,
        &run.finish(),
        &door.url(),
        "the runner answers 401",
    );
}

#[test]
fn a_run_ends_when_it_is_ended_without_its_link() {
    let (served, scripted) = (Served::start(), Scripted::new(LONG));
    let door = door(&served);
    let mut run = scripted.run_until(&["--runner", &door.url(), "go"], "One line.");
    door.shut();
    run.until_told("the link to the agent is lost");
    run.signal(Signal::TERM);
    door.refuse("401 Unauthorized");
    assert_eq!(run.finish().code, Some(130));
}

#[tokio::test]
async fn a_run_ends_when_another_host_takes_its_agent() {
    let (served, scripted) = (Served::start(), Scripted::new(LONG));
    let url = format!("unix:{}/runner.sock", served.state());
    let run = scripted.run_until(&["--runner", &url, "go"], "One line.");
    let remote = RunnerClient::at(&url, None, None).unwrap().into_remote();
    let id = only(&served)["id"].as_str().unwrap().parse().unwrap();
    let configuration = DialogueConfiguration::default();
    let other = DialogueSession::attach(&remote, id, configuration)
        .await
        .unwrap();
    let done = tokio::task::spawn_blocking(|| run.finish()).await.unwrap();
    let_go(
        &served,
        &done,
        &url,
        "another host has taken the session over",
    );
    other.detach().await.unwrap();
}

#[test]
fn a_dialogue_is_shown_no_longer_than_its_link() {
    for (status, next) in [("401 Unauthorized", "attach"), ("404 Not Found", "ps")] {
        let served = Served::start();
        let (door, id) = (door(&served), served.dialogue(LONG));
        served.json(
            "POST",
            &format!("/api/sessions/{id}/prompt"),
            Some(&json!({"text": "go"})),
        );
        let run = Running::until(
            command(&["attach", "--runner", &door.url(), &id]),
            "One line.",
        );
        door.refuse(status);
        let line = run.finish().failed(1);
        assert!(
            line.contains(&format!(
                "{id} is out of reach: the runner answers {status}"
            )),
            "{line}"
        );
        assert!(
            line.contains(&format!("`bowline {next} --runner {}", door.url())),
            "{line}"
        );
    }
}
