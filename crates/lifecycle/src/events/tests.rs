//! Event queues: order, bounds, lag and the end.
//!
//! | test | criterion |
//! |---|---|
//! | `slow_subscriber_gets_lag_and_delays_no_other` | a slow consumer loses its own oldest events and learns how many |

use bowline_transport::{Configuration, TerminalEngine, TerminationPolicy};

use super::*;
use crate::watchdog::WorkPhase;

fn text_event(text: &str) -> PendingEvent {
    PendingEvent {
        path: Vec::new(),
        offset: None,
        phase: WorkPhase::Model,
        kind: DialogueEventKind::Text { text: text.into() },
    }
}

async fn next(events: &mut DialogueEvents) -> Option<DialogueEventKind> {
    Some(events.next().await?.kind.clone())
}

fn text(text: impl Into<String>) -> Option<DialogueEventKind> {
    let text = text.into();
    Some(DialogueEventKind::Text { text })
}

fn lagged(missed: u64) -> Option<DialogueEventKind> {
    Some(DialogueEventKind::Lagged { missed })
}

/// Creates a router. It needs a session id, and only a session has one.
async fn router() -> Router {
    let session = TerminalEngine
        .make_session(Configuration::new("true"))
        .expect("`true` starts");
    let router = Router::new(session.id());
    session.terminate(TerminationPolicy::AT_ONCE).await;
    router
}

const THREE_EVENTS: EventLimits = EventLimits {
    events: 3,
    bytes: 1 << 20,
};

#[tokio::test]
async fn slow_subscriber_gets_lag_and_delays_no_other() {
    let router = router().await;
    let mut slow = router.subscribe(THREE_EVENTS);
    let mut quick = router.subscribe(THREE_EVENTS);
    let mut dropped = 0;
    for number in 0..10 {
        dropped += router.send(text_event(&number.to_string()));
        assert_eq!(next(&mut quick).await, text(number.to_string()));
    }
    assert_eq!(dropped, 7);
    assert_eq!(next(&mut slow).await, lagged(7));
    for number in 7..10 {
        assert_eq!(next(&mut slow).await, text(number.to_string()));
    }
    assert_eq!(slow.try_next(), None);
}

#[tokio::test]
async fn queue_is_bounded_by_bytes() {
    let router = router().await;
    let mut events = router.subscribe(EventLimits {
        events: 100,
        bytes: 10,
    });
    for text in ["aaaa", "bbbb", "cccc"] {
        router.send(text_event(text));
    }
    assert_eq!(next(&mut events).await, lagged(1));
    assert_eq!(next(&mut events).await, text("bbbb"));
    // An event that exceeds the bound by itself is kept alone.
    router.send(text_event(&"x".repeat(100)));
    assert_eq!(next(&mut events).await, lagged(1));
    assert_eq!(next(&mut events).await, text("x".repeat(100)));
}

#[tokio::test]
async fn stream_ends_after_queued_events() {
    let router = router().await;
    let mut events = router.subscribe(THREE_EVENTS);
    router.send(text_event("last"));
    router.close();
    assert_eq!(next(&mut events).await, text("last"));
    assert_eq!(next(&mut events).await, None);
    let mut late = router.subscribe(THREE_EVENTS);
    assert_eq!(next(&mut late).await, None, "subscribed after the end");
}

#[tokio::test]
async fn waiting_subscriber_is_woken_by_event_and_by_end() {
    let router = router().await;
    let mut events = router.subscribe(THREE_EVENTS);
    let waiting = tokio::spawn(async move { (next(&mut events).await, next(&mut events).await) });
    tokio::task::yield_now().await;
    router.send(text_event("one"));
    tokio::task::yield_now().await;
    router.close();
    assert_eq!(waiting.await.expect("no panic"), (text("one"), None));
}

#[tokio::test]
async fn dropped_subscription_is_removed() {
    let router = router().await;
    let events = router.subscribe(THREE_EVENTS);
    assert!(router.has_subscribers());
    drop(events);
    router.send(text_event("unseen"));
    assert!(!router.has_subscribers());
}
