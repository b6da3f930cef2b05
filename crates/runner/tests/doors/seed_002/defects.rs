//! The defects of the system that seed 002 comes from, by their numbers.

use std::time::Duration;

use alacritty_terminal::term::TermMode;
use bowline_runner::wire::SessionState;
use bowline_transport::ExitStatus;
use serde_json::json;

use crate::support::{Heard, Panel, Served, Watcher};

const ECHO: &str = "stty -echo; echo ready; while read line; do echo \"got $line\"; done";

/// Defect 1: a lease of 30 minutes that nothing renewed, after which the first blip lost the
/// session.
#[tokio::test]
async fn seed_002_a_session_outlives_every_ticket() {
    let served = Served::with(|limits| limits.ticket_life = Duration::ZERO).await;
    let id = served.shell(ECHO).await;
    let wanted = json!({"session": id, "lease": "write"});
    let ticket = served
        .ask("POST", "/api/tickets", Some(&wanted))
        .await
        .json();
    let ticket = ticket["ticket"].as_str().unwrap();
    let path = format!("/api/sessions/{id}/attach");
    let late = Panel::open(served.address(), &path, ticket).await;
    assert_eq!(late.err(), Some(401), "the ticket is too old");
    for _ in 0..3 {
        let mut panel = Panel::attach(&served, &id).await;
        panel.types("on\n").await;
        panel.shows("got on").await;
        panel.cut();
    }
}

/// Defect 2: the late close of a half-open connection cleared the new one, and a late 4001 killed
/// the session at once. The old connection could still type.
#[tokio::test]
async fn seed_002_stale_close_cannot_touch_a_new_attach() {
    let served = Served::with(|limits| limits.detach_window = Duration::ZERO).await;
    for code in [Some(4001), Some(1000), Some(1001), None] {
        let id = served.shell(ECHO).await;
        let mut old = Panel::attach(&served, &id).await;
        old.shows("ready").await;
        let mut new = Panel::attach(&served, &id).await;
        new.replay().await;
        // The old panel does not know yet that it is of the past.
        old.types("stale\n").await;
        old.close(code).await;
        new.types("fresh\n").await;
        let shown = new.shows("got fresh").await;
        assert!(!shown.contains("stale"), "{code:?}: {shown:?}");
        let watcher = Watcher::of(&served, &id).await;
        assert_eq!(
            watcher.attached.info.state,
            SessionState::Running,
            "{code:?}"
        );
    }
}

/// Defect 2: the old connection was never closed.
#[tokio::test]
async fn seed_002_an_old_panel_is_told_and_closed() {
    let served = Served::start().await;
    let id = served.shell(ECHO).await;
    let mut old = Panel::attach(&served, &id).await;
    old.shows("ready").await;
    let _new = Panel::attach(&served, &id).await;
    assert_eq!(old.text("error").await["code"], "SUPERSEDED");
    assert_eq!(old.closed().await, Some(4409));
}

/// Defect 3: the process was forgotten before it was checked, so SIGKILL never came.
#[tokio::test]
async fn seed_002_sigkill_is_really_sent() {
    let served = Served::start().await;
    let stubborn = "trap '' HUP INT TERM; echo ready; while :; do sleep 1000; done";
    let id = served.shell(stubborn).await;
    let mut watcher = Watcher::of(&served, &id).await;
    let mut panel = Panel::attach(&served, &id).await;
    panel.shows("ready").await;
    panel.close(Some(4001)).await;
    assert_eq!(watcher.exit().await.status, ExitStatus::Signal(9));
}

/// Defect 4: an exit while detached was told to nobody, and the dead terminal looked alive for
/// ever.
#[tokio::test]
async fn seed_002_an_exit_while_detached_is_told_on_return() {
    let served = Served::start().await;
    let id = served.shell("echo ready; read x; exit 7").await;
    let mut watcher = Watcher::of(&served, &id).await;
    let mut panel = Panel::attach(&served, &id).await;
    panel.shows("ready").await;
    panel.close(Some(1001)).await;
    let path = format!("/api/sessions/{id}/prompt");
    let answer = served
        .ask("POST", &path, Some(&json!({"text": "go"})))
        .await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    watcher.exit().await;

    let mut back = Panel::attach(&served, &id).await;
    assert_eq!(back.text("exit").await["code"], 7);
    assert_eq!(back.closed().await, Some(1000));
    // And again, when the first one has acknowledged it.
    let mut back = Panel::attach(&served, &id).await;
    assert_eq!(back.text("exit").await["code"], 7);
}

