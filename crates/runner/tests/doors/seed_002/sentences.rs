//! What seed 002 says.

use std::time::Duration;

use bowline_runner::wire::SessionState;
use serde_json::json;

use crate::support::{Panel, Served, Watcher};

/// Says who it is, and repeats what it hears.
const ECHO: &str = "stty -echo; echo ready $$; while read line; do echo \"got $line\"; done";

#[tokio::test]
async fn seed_002_a_blip_reconnects_to_the_same_process_with_its_screen() {
    let served = Served::start().await;
    let id = served.shell(ECHO).await;
    let pid = served.session(&id).await["pid"].clone();
    let mut panel = Panel::attach(&served, &id).await;
    panel.types("before\n").await;
    panel.shows("got before").await;
    panel.cut();

    let mut back = Panel::attach(&served, &id).await;
    let (begin, replay) = back.replay().await;
    assert_eq!(begin["input_next"], 7, "{begin}");
    assert!(
        replay.starts_with("\u{1b}[!p"),
        "a soft reset comes first: {replay:?}"
    );
    let screen = back.shows("got before").await;
    assert!(screen.contains("ready"), "{screen:?}");
    back.types("after\n").await;
    back.shows("got after").await;
    assert_eq!(served.session(&id).await["pid"], pid);
}

#[tokio::test]
async fn seed_002_output_goes_on_while_detached() {
    let served = Served::start().await;
    let id = served.shell("read a; echo one; read b; sleep 100").await;
    let mut panel = Panel::attach(&served, &id).await;
    let mut watcher = Watcher::of(&served, &id).await;
    panel.types("x\n").await;
    panel.cut();
    watcher.sees("one").await;
    let mut back = Panel::attach(&served, &id).await;
    back.replay().await;
    back.shows("one").await;
}

#[tokio::test]
async fn seed_002_codes_4001_4404_and_1000_dispose_at_once() {
    let served = Served::start().await;
    for code in [4001, 4404, 1000] {
        let id = served.shell(ECHO).await;
        let mut watcher = Watcher::of(&served, &id).await;
        let mut panel = Panel::attach(&served, &id).await;
        panel.shows("ready").await;
        panel.close(Some(code)).await;
        watcher.exit().await;
    }
}

#[tokio::test]
async fn seed_002_all_other_codes_keep_the_session() {
    let served = Served::start().await;
    for code in [Some(1001), Some(4000), Some(3000), None] {
        let id = served.shell(ECHO).await;
        let mut panel = Panel::attach(&served, &id).await;
        panel.shows("ready").await;
        panel.close(code).await;
        let mut back = Panel::attach(&served, &id).await;
        back.types("still\n").await;
        back.shows("got still").await;
    }
}

#[tokio::test]
async fn seed_002_the_window_closes_on_a_session_that_is_left() {
    let served = Served::with(|limits| limits.detach_window = Duration::from_millis(50)).await;
    let id = served.shell(ECHO).await;
    let mut watcher = Watcher::of(&served, &id).await;
    let mut panel = Panel::attach(&served, &id).await;
    panel.shows("ready").await;
    panel.cut();
    watcher.exit().await;
}

#[tokio::test]
async fn seed_002_a_return_cancels_the_timer() {
    let served = Served::with(|limits| {
        limits.detach_window = Duration::from_millis(300);
        limits.silence = Duration::from_millis(600);
    })
    .await;
    let id = served.shell(ECHO).await;
    let mut panel = Panel::attach(&served, &id).await;
    panel.shows("ready").await;
    panel.cut();
    let mut back = Panel::attach(&served, &id).await;
    // Pings come every 200 ms: after four of them the window would have closed.
    for _ in 0..4 {
        back.text("ping").await;
    }
    back.types("alive\n").await;
    back.shows("got alive").await;
}

