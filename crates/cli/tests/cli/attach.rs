//! `bowline attach` on a terminal, and how it ends there.

use std::ffi::OsString;
use std::path::Path;

use bowline_transport::{ExitStatus, Signal};

use crate::door::Door;
use crate::runner::Served;
use crate::support::BOWLINE;
use crate::terminal::Seat;

/// A shell that says what it is told.
const ECHO: &str = "stty -echo; echo welcome; while read x; do echo \"got $x\"; done";

fn set(served: &Served) -> Vec<(OsString, OsString)> {
    vec![("BOWLINE_STATE_DIR".into(), served.state().into())]
}

/// A terminal that has joined a session; no key was pressed.
async fn joined(served: &Served, id: &str, more: &[&str]) -> Seat {
    let line = [&["attach", id], more].concat();
    let line = line.into_iter().map(str::to_owned).collect();
    let mut seat = Seat::at(line, set(served), None);
    // A screen is handed over with its last character apart.
    seat.until("welcom").await;
    seat
}

fn door(served: &Served) -> Door {
    Door::before(&Path::new(&served.state()).join("runner.sock"))
}

#[tokio::test]
async fn a_joined_terminal_ends_with_its_program_and_no_key() {
    let served = Served::start();
    let id = served.shell(ECHO);
    let seat = joined(&served, &id, &[]).await;
    served.bowline(&["kill", &id]).ok();
    let (seen, status) = seat.finish().await;
    assert!(seen.contains(&format!("{id} has ended: ")), "{seen:?}");
    assert_eq!(status, ExitStatus::Code(0));
}

#[tokio::test]
async fn a_joined_terminal_ends_with_its_link_and_no_key() {
    let served = Served::start();
    let id = served.shell(ECHO);
    let first = joined(&served, &id, &[]).await;
    let _other = joined(&served, &id, &[]).await;
    let (seen, status) = first.finish().await;
    assert!(seen.contains("is out of reach: another host"), "{seen:?}");
    assert_eq!(status, ExitStatus::Code(1));
}

/// A joined terminal whose link is shut, and a key that waits for it.
async fn cut_off(served: &Served, id: &str, door: &Door) -> Seat {
    let mut seat = joined(served, id, &["--runner", &door.url()]).await;
    door.shut();
    seat.until("reconnecting").await;
    seat.type_in("x").await;
    seat
}

#[tokio::test]
async fn a_terminal_is_left_while_a_key_waits_for_its_link() {
    let served = Served::start();
    let (id, door) = (served.shell(ECHO), door(&served));
    let seat = cut_off(&served, &id, &door).await;
    seat.type_in("\u{1d}").await;
    let (seen, status) = seat.finish().await;
    assert!(seen.contains("which goes on"), "{seen:?}");
    assert_eq!(status, ExitStatus::Code(0));
}

#[tokio::test]
async fn a_key_that_waits_does_not_outlast_its_link() {
    let served = Served::start();
    let (id, door) = (served.shell(ECHO), door(&served));
    let seat = cut_off(&served, &id, &door).await;
    door.refuse("401 Unauthorized");
    let (seen, status) = seat.finish().await;
    assert!(seen.contains("is out of reach: "), "{seen:?}");
    assert!(
        seen.contains(&format!("bowline attach --runner {} {id}", door.url())),
        "{seen:?}"
    );
    assert_eq!(status, ExitStatus::Code(1));
}

#[tokio::test]
async fn keys_before_the_one_that_leaves_are_passed_on() {
    let served = Served::start();
    let id = served.shell(ECHO);
    let seat = joined(&served, &id, &[]).await;
    seat.type_in("one\ntwo\n\u{1d}").await;
    let (seen, status) = seat.finish().await;
    assert!(seen.contains("which goes on"), "{seen:?}");
    assert_eq!(status, ExitStatus::Code(0));
    let mut again = joined(&served, &id, &[]).await;
    again.until("got two").await;
}

#[tokio::test]
async fn a_signal_leaves_the_terminal_as_it_was() {
    let served = Served::start();
    let id = served.shell(ECHO);
    for signal in [Signal::Terminate, Signal::Hangup, Signal::Interrupt] {
        let script = format!(
            "trap : TERM HUP INT; stty -a; '{BOWLINE}' attach {id}; echo left $?; stty -a; echo over"
        );
        let line = vec!["-c".to_owned(), script];
        let mut seat = Seat::of("/bin/sh", line, set(&served), None);
        seat.until("welcom").await;
        seat.signal(signal);
        let (seen, _) = seat.finish().await;
        let (before, after) = seen.split_once("left 130").expect(&seen);
        let settings = |text: &str| {
            let text = text.split_once("speed ").unwrap().1;
            let text = text.split("\r\n").take(9).collect::<Vec<_>>().join(" ");
            ["icanon", "echo", "isig", "opost"].map(|it| text.contains(&format!(" {it} ")))
        };
        assert!(before.contains("which goes on"), "{signal:?}: {seen:?}");
        assert_eq!(settings(after), settings(before), "{signal:?}: {seen:?}");
    }
}