/// Defect 5: a return after the window had closed showed an empty terminal without a process.
#[tokio::test]
async fn seed_002_a_return_too_late_is_told_the_end() {
    let served = Served::with(|limits| limits.detach_window = Duration::ZERO).await;
    let id = served.shell(ECHO).await;
    let mut watcher = Watcher::of(&served, &id).await;
    let mut panel = Panel::attach(&served, &id).await;
    panel.shows("ready").await;
    panel.cut();
    watcher.exit().await;
    let mut back = Panel::attach(&served, &id).await;
    let exit = back.text("exit").await;
    assert!(exit["code"].is_i64() || exit["signal"].is_i64(), "{exit}");
    assert_eq!(back.closed().await, Some(1000));
}

/// Defect 6: answers to pings were dropped unread, so a half-open connection was never noticed.
#[tokio::test]
async fn seed_002_a_silent_panel_is_noticed() {
    let served = Served::with(|limits| {
        limits.silence = Duration::from_millis(300);
        limits.detach_window = Duration::ZERO;
    })
    .await;
    let id = served.shell(ECHO).await;
    let mut watcher = Watcher::of(&served, &id).await;
    let mut panel = Panel::attach(&served, &id).await;
    panel.shows("ready").await;
    // It is not read from any more, so nothing answers the pings.
    watcher.exit().await;
    drop(panel);
}

/// Defect 6, the other way round: a panel that answers stays, however long it types nothing.
#[tokio::test]
async fn seed_002_a_panel_that_answers_stays() {
    let served = Served::with(|limits| {
        limits.silence = Duration::from_millis(300);
        limits.detach_window = Duration::ZERO;
    })
    .await;
    let id = served.shell(ECHO).await;
    let mut panel = Panel::attach(&served, &id).await;
    for _ in 0..9 {
        panel.text("ping").await;
        panel.says(json!({"type": "pong"})).await;
    }
    panel.types("here\n").await;
    panel.shows("got here").await;
}