#[tokio::test]
async fn seed_002_a_session_without_an_id_is_disposed_of_at_once() {
    let served = Served::start().await;
    let mut panel = Panel::alone(&served).await;
    let start = json!({"type": "start", "program": "/bin/sh", "args": ["-c", ECHO]});
    panel.says(start).await;
    panel.shows("ready").await;
    let sessions = served.ask("GET", "/api/sessions", None).await.json();
    let id = sessions["sessions"][0]["id"].as_str().unwrap().to_owned();
    let mut watcher = Watcher::of(&served, &id).await;
    assert_eq!(watcher.attached.info.state, SessionState::Running);
    panel.cut();
    watcher.exit().await;
}

#[tokio::test]
async fn seed_002_start_comes_with_a_size_and_first_bytes_start_as_well() {
    let served = Served::start().await;
    let mut panel = Panel::alone(&served).await;
    let script = "stty size; cat";
    panel
        .says(
            json!({"type": "start", "program": "/bin/sh", "args": ["-c", script],
                     "cols": 101, "rows": 33}),
        )
        .await;
    panel.shows("33 101").await;
    panel.close(Some(1000)).await;

    let spec = json!({"kind": "terminal", "program": "/bin/sh", "args": ["-c", ECHO]});
    let ticket = served
        .ask("POST", "/api/tickets", Some(&json!({"create": spec})))
        .await
        .json();
    let ticket = ticket["ticket"].as_str().unwrap();
    let mut panel = Panel::open(served.address(), "/api/panel", ticket)
        .await
        .unwrap();
    panel.types("first\n").await;
    panel.shows("got first").await;
}

#[tokio::test]
async fn seed_002_a_missing_program_is_told_with_4404() {
    let served = Served::start().await;
    let mut panel = Panel::alone(&served).await;
    panel
        .says(json!({"type": "start", "program": "/no/such/program"}))
        .await;
    assert_eq!(panel.text("error").await["code"], "PROGRAM_NOT_FOUND");
    assert_eq!(panel.closed().await, Some(4404));

    let id = "00000000-0000-4000-8000-000000000000";
    let mut panel = Panel::attach(&served, id).await;
    assert_eq!(panel.text("error").await["code"], "SESSION_NOT_FOUND");
    assert_eq!(panel.closed().await, Some(4404));
}

#[tokio::test]
async fn seed_002_the_timer_does_not_keep_the_runner_alive() {
    let mut served = Served::start().await;
    let id = served.shell(ECHO).await;
    let mut panel = Panel::attach(&served, &id).await;
    panel.shows("ready").await;
    panel.close(Some(1001)).await;
    // The window is a minute, and stopping may take no more than a few seconds.
    served.stop().await;
}

#[tokio::test]
async fn seed_002_restart_cancels_the_timer() {
    let served = Served::with(|limits| limits.detach_window = Duration::from_secs(3600)).await;
    let id = served.shell(ECHO).await;
    let mut watcher = Watcher::of(&served, &id).await;
    let mut panel = Panel::attach(&served, &id).await;
    panel.shows("ready").await;
    panel.close(Some(1001)).await;
    let path = format!("/api/sessions/{id}/restart");
    let answer = served.ask("POST", &path, None).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    watcher.exit().await;
    let fresh = answer.json()["id"].as_str().unwrap().to_owned();
    assert_ne!(fresh, id);
    let mut panel = Panel::attach(&served, &fresh).await;
    panel.shows("ready").await;
    panel.types("new\n").await;
    panel.shows("got new").await;
}

#[tokio::test]
async fn seed_002_a_ping_is_answered_and_a_resize_arrives() {
    let served = Served::start().await;
    let id = served
        .shell("trap 'stty size' WINCH; echo ready; while :; do read x; done")
        .await;
    let mut panel = Panel::attach(&served, &id).await;
    panel.shows("ready").await;
    panel.says(json!({"type": "ping", "ts": 17})).await;
    assert_eq!(panel.text("pong").await["ts"], 17);
    panel.says(json!({"type": "keepalive"})).await;
    panel
        .says(json!({"type": "resize", "cols": 99, "rows": 44}))
        .await;
    panel.types("\n").await;
    panel.shows("44 99").await;
}
