//! Failures that an earlier design of the web terminal had.

use std::time::Duration;

use alacritty_terminal::term::TermMode;
use bowline_runner::wire::{Lease, SessionState};
use bowline_transport::ExitStatus;
use serde_json::json;

use crate::support::{Reader, Received, TestRunner, WebTerminal};

const ECHO: &str = "stty -echo; echo ready; while read line; do echo \"got $line\"; done";

#[tokio::test]
async fn session_outlives_tickets() {
    let runner = TestRunner::with(|limits| limits.ticket_life = Duration::ZERO).await;
    let id = runner.shell(ECHO).await;
    let wanted = json!({"session": id, "lease": "write"});
    let ticket = runner
        .request("POST", "/api/tickets", Some(&wanted))
        .await
        .json();
    let ticket = ticket["ticket"].as_str().unwrap();
    let path = format!("/api/sessions/{id}/attach");
    let late = WebTerminal::open(runner.address(), &path, ticket).await;
    assert_eq!(late.err(), Some(401), "the ticket has expired");
    for _ in 0..3 {
        let mut terminal = WebTerminal::attach(&runner, &id).await;
        terminal.input("on\n").await;
        terminal.wait_for_screen("got on").await;
        terminal.disconnect();
    }
}

#[tokio::test]
async fn stale_close_does_not_affect_new_attach() {
    let runner = TestRunner::with(|limits| limits.detach_window = Duration::ZERO).await;
    for code in [Some(4001), Some(1000), Some(1001), None] {
        let id = runner.shell(ECHO).await;
        let mut old = WebTerminal::attach(&runner, &id).await;
        old.wait_for_screen("ready").await;
        let mut new = WebTerminal::attach(&runner, &id).await;
        new.replay().await;
        // The old terminal has not read yet that it was superseded.
        old.input("stale\n").await;
        old.close(code).await;
        new.input("fresh\n").await;
        let shown = new.wait_for_screen("got fresh").await;
        assert!(!shown.contains("stale"), "{code:?}: {shown:?}");
        let reader = Reader::of(&runner, &id).await;
        assert_eq!(
            reader.attached.info.state,
            SessionState::Running,
            "{code:?}"
        );
    }
}

#[tokio::test]
async fn superseded_terminal_is_notified_and_closed() {
    let runner = TestRunner::start().await;
    let id = runner.shell(ECHO).await;
    let mut old = WebTerminal::attach(&runner, &id).await;
    old.wait_for_screen("ready").await;
    let _new = WebTerminal::attach(&runner, &id).await;
    assert_eq!(old.text("error").await["code"], "SUPERSEDED");
    assert_eq!(old.closed().await, Some(4409));
}

#[tokio::test]
async fn stubborn_process_receives_sigkill() {
    let runner = TestRunner::start().await;
    let stubborn = "trap '' HUP INT TERM; echo ready; while :; do sleep 1000; done";
    let id = runner.shell(stubborn).await;
    let mut reader = Reader::of(&runner, &id).await;
    let mut terminal = WebTerminal::attach(&runner, &id).await;
    terminal.wait_for_screen("ready").await;
    terminal.close(Some(4001)).await;
    assert_eq!(reader.exit().await.status, ExitStatus::Signal(9));
}

#[tokio::test]
async fn exit_while_detached_is_reported_on_reconnect() {
    let runner = TestRunner::start().await;
    let id = runner.shell("echo ready; read x; exit 7").await;
    let mut reader = Reader::of(&runner, &id).await;
    let mut terminal = WebTerminal::attach(&runner, &id).await;
    terminal.wait_for_screen("ready").await;
    terminal.close(Some(1001)).await;
    let path = format!("/api/sessions/{id}/prompt");
    let response = runner
        .request("POST", &path, Some(&json!({"text": "go"})))
        .await;
    assert_eq!(response.status, 202, "{}", response.text());
    reader.exit().await;

    let mut back = WebTerminal::attach(&runner, &id).await;
    assert_eq!(back.text("exit").await["code"], 7);
    assert_eq!(back.closed().await, Some(1000));
    // The exit is reported again after the first acknowledgement.
    let mut back = WebTerminal::attach(&runner, &id).await;
    assert_eq!(back.text("exit").await["code"], 7);
}

#[tokio::test]
async fn reconnect_after_window_reports_exit() {
    let runner = TestRunner::with(|limits| limits.detach_window = Duration::ZERO).await;
    let id = runner.shell(ECHO).await;
    let mut reader = Reader::of(&runner, &id).await;
    let mut terminal = WebTerminal::attach(&runner, &id).await;
    terminal.wait_for_screen("ready").await;
    terminal.disconnect();
    reader.exit().await;
    let mut back = WebTerminal::attach(&runner, &id).await;
    let exit = back.text("exit").await;
    assert!(exit["code"].is_i64() || exit["signal"].is_i64(), "{exit}");
    assert_eq!(back.closed().await, Some(1000));
}

