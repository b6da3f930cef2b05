//! Subscribers beside each other, the slow ones too.

use bowline_transport::{Configuration, Ladder, TerminalEngine};

use super::*;
use crate::watchdog::WorkPhase;

fn told(text: &str) -> Told {
    Told {
        path: Vec::new(),
        offset: None,
        phase: WorkPhase::Model,
        kind: DialogueEventKind::Text { text: text.into() },
    }
}

fn said(heard: Option<Heard>) -> Result<String, Option<u64>> {
    match heard {
        Some(Heard::Event(event)) => match &event.kind {
            DialogueEventKind::Text { text } => Ok(text.clone()),
            other => panic!("{other:?}"),
        },
        Some(Heard::Lagged(missed)) => Err(Some(missed)),
        None => Err(None),
    }
}

/// A router needs a session's name, and only a session has one.
async fn router() -> Router {
    let session = TerminalEngine
        .make_session(Configuration::new("true"))
        .expect("`true` starts");
    let router = Router::new(session.id());
    session.terminate(Ladder::AT_ONCE).await;
    router
}

const FEW: EventLimits = EventLimits {
    events: 3,
    bytes: 1 << 20,
};

#[tokio::test]
async fn seed_001_a_slow_subscriber_is_told_of_its_lag_and_slows_nobody() {
    let router = router().await;
    let mut slow = router.subscribe(FEW);
    let mut quick = router.subscribe(FEW);
    let mut lost = 0;
    for number in 0..10 {
        lost += router.send(told(&number.to_string()));
        assert_eq!(said(quick.next().await), Ok(number.to_string()));
    }
    assert_eq!(lost, 7);
    assert_eq!(said(slow.next().await), Err(Some(7)));
    for number in 7..10 {
        assert_eq!(said(slow.next().await), Ok(number.to_string()));
    }
    assert_eq!(slow.try_next(), None);
}

#[tokio::test]
async fn a_queue_is_bounded_by_bytes_too() {
    let router = router().await;
    let mut events = router.subscribe(EventLimits {
        events: 100,
        bytes: 10,
    });
    for text in ["aaaa", "bbbb", "cccc"] {
        router.send(told(text));
    }
    assert_eq!(said(events.next().await), Err(Some(1)));
    assert_eq!(said(events.next().await), Ok("bbbb".into()));
    // One that is over the bound by itself is kept alone.
    router.send(told(&"x".repeat(100)));
    assert_eq!(said(events.next().await), Err(Some(1)));
    assert_eq!(said(events.next().await), Ok("x".repeat(100)));
}

#[tokio::test]
async fn the_end_comes_behind_what_was_not_taken_yet() {
    let router = router().await;
    let mut events = router.subscribe(FEW);
    router.send(told("last"));
    router.finish();
    assert_eq!(said(events.next().await), Ok("last".into()));
    assert_eq!(said(events.next().await), Err(None));
    assert_eq!(
        said(router.subscribe(FEW).next().await),
        Err(None),
        "who comes too late"
    );
}

#[tokio::test]
async fn who_is_gone_is_forgotten() {
    let router = router().await;
    let events = router.subscribe(FEW);
    assert!(router.has_subscribers());
    drop(events);
    router.send(told("to nobody"));
    assert!(!router.has_subscribers());
}
