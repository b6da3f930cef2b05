//! What the protocol promises.

use std::time::Duration;

use bowline_runner::wire::{Lease, SessionState};
use bowline_runner::{NamedTokens, TokenScope};
use serde_json::json;

use crate::support::{Frames, Reader, TestRunner, WebTerminal};

/// Prints its process id, and echoes its input.
const ECHO: &str = "stty -echo; echo ready $$; while read line; do echo \"got $line\"; done";

#[tokio::test]
async fn reconnect_reaches_same_process_and_screen() {
    let runner = TestRunner::start().await;
    let id = runner.shell(ECHO).await;
    let pid = runner.session(&id).await["pid"].clone();
    let mut terminal = WebTerminal::attach(&runner, &id).await;
    terminal.input("before\n").await;
    terminal.wait_for_screen("got before").await;
    terminal.disconnect();

    let mut back = WebTerminal::attach(&runner, &id).await;
    let (begin, replay) = back.replay().await;
    assert_eq!(begin["input_next"], 7, "{begin}");
    assert!(
        replay.starts_with("\u{1b}[!p"),
        "a soft reset comes first: {replay:?}"
    );
    let screen = back.wait_for_screen("got before").await;
    assert!(screen.contains("ready"), "{screen:?}");
    back.input("after\n").await;
    back.wait_for_screen("got after").await;
    assert_eq!(runner.session(&id).await["pid"], pid);
}

#[tokio::test]
async fn output_continues_while_detached() {
    let runner = TestRunner::start().await;
    let id = runner.shell("read a; echo one; read b; sleep 100").await;
    let mut terminal = WebTerminal::attach(&runner, &id).await;
    let mut reader = Reader::of(&runner, &id).await;
    terminal.input("x\n").await;
    terminal.disconnect();
    reader.wait_for_output("one").await;
    let mut back = WebTerminal::attach(&runner, &id).await;
    back.replay().await;
    back.wait_for_screen("one").await;
}

#[tokio::test]
async fn close_codes_1000_4001_4404_terminate() {
    let runner = TestRunner::start().await;
    for code in [4001, 4404, 1000] {
        let id = runner.shell(ECHO).await;
        let mut reader = Reader::of(&runner, &id).await;
        let mut terminal = WebTerminal::attach(&runner, &id).await;
        terminal.wait_for_screen("ready").await;
        terminal.close(Some(code)).await;
        reader.exit().await;
    }
}

#[tokio::test]
async fn other_close_codes_keep_session() {
    let runner = TestRunner::start().await;
    for code in [Some(1001), Some(4000), Some(3000), None] {
        let id = runner.shell(ECHO).await;
        let mut terminal = WebTerminal::attach(&runner, &id).await;
        terminal.wait_for_screen("ready").await;
        terminal.close(code).await;
        let mut back = WebTerminal::attach(&runner, &id).await;
        back.input("still\n").await;
        back.wait_for_screen("got still").await;
    }
}

#[tokio::test]
async fn terminal_with_a_write_token_ends_nothing() {
    let runner = TestRunner::with(|limits| limits.detach_window = Duration::ZERO).await;
    let tokens = NamedTokens::at(runner.token_folder().join("tokens"));
    let secret = tokens.add("writer", TokenScope::Write, 0).unwrap();
    let id = runner.shell(ECHO).await;
    let path = format!("/api/sessions/{id}/attach");
    for code in [Some(1000), Some(4001), Some(4404), None] {
        let opened = WebTerminal::open(runner.address(), &path, &secret).await;
        let mut terminal = opened.unwrap();
        terminal.input("typed\n").await;
        terminal.wait_for_screen("got typed").await;
        terminal.close(code).await;
    }
    assert_eq!(runner.session(&id).await["state"], "running");
    // A session that ends with its panel does so after such a terminal, too.
    let mut reader = Reader::of(&runner, &id).await;
    let mut own = WebTerminal::attach(&runner, &id).await;
    own.wait_for_screen("got typed").await;
    let mut terminal = WebTerminal::open(runner.address(), &path, &secret)
        .await
        .unwrap();
    terminal.wait_for_screen("got typed").await;
    terminal.close(Some(1000)).await;
    reader.exit().await;
}

#[tokio::test]
async fn session_ends_after_detach_window() {
    let runner = TestRunner::with(|limits| limits.detach_window = Duration::from_millis(50)).await;
    let id = runner.shell(ECHO).await;
    let mut reader = Reader::of(&runner, &id).await;
    let mut terminal = WebTerminal::attach(&runner, &id).await;
    terminal.wait_for_screen("ready").await;
    terminal.disconnect();
    reader.exit().await;
}

#[tokio::test]
async fn reconnect_cancels_detach_timer() {
    let runner = TestRunner::with(|limits| {
        limits.detach_window = Duration::from_millis(300);
        limits.silence = Duration::from_millis(600);
    })
    .await;
    let id = runner.shell(ECHO).await;
    let mut terminal = WebTerminal::attach(&runner, &id).await;
    terminal.wait_for_screen("ready").await;
    terminal.disconnect();
    let mut back = WebTerminal::attach(&runner, &id).await;
    // Pings are 200 ms apart, so that the detach window has passed after four of them.
    for _ in 0..4 {
        back.text("ping").await;
    }
    back.input("alive\n").await;
    back.wait_for_screen("got alive").await;
}