#[tokio::test]
async fn silent_terminal_is_detected() {
    let runner = TestRunner::with(|limits| {
        limits.silence = Duration::from_millis(300);
        limits.detach_window = Duration::ZERO;
    })
    .await;
    let id = runner.shell(ECHO).await;
    let mut reader = Reader::of(&runner, &id).await;
    let mut terminal = WebTerminal::attach(&runner, &id).await;
    terminal.wait_for_screen("ready").await;
    // The test does not read any more, so pings are not answered.
    reader.exit().await;
    drop(terminal);
}

#[tokio::test]
async fn responding_terminal_stays_connected() {
    let runner = TestRunner::with(|limits| {
        limits.silence = Duration::from_millis(300);
        limits.detach_window = Duration::ZERO;
    })
    .await;
    let id = runner.shell(ECHO).await;
    let mut terminal = WebTerminal::attach(&runner, &id).await;
    for _ in 0..9 {
        terminal.text("ping").await;
        terminal.send(json!({"type": "pong"})).await;
    }
    terminal.input("here\n").await;
    terminal.wait_for_screen("got here").await;
}

#[tokio::test]
async fn replay_restores_modes_and_alternate_screen() {
    let runner = TestRunner::start().await;
    let modes = "\\033[?1049h\\033[?2004h\\033[?1000h\\033[?1006h\\033[?25l\\033]2;title\\007";
    let split = "printf '\\033[?10'; printf '49h'";
    let script = format!("echo main; {split}; printf '{modes}tui'; read x");
    let id = runner.shell(&script).await;
    let mut terminal = WebTerminal::attach(&runner, &id).await;
    terminal.wait_for_screen("tui").await;
    terminal.disconnect();
    let mut back = WebTerminal::attach(&runner, &id).await;
    back.replay().await;
    back.wait_for_screen("tui").await;
    let wanted = TermMode::ALT_SCREEN
        | TermMode::BRACKETED_PASTE
        | TermMode::MOUSE_REPORT_CLICK
        | TermMode::SGR_MOUSE;
    assert!(back.modes().contains(wanted), "{:?}", back.modes());
    assert!(
        !back.modes().contains(TermMode::SHOW_CURSOR),
        "{:?}",
        back.modes()
    );
}

#[tokio::test]
async fn replay_leaves_alternate_screen() {
    let runner = TestRunner::start().await;
    let id = runner
        .shell("printf 'main\\033[?1049htui\\033[?1049l'; echo done; read x")
        .await;
    let mut terminal = WebTerminal::attach(&runner, &id).await;
    terminal.wait_for_screen("done").await;
    terminal.disconnect();
    let mut back = WebTerminal::attach(&runner, &id).await;
    let (_, replay) = back.replay().await;
    assert!(!replay.contains("tui"), "{replay:?}");
    let screen = back.wait_for_screen("done").await;
    assert!(screen.contains("main"), "{screen:?}");
    assert!(
        !back.modes().contains(TermMode::ALT_SCREEN),
        "{:?}",
        back.modes()
    );
}

#[tokio::test]
async fn reconnect_with_same_size_shows_screen() {
    let runner = TestRunner::start().await;
    let id = runner
        .shell("printf '\\033[2J\\033[5;10Hdrawn once'; read x")
        .await;
    let size = json!({"type": "resize", "cols": 80, "rows": 24});
    let mut terminal = WebTerminal::attach(&runner, &id).await;
    terminal.send(size.clone()).await;
    terminal.wait_for_screen("drawn once").await;
    terminal.disconnect();
    let mut back = WebTerminal::attach(&runner, &id).await;
    back.send(size).await;
    back.replay().await;
    back.wait_for_screen("drawn once").await;
}

#[tokio::test]
async fn slow_terminal_is_bounded_and_blocks_nothing() {
    let runner = TestRunner::start().await;
    let flood = "read x; head -c 16777216 /dev/zero | tr '\\0' x; exit 3";
    let spec = json!({"kind": "terminal", "program": "/bin/sh", "args": ["-c", flood],
                      "stdio": {"type": "pty"}, "journal": {"on": false}});
    let id = runner.create(&spec).await;
    let mut terminal = WebTerminal::attach(&runner, &id).await;
    let mut reader = Reader::of(&runner, &id).await;
    terminal.input("go\n").await;
    // The child writes 16 MiB and exits, although the web terminal reads nothing.
    assert_eq!(reader.exit().await.status, ExitStatus::Code(3));
    let mut received = 0;
    let exit = loop {
        match terminal.receive().await {
            Received::Bytes(bytes) => received += bytes.len(),
            Received::Text(text) if text["type"] == "exit" => break text,
            Received::Text(_) => {}
            Received::Closed(code) => panic!("closed: {code:?}"),
        }
    };
    assert_eq!(exit["code"], 3);
    assert!(
        received < 8 << 20,
        "{received} bytes were buffered for a web terminal that did not read"
    );
}

