//! Past conversations, listed and opened.

use std::path::Path;
use std::sync::Arc;

use bowline_ffi::{
    BowlineError, Change, Engine, History, HistoryConfiguration, HistoryQuery, Phase,
};

fn history() -> Arc<History> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/history");
    let folder = |name: &str| Some(root.join(name).to_string_lossy().into_owned());
    let configuration = HistoryConfiguration {
        claude_directory: folder("claude"),
        codex_directory: folder("codex"),
        index_directory: None,
    };
    let history = Engine::new(None).history(Some(configuration));
    history.expect("no fault")
}

#[tokio::test]
async fn conversations_are_listed_and_searched() {
    let all = history().list(None).await.expect("they are readable");
    let times: Vec<_> = all
        .conversations
        .iter()
        .map(|it| it.last_activity_ms)
        .collect();
    assert!(
        times.len() > 4 && times.is_sorted_by(|a, b| a >= b),
        "{times:?}"
    );
    let query = HistoryQuery {
        agent: Some("codex".to_owned()),
        limit: Some(1),
        ..HistoryQuery::default()
    };
    let codex = history()
        .list(Some(query))
        .await
        .expect("they are readable");
    assert_eq!(codex.conversations.len(), 1);
    assert_eq!(codex.conversations[0].agent, "codex");
    let query = HistoryQuery {
        search: Some("no such words anywhere".to_owned()),
        ..HistoryQuery::default()
    };
    let none = history()
        .list(Some(query))
        .await
        .expect("they are readable");
    assert!(none.conversations.is_empty() && none.problems.is_empty());
    let query = HistoryQuery {
        agent: Some("aider".to_owned()),
        ..HistoryQuery::default()
    };
    let refused = history().list(Some(query)).await;
    assert!(matches!(refused, Err(BowlineError::Invalid { .. })));
}

#[tokio::test]
async fn every_conversation_opens_as_its_history() {
    let all = history().list(None).await.expect("they are readable");
    for conversation in all.conversations {
        let past = history().open(conversation.id.clone()).await;
        let changes = past.expect("it is readable").change_stream();
        let changes = changes.expect("no fault");
        let (mut cursor, mut entries, mut last_phase) = (0, 0, Phase::Starting);
        let next = |cursor| Arc::clone(&changes).next(cursor, 100, 0);
        while let Some(batch) = next(cursor).await.expect("it is readable") {
            cursor = batch.cursor;
            for change in batch.changes {
                match change {
                    Change::Entry { detail, .. } => {
                        entries += 1;
                        assert!(detail.is_history, "{}", conversation.id);
                    }
                    Change::Status { phase, .. } => last_phase = phase,
                    _ => {}
                }
            }
        }
        assert_eq!(last_phase, Phase::Ended);
        assert!(entries > 0, "{}", conversation.id);
    }
    let missing = history().open("no-such-conversation".to_owned()).await;
    assert!(matches!(missing, Err(BowlineError::NotFound { .. })));
}
