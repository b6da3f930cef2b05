//! Frames over WebSocket: they are forwarded unchanged, within the client's lease.

use bowline_runner::wire::{Lease, Message, code};
use bowline_runner::{NamedTokens, TokenScope};
use bowline_transport::TerminationPolicy;
use serde_json::json;

use crate::support::{Frames, TestRunner, within_limit};

const ECHO: &str = "stty -echo; echo ready; while read line; do echo \"got $line\"; done";

#[tokio::test]
async fn frames_are_forwarded_both_ways() {
    let runner = TestRunner::start().await;
    let id = runner.shell(ECHO).await;
    let (mut host, attached) = Frames::attach(&runner, &id, Lease::Write).await;
    assert!(attached.generation > 0);
    host.wait_for_output("ready").await;
    let offset = attached.input_next;
    let bytes = "hello\n".into();
    host.send(Message::Input { offset, bytes }).await;
    host.wait_for_output("got hello").await;
}

#[tokio::test]
async fn output_is_read_from_the_start() {
    let runner = TestRunner::start().await;
    let id = runner
        .shell("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end; read x")
        .await;
    let (mut host, _) = Frames::attach(&runner, &id, Lease::Read).await;
    let text = host.wait_for_output("end").await;
    assert_eq!(text.matches('x').count(), 3_000_000);
}

#[tokio::test]
async fn new_writer_fences_old_writer() {
    let runner = TestRunner::start().await;
    let id = runner.shell(ECHO).await;
    let (mut old, first) = Frames::attach(&runner, &id, Lease::Write).await;
    let (mut new, second) = Frames::attach(&runner, &id, Lease::Write).await;
    assert!(second.generation > first.generation);
    let (offset, bytes) = (0, "stale\n".into());
    old.send(Message::Input { offset, bytes }).await;
    let bytes = "fresh\n".into();
    new.send(Message::Input { offset, bytes }).await;
    let text = new.wait_for_output("got fresh").await;
    assert!(!text.contains("stale"), "{text:?}");
    let fenced = loop {
        match old.receive().await {
            Some(Message::Fenced { generation }) => break generation,
            Some(_) => {}
            None => panic!("closed without a final message"),
        }
    };
    assert_eq!(fenced, second.generation);
}

#[tokio::test]
async fn ticket_limits_lease() {
    let runner = TestRunner::start().await;
    let id = runner.shell(ECHO).await;
    for (lease, requested, is_permitted) in [
        ("read", Lease::Read, true),
        ("read", Lease::Append, false),
        ("read", Lease::Write, false),
        ("append", Lease::Append, true),
        ("append", Lease::Write, false),
        ("write", Lease::Write, true),
    ] {
        let wanted = json!({"session": id, "lease": lease});
        let ticket = runner
            .request("POST", "/api/tickets", Some(&wanted))
            .await
            .json();
        let ticket = ticket["ticket"].as_str().unwrap();
        let mut host = Frames::open(&runner, &id, ticket).await.unwrap();
        let joined = host.join(&id, requested).await;
        assert_eq!(
            joined.is_ok(),
            is_permitted,
            "{lease} {requested:?}: {joined:?}"
        );
    }
}

#[tokio::test]
async fn removed_token_ends_attached_connection() {
    let runner = TestRunner::start().await;
    let id = runner.shell(ECHO).await;
    let tokens = NamedTokens::at(runner.token_folder().join("tokens"));
    let token = tokens.add("laptop", TokenScope::Own, 1).unwrap();
    let mut host = Frames::open(&runner, &id, &token).await.unwrap();
    host.join(&id, Lease::Write).await.unwrap();
    host.wait_for_output("ready").await;
    tokens.remove("laptop").unwrap();
    while host.receive().await.is_some() {}
    assert!(Frames::open(&runner, &id, &token).await.is_err());
    assert_eq!(runner.session(&id).await["state"], "running");
}

#[tokio::test]
async fn read_lease_permits_no_input_or_kill() {
    let runner = TestRunner::start().await;
    let id = runner.shell(ECHO).await;
    let (mut host, _) = Frames::attach(&runner, &id, Lease::Read).await;
    host.wait_for_output("ready").await;
    let (offset, bytes) = (0, "no\n".into());
    let kill = Message::Kill {
        id: "k".to_owned(),
        policy: TerminationPolicy::AT_ONCE,
    };
    for message in [Message::Input { offset, bytes }, kill] {
        host.send(message).await;
        let refused = loop {
            match host.receive().await {
                Some(Message::Error { code, .. }) => break code,
                Some(_) => {}
                None => panic!("closed without a final message"),
            }
        };
        assert_eq!(refused, code::NO_LEASE);
    }
}

#[tokio::test]
async fn attach_to_another_session_closes_connection() {
    let runner = TestRunner::start().await;
    let (id, other) = (runner.shell(ECHO).await, runner.shell(ECHO).await);
    let mut host = Frames::open(&runner, &id, runner.token()).await.unwrap();
    assert_eq!(
        host.join(&other, Lease::Read).await.err().as_deref(),
        Some("closed")
    );
}