#[tokio::test]
async fn failures_are_reported() {
    let runner = TestRunner::start().await;
    let id = runner.shell(ECHO).await;
    let mut terminal = WebTerminal::attach(&runner, &id).await;
    terminal.send(json!({"type": "tabSwitch"})).await;
    assert_eq!(terminal.text("error").await["code"], "UNKNOWN_FRAME");
    terminal
        .send(json!({"type": "resize", "cols": 0, "rows": 0}))
        .await;
    assert_eq!(terminal.text("error").await["code"], "BAD_SIZE");
    terminal.input("12345\n").await;
    terminal.wait_for_screen("got 12345").await;
    terminal.disconnect();
    // The reconnected terminal receives the offset of the accepted input.
    let (begin, _) = WebTerminal::attach(&runner, &id).await.replay().await;
    assert_eq!(begin["input_next"], 6);
}

#[tokio::test]
async fn shutdown_ends_only_sessions_without_id() {
    let mut runner = TestRunner::start().await;
    let kept = runner.shell(ECHO).await;
    let mut terminal = WebTerminal::attach(&runner, &kept).await;
    terminal.wait_for_screen("ready").await;
    let mut alone = WebTerminal::without_id(&runner).await;
    alone
        .send(json!({"type": "start", "program": "/bin/sh", "args": ["-c", ECHO]}))
        .await;
    alone.wait_for_screen("ready").await;
    let sessions = runner.request("GET", "/api/sessions", None).await.json();
    let ids = sessions["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["id"].as_str().unwrap());
    let lost = ids
        .filter(|id| *id != kept)
        .map(str::to_owned)
        .next()
        .unwrap();
    let mut reader = Reader::of(&runner, &lost).await;
    runner.stop().await;
    reader.exit().await;
    assert_eq!(terminal.closed().await, Some(1001));
    let reader = Reader::of(&runner, &kept).await;
    assert_eq!(reader.attached.info.state, SessionState::Running);
}

#[tokio::test]
async fn ticket_is_consumed_by_upgrade() {
    let runner = TestRunner::start().await;
    let id = runner.shell(ECHO).await;
    let wanted = json!({"session": id, "lease": "write"});
    let response = runner.request("POST", "/api/tickets", Some(&wanted)).await;
    assert_eq!(response.json()["expires_in_ms"], 30_000);
    let ticket = response.json()["ticket"].as_str().unwrap().to_owned();
    let path = format!("/api/sessions/{id}/attach");
    let mut first = WebTerminal::open(runner.address(), &path, &ticket)
        .await
        .unwrap();
    first.wait_for_screen("ready").await;
    let second = WebTerminal::open(runner.address(), &path, &ticket).await;
    assert_eq!(second.err(), Some(401));
    first.input("mine\n").await;
    first.wait_for_screen("got mine").await;
}

#[tokio::test]
async fn attach_that_misses_the_timer_keeps_the_session() {
    let window = Duration::from_secs(4);
    let runner = TestRunner::with(|limits| limits.detach_window = window).await;
    // It does not end by the hang-up, but by SIGTERM two seconds after it.
    let slow = format!("trap '' HUP; {ECHO}");
    let (taken, left) = (runner.shell(ECHO).await, runner.shell(&slow).await);
    for id in [&taken, &left] {
        let mut terminal = WebTerminal::attach(&runner, id).await;
        terminal.wait_for_screen("ready").await;
        terminal.close(Some(1001)).await;
        let path = format!("/api/sessions/{id}/log?stream=lifecycle");
        let mut lifecycle = String::new();
        while !lifecycle.contains("\"detached\"") {
            lifecycle = runner.request("GET", &path, None).await.text();
        }
    }
    // The daemon does not notice this client, as one that attaches while the timer fires.
    let _client = Reader::attach(&runner, &taken, Lease::Write).await;
    // Its timer started later, and the other session would have ended before it.
    Reader::of(&runner, &left).await.exit().await;
    assert_eq!(runner.session(&taken).await["state"], "running");
}

#[tokio::test]
async fn restored_timer_keeps_a_session_that_another_client_has_taken() {
    let runner = TestRunner::start().await;
    let (taken, left) = (runner.shell(ECHO).await, runner.shell(ECHO).await);
    for id in [&taken, &left] {
        let mut terminal = WebTerminal::attach(&runner, id).await;
        terminal.wait_for_screen("ready").await;
    }
    // No daemon notices this client, as one that attaches while the timer fires.
    let _client = Reader::attach(&runner, &taken, Lease::Write).await;
    let runner = runner
        .restart(|limits| limits.detach_window = Duration::from_millis(1))
        .await;
    while runner.session(&left).await["state"] != "exited" {}
    assert_eq!(runner.session(&taken).await["state"], "running");
}