#[tokio::test]
async fn session_without_id_ends_with_connection() {
    let runner = TestRunner::start().await;
    let mut terminal = WebTerminal::without_id(&runner).await;
    let start = json!({"type": "start", "program": "/bin/sh", "args": ["-c", ECHO]});
    terminal.send(start).await;
    terminal.wait_for_screen("ready").await;
    let sessions = runner.request("GET", "/api/sessions", None).await.json();
    let id = sessions["sessions"][0]["id"].as_str().unwrap().to_owned();
    let mut reader = Reader::of(&runner, &id).await;
    assert_eq!(reader.attached.info.state, SessionState::Running);
    terminal.disconnect();
    reader.exit().await;
}

#[tokio::test]
async fn start_sets_size_and_input_starts_session() {
    let runner = TestRunner::start().await;
    let mut terminal = WebTerminal::without_id(&runner).await;
    let script = "stty size; cat";
    terminal
        .send(
            json!({"type": "start", "program": "/bin/sh", "args": ["-c", script],
                     "cols": 101, "rows": 33}),
        )
        .await;
    terminal.wait_for_screen("33 101").await;
    terminal.close(Some(1000)).await;

    let spec = json!({"kind": "terminal", "program": "/bin/sh", "args": ["-c", ECHO]});
    let ticket = runner
        .request("POST", "/api/tickets", Some(&json!({"create": spec})))
        .await
        .json();
    let ticket = ticket["ticket"].as_str().unwrap();
    let mut terminal = WebTerminal::open(runner.address(), "/api/panel", ticket)
        .await
        .unwrap();
    terminal.input("first\n").await;
    terminal.wait_for_screen("got first").await;
}

#[tokio::test]
async fn missing_program_or_session_closes_with_4404() {
    let runner = TestRunner::start().await;
    let mut terminal = WebTerminal::without_id(&runner).await;
    terminal
        .send(json!({"type": "start", "program": "/no/such/program"}))
        .await;
    assert_eq!(terminal.text("error").await["code"], "PROGRAM_NOT_FOUND");
    assert_eq!(terminal.closed().await, Some(4404));

    let id = "00000000-0000-4000-8000-000000000000";
    let mut terminal = WebTerminal::attach(&runner, id).await;
    assert_eq!(terminal.text("error").await["code"], "SESSION_NOT_FOUND");
    assert_eq!(terminal.closed().await, Some(4404));
}

#[tokio::test]
async fn detach_timer_does_not_delay_shutdown() {
    let mut runner = TestRunner::start().await;
    let id = runner.shell(ECHO).await;
    let mut terminal = WebTerminal::attach(&runner, &id).await;
    terminal.wait_for_screen("ready").await;
    terminal.close(Some(1001)).await;
    // The detach window is longer than the time limit of the shutdown.
    runner.stop().await;
}

#[tokio::test]
async fn reader_does_not_cancel_detach_timer() {
    let runner = TestRunner::with(|limits| limits.detach_window = Duration::from_secs(2)).await;
    let id = runner.shell(ECHO).await;
    let mut reader = Reader::of(&runner, &id).await;
    let mut terminal = WebTerminal::attach(&runner, &id).await;
    terminal.wait_for_screen("ready").await;
    terminal.disconnect();
    let log = format!("/api/sessions/{id}/log?stream=lifecycle");
    while !runner
        .request("GET", &log, None)
        .await
        .text()
        .contains("detached")
    {}
    drop(Frames::attach(&runner, &id, Lease::Read).await);
    reader.exit().await;
}

#[tokio::test]
async fn flood_of_invalid_messages_ends_connection() {
    let runner = TestRunner::start().await;
    let id = runner.shell(ECHO).await;
    let mut terminal = WebTerminal::attach(&runner, &id).await;
    terminal.wait_for_screen("ready").await;
    for _ in 0..100 {
        terminal
            .try_send(json!({"type": "resize", "cols": 0, "rows": 0}))
            .await;
    }
    assert_eq!(terminal.closed().await, Some(1008));
    let mut back = WebTerminal::attach(&runner, &id).await;
    back.input("still\n").await;
    back.wait_for_screen("got still").await;
}

#[tokio::test]
async fn restart_cancels_detach_timer() {
    let runner = TestRunner::with(|limits| limits.detach_window = Duration::from_secs(3600)).await;
    let id = runner.shell(ECHO).await;
    let mut reader = Reader::of(&runner, &id).await;
    let mut terminal = WebTerminal::attach(&runner, &id).await;
    terminal.wait_for_screen("ready").await;
    terminal.close(Some(1001)).await;
    let path = format!("/api/sessions/{id}/restart");
    let response = runner.request("POST", &path, None).await;
    assert_eq!(response.status, 201, "{}", response.text());
    reader.exit().await;
    let fresh = response.json()["id"].as_str().unwrap().to_owned();
    assert_ne!(fresh, id);
    let mut terminal = WebTerminal::attach(&runner, &fresh).await;
    terminal.wait_for_screen("ready").await;
    terminal.input("new\n").await;
    terminal.wait_for_screen("got new").await;
}

#[tokio::test]
async fn ping_and_resize() {
    let runner = TestRunner::start().await;
    let id = runner
        .shell("trap 'stty size' WINCH; echo ready; while :; do read x; done")
        .await;
    let mut terminal = WebTerminal::attach(&runner, &id).await;
    terminal.wait_for_screen("ready").await;
    terminal.send(json!({"type": "ping", "ts": 17})).await;
    assert_eq!(terminal.text("pong").await["ts"], 17);
    terminal.send(json!({"type": "keepalive"})).await;
    terminal
        .send(json!({"type": "resize", "cols": 99, "rows": 44}))
        .await;
    terminal.input("\n").await;
    terminal.wait_for_screen("44 99").await;
}