#[tokio::test]
async fn missing_or_ended_session_refuses_upgrade() {
    let runner = TestRunner::start().await;
    let unknown = "00000000-0000-4000-8000-000000000000";
    let opened = Frames::open(&runner, unknown, runner.token()).await;
    assert_eq!(opened.err(), Some(404));
    let opened = Frames::open(&runner, "not-an-id", runner.token()).await;
    assert_eq!(opened.err(), Some(404));
    let id = runner.shell("exit 0").await;
    let path = format!("/api/sessions/{id}");
    runner.request("DELETE", &path, None).await;
    assert_eq!(
        Frames::open(&runner, &id, runner.token()).await.err(),
        Some(410)
    );
}

#[tokio::test]
async fn killed_shim_is_not_reported_as_ended() {
    let runner = TestRunner::start().await;
    let id = runner.shell(ECHO).await;
    let folder = runner.folder(&id);
    let pid = folder.info().unwrap().unwrap().shim_pid.cast_signed();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let gone = async { while folder.connect().await.is_ok() {} };
    within_limit("the shim's end", gone).await;
    let opened = Frames::open(&runner, &id, runner.token()).await;
    assert_eq!(opened.err(), Some(404));
}

#[tokio::test]
async fn attached_client_is_notified_of_killed_shim() {
    let runner = TestRunner::start().await;
    let id = runner.shell(ECHO).await;
    let (mut host, _) = Frames::attach(&runner, &id, Lease::Write).await;
    let folder = runner.folder(&id);
    let pid = folder.info().unwrap().unwrap().shim_pid.cast_signed();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    loop {
        match host.receive().await {
            Some(Message::Error { code: it, .. }) => break assert_eq!(it, code::UNKNOWN_SESSION),
            Some(_) => {}
            None => panic!("closed without a final message"),
        }
    }
}

#[tokio::test]
async fn client_reattaches_after_runner_restart() {
    let runner = TestRunner::start().await;
    let id = runner.shell(ECHO).await;
    let (mut host, attached) = Frames::attach(&runner, &id, Lease::Write).await;
    let again = tokio::spawn(runner.restart(|_| {}));
    loop {
        match host.receive().await {
            Some(Message::GoAway { .. }) => break,
            Some(_) => {}
            None => panic!("closed without a final message"),
        }
    }
    let runner = again.await.unwrap();
    let (mut host, back) = Frames::attach(&runner, &id, Lease::Write).await;
    assert_eq!(back.epoch, attached.epoch);
    host.wait_for_output("ready").await;
}

#[tokio::test]
async fn attach_rate_is_limited() {
    let runner = TestRunner::with(|limits| limits.attaches_per_second = 1).await;
    let id = runner.shell(ECHO).await;
    for _ in 0..2 {
        Frames::open(&runner, &id, runner.token()).await.unwrap();
    }
    let third = Frames::open(&runner, &id, runner.token()).await;
    assert_eq!(third.err(), Some(429));
}

#[tokio::test]
async fn attach_rate_is_in_headers_of_every_response() {
    let runner = TestRunner::with(|limits| limits.attaches_per_second = 1).await;
    let id = runner.shell(ECHO).await;
    let path = format!("/api/sessions/{id}/attach");
    let left = async || {
        let response = runner.request("GET", &path, None).await;
        let policy = response.header("ratelimit-policy");
        assert_eq!(policy, Some("\"attaches\";q=2;w=2"));
        assert_eq!(response.status, 426, "no WebSocket was asked for");
        response.header("ratelimit").map(str::to_owned)
    };
    assert_eq!(left().await.as_deref(), Some("\"attaches\";r=2;t=0"));
    // One is used, unless the bucket is full again.
    Frames::open(&runner, &id, runner.token()).await.unwrap();
    let left = left().await.unwrap();
    let known = ["r=1;t=1", "r=2;t=0"].map(|it| format!("\"attaches\";{it}"));
    assert!(known.contains(&left), "{left}");
    let sessions = runner.request("GET", "/api/sessions", None).await;
    assert_eq!(sessions.header("ratelimit"), None, "it has no limit");
}

#[tokio::test]
async fn client_of_stopped_shim_is_closed_after_the_deadline() {
    let runner = TestRunner::start().await;
    let id = runner.shell(ECHO).await;
    let (mut host, attached) = Frames::attach(&runner, &id, Lease::Write).await;
    let pid = runner.folder(&id).info().unwrap().unwrap().shim_pid;
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let offset = attached.input_next;
    // More than a socket buffers.
    for _ in 0..10 {
        let bytes = vec![b'x'; 60_000].into();
        host.send(Message::Input { offset, bytes }).await;
    }
    assert!(host.closed().await.contains("did not respond in time"));
}