/// Defect 8: the replay entered the alternate screen in front of old history, restored no mode, and
/// could begin within a sequence.
#[tokio::test]
async fn seed_002_a_replay_restores_modes_and_the_alternate_screen() {
    let served = Served::start().await;
    let modes = "\\033[?1049h\\033[?2004h\\033[?1000h\\033[?1006h\\033[?25l\\033]2;title\\007";
    let split = "printf '\\033[?10'; printf '49h'";
    let script = format!("echo main; {split}; printf '{modes}tui'; read x");
    let id = served.shell(&script).await;
    let mut panel = Panel::attach(&served, &id).await;
    panel.shows("tui").await;
    panel.cut();
    let mut back = Panel::attach(&served, &id).await;
    back.replay().await;
    back.shows("tui").await;
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

/// Defect 8: of an alternate screen that was entered and left, the last word counts.
#[tokio::test]
async fn seed_002_an_alternate_screen_that_was_left_is_not_entered() {
    let served = Served::start().await;
    let id = served
        .shell("printf 'main\\033[?1049htui\\033[?1049l'; echo done; read x")
        .await;
    let mut panel = Panel::attach(&served, &id).await;
    panel.shows("done").await;
    panel.cut();
    let mut back = Panel::attach(&served, &id).await;
    let (_, replay) = back.replay().await;
    assert!(!replay.contains("tui"), "{replay:?}");
    let screen = back.shows("done").await;
    assert!(screen.contains("main"), "{screen:?}");
    assert!(
        !back.modes().contains(TermMode::ALT_SCREEN),
        "{:?}",
        back.modes()
    );
}

/// Defect 9: the same size brings no SIGWINCH, so a full-screen program did not draw itself again.
#[tokio::test]
async fn seed_002_a_return_of_the_same_size_shows_the_screen() {
    let served = Served::start().await;
    let id = served
        .shell("printf '\\033[2J\\033[5;10Hdrawn once'; read x")
        .await;
    let size = json!({"type": "resize", "cols": 80, "rows": 24});
    let mut panel = Panel::attach(&served, &id).await;
    panel.says(size.clone()).await;
    panel.shows("drawn once").await;
    panel.cut();
    let mut back = Panel::attach(&served, &id).await;
    back.says(size).await;
    back.replay().await;
    back.shows("drawn once").await;
}

/// Defect 10: nothing held output back for a slow panel, and its memory grew.
#[tokio::test]
async fn seed_002_a_slow_panel_holds_nobody_up_and_holds_little() {
    let served = Served::start().await;
    let flood = "read x; head -c 16777216 /dev/zero | tr '\\0' x; exit 3";
    let spec = json!({"kind": "terminal", "program": "/bin/sh", "args": ["-c", flood],
                      "stdio": {"type": "pty"}, "journal": {"on": false}});
    let id = served.create(&spec).await;
    let mut panel = Panel::attach(&served, &id).await;
    let mut watcher = Watcher::of(&served, &id).await;
    panel.types("go\n").await;
    // The child writes 16 MiB and ends, although its panel reads nothing.
    assert_eq!(watcher.exit().await.status, ExitStatus::Code(3));
    let mut taken = 0;
    let exit = loop {
        match panel.hear().await {
            Heard::Bytes(bytes) => taken += bytes.len(),
            Heard::Text(text) if text["type"] == "exit" => break text,
            Heard::Text(_) => {}
            Heard::Closed(code) => panic!("closed: {code:?}"),
        }
    };
    assert_eq!(exit["code"], 3);
    assert!(
        taken < 8 << 20,
        "{taken} bytes were kept for a panel that did not read"
    );
}

/// Defect 11: input while detached was lost without a word, and unknown frames were ignored.
#[tokio::test]
async fn seed_002_what_is_not_done_is_told() {
    let served = Served::start().await;
    let id = served.shell(ECHO).await;
    let mut panel = Panel::attach(&served, &id).await;
    panel.says(json!({"type": "tabSwitch"})).await;
    assert_eq!(panel.text("error").await["code"], "UNKNOWN_FRAME");
    panel
        .says(json!({"type": "resize", "cols": 0, "rows": 0}))
        .await;
    assert_eq!(panel.text("error").await["code"], "BAD_SIZE");
    panel.types("12345\n").await;
    panel.shows("got 12345").await;
    panel.cut();
    // The panel learns how much of what it typed was taken.
    let (begin, _) = Panel::attach(&served, &id).await.replay().await;
    assert_eq!(begin["input_next"], 6);
}

/// Defect 12: the end of the agent left its terminals behind.
#[tokio::test]
async fn seed_002_the_end_of_the_runner_leaves_what_can_be_found_again_and_nothing_else() {
    let mut served = Served::start().await;
    let kept = served.shell(ECHO).await;
    let mut panel = Panel::attach(&served, &kept).await;
    panel.shows("ready").await;
    let mut alone = Panel::alone(&served).await;
    alone
        .says(json!({"type": "start", "program": "/bin/sh", "args": ["-c", ECHO]}))
        .await;
    alone.shows("ready").await;
    let sessions = served.ask("GET", "/api/sessions", None).await.json();
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
    let mut watcher = Watcher::of(&served, &lost).await;
    served.stop().await;
    watcher.exit().await;
    assert_eq!(panel.closed().await, Some(1001));
    let watcher = Watcher::of(&served, &kept).await;
    assert_eq!(watcher.attached.info.state, SessionState::Running);
}

/// Defect 13: a ticket for 30 s lived for 30 minutes and could be used again and again.
#[tokio::test]
async fn seed_002_a_ticket_is_used_up_by_the_upgrade() {
    let served = Served::start().await;
    let id = served.shell(ECHO).await;
    let wanted = json!({"session": id, "lease": "write"});
    let answer = served.ask("POST", "/api/tickets", Some(&wanted)).await;
    assert_eq!(answer.json()["expires_in_ms"], 30_000);
    let ticket = answer.json()["ticket"].as_str().unwrap().to_owned();
    let path = format!("/api/sessions/{id}/attach");
    let mut first = Panel::open(served.address(), &path, &ticket).await.unwrap();
    first.shows("ready").await;
    let second = Panel::open(served.address(), &path, &ticket).await;
    assert_eq!(second.err(), Some(401));
    first.types("mine\n").await;
    first.shows("got mine").await;
}
