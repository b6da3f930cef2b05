//! Transcript changes as a stream of owned values.

use bowline_lifecycle::change::{BlockValue, EntryValue};
use bowline_lifecycle::reducer::Cursor;
use bowline_lifecycle::{DialogueEventKind, DialogueSession, Prompt, TranscriptChange};
use serde_json::Value;

use super::support::{TURN, agent, start, until, within};

/// Completes a turn, and writes one more message before it exits.
const LATE_MESSAGE: &str = r#"
read line
echo '{"type":"result","subtype":"success","result":"done","uuid":"r"}'
read line
echo '{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"late"}]},"uuid":"a"}'
"#;

/// Returns all changes up to the end of the session.
async fn collect(session: &DialogueSession) -> Vec<TranscriptChange> {
    let mut changes = session.changes();
    let mut all = Vec::new();
    while let Some(change) = within("a change", changes.next()).await {
        all.push(change);
    }
    all
}

fn texts(changes: &[TranscriptChange]) -> String {
    let text = |change: &TranscriptChange| match change {
        TranscriptChange::Block {
            value: BlockValue::Text { text },
            ..
        }
        | TranscriptChange::Append { text, .. } => text.clone(),
        _ => String::new(),
    };
    changes.iter().map(text).collect()
}

/// A loop over a cursor that stops at the final receipt does not read what follows it.
#[tokio::test]
async fn stream_has_last_changes_that_cursor_loop_misses() {
    let (session, mut events) = start(agent(LATE_MESSAGE)).await;
    let mut stream = session.changes();
    let mut receipt = session.send(Prompt::text("go")).await.expect("it runs");
    let (mut cursor, mut by_cursor) = (Cursor::default(), String::new());
    while !receipt.state().is_final() {
        within("a change", session.changed_since(cursor.revision())).await;
        let (next, text) = session
            .changes_since(cursor, |changes| {
                let changes: Vec<_> = changes.iter().map(Into::into).collect();
                texts(&changes)
            })
            .await;
        by_cursor.push_str(&text);
        cursor = next;
        // The loop may be slower than the agent.
        within("the turn", receipt.settled()).await;
    }
    session.send(Prompt::text("more")).await.expect("it runs");
    until(&mut events, "the end", |kind| {
        matches!(kind, DialogueEventKind::SessionEnd { .. })
    })
    .await;
    assert_eq!(by_cursor, "");

    let mut by_stream = Vec::new();
    while let Some(change) = within("a change", stream.next()).await {
        by_stream.push(change);
    }
    assert!(matches!(by_stream[0], TranscriptChange::Reset));
    assert_eq!(texts(&by_stream), "late");
    let is_error = |change: &TranscriptChange| {
        matches!(
            change,
            TranscriptChange::Entry {
                value: EntryValue::Error { .. },
                ..
            }
        )
    };
    assert!(by_stream.iter().any(is_error), "the unexpected exit");
    assert!(within("the end", stream.next()).await.is_none());
}

#[tokio::test]
async fn stream_of_ended_session_has_the_whole_transcript() {
    let (session, mut events) = start(agent(TURN)).await;
    session.send(Prompt::text("go")).await.expect("it runs");
    until(&mut events, "the turn", |kind| {
        matches!(kind, DialogueEventKind::TurnEnd { .. })
    })
    .await;
    within("the end", session.terminate()).await;
    let owned = collect(&session).await;
    assert_eq!(texts(&owned), "CANARY-text");
    // The owned changes have the JSON of the borrowed ones, without the list of blocks.
    let (_, borrowed) = session
        .changes_since(Cursor::default(), |changes| {
            changes
                .iter()
                .map(|change| {
                    let mut json = serde_json::to_value(&change).expect("JSON");
                    if let Some(Value::Object(value)) = json.get_mut("value") {
                        value.remove("blocks");
                    }
                    json
                })
                .collect::<Vec<_>>()
        })
        .await;
    let owned = owned
        .iter()
        .map(|it| serde_json::to_value(it).expect("JSON"));
    let owned: Vec<_> = owned.filter(|it| it["change"] != "reset").collect();
    let borrowed: Vec<_> = borrowed
        .into_iter()
        .filter(|it| it["change"] != "reset")
        .collect();
    assert_eq!(owned, borrowed);
}

#[tokio::test]
async fn stream_does_not_keep_the_session_alive() {
    let (session, _events) = start(agent("exec cat >/dev/null")).await;
    let mut changes = session.changes();
    assert!(matches!(
        within("the reset", changes.next()).await,
        Some(TranscriptChange::Reset)
    ));
    drop(session);
    while within("a change or the end", changes.next())
        .await
        .is_some()
    {}
}
