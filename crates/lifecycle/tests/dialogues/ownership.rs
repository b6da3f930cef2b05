//! The acceptance criteria of seed 000.

use std::path::Path;

use bowline_lifecycle::reducer::EntryKind;
use bowline_lifecycle::{
    DialogueConfiguration, DialogueEventKind, DialogueSession, ExitStatus, Prompt, StartError,
    TerminalRegistry, TerminalTag,
};

use super::support::{TURN, agent, start, until, within};

fn is_end(kind: &DialogueEventKind) -> bool {
    matches!(kind, DialogueEventKind::SessionEnd { .. })
}

#[tokio::test]
async fn seed_000_start_is_atomic() {
    // All of it: whoever subscribes with the start hears the first byte that the agent writes.
    let first = r#"echo '{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"first"}]},"uuid":"a"}'; exec cat"#;
    let (session, mut events) = start(agent(first)).await;
    let heard = until(&mut events, "the first line", |kind| {
        matches!(kind, DialogueEventKind::Text { .. })
    })
    .await;
    assert_eq!((heard.len(), heard[0].offset), (1, Some(0)));
    assert_eq!(heard[0].session, session.id());
    within("the end", session.terminate()).await;
    // Or nothing of it.
    let folder = tempfile::tempdir().expect("a folder");
    let record = folder.path().join("record.jsonl");
    let started = DialogueSession::start(DialogueConfiguration {
        program: "/no/such/agent".into(),
        record: Some(record.clone()),
        ..DialogueConfiguration::default()
    });
    let error = within("a refusal", started)
        .await
        .expect_err("no such agent");
    assert!(matches!(error, StartError::Spawn(_)), "{error}");
    assert!(!record.exists());
}

#[tokio::test]
async fn seed_000_terminate_closes_the_terminal_and_finishes_the_stream() {
    let (session, mut events) = start(agent(TURN)).await;
    let pid = session.pid().expect("a local agent");
    let first = within("the end", session.terminate()).await;
    assert!(
        first.expected && first.report.survivors.is_empty(),
        "{first:?}"
    );
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    let told = until(&mut events, "the end", is_end).await;
    let wanted = DialogueEventKind::SessionEnd {
        expected: true,
        reason: first.reason.clone(),
    };
    assert_eq!(told.last().expect("an end").kind, wanted);
    assert_eq!(within("the end of the stream", events.next()).await, None);
    // As often as anybody likes.
    assert_eq!(
        within("the end", session.terminate()).await.reason,
        first.reason
    );
}

#[tokio::test]
async fn seed_000_an_unexpected_close_is_in_the_transcript_before_the_stream_finishes() {
    for code in [0, 3] {
        let script = format!("read line; echo 'out of cheese' >&2; exit {code}");
        let (session, mut events) = start(agent(&script)).await;
        session.send(Prompt::text("go")).await.expect("it lives");
        until(&mut events, "the end", is_end).await;
        let end = within("the end", session.ended()).await;
        assert_eq!(
            (end.expected, end.exit.status),
            (false, ExitStatus::Code(code))
        );
        let error = session.inspect(|transcript| {
            let entries = transcript.entries().map(|entry| entry.kind());
            entries.fold(String::new(), |text, kind| match kind {
                EntryKind::Error { text: error, .. } => text + &error.to_cow(),
                _ => text,
            })
        });
        let error = error.await;
        assert!(
            error.contains(&format!("exit code {code}: out of cheese")),
            "{error}"
        );
    }
}

#[tokio::test]
async fn seed_000_the_registry_has_the_terminal_during_its_life_and_its_end_after() {
    let registry = TerminalRegistry::shared();
    let (session, _events) = start(agent(TURN)).await;
    let listed = registry.get(session.id()).expect("it lives");
    assert_eq!(
        (listed.tag, listed.pid),
        (TerminalTag::AgentDialogue, session.pid())
    );
    assert_eq!(listed.tag.to_string(), "agent-dialogue");
    assert!(registry.list().iter().any(|it| it.id == session.id()));
    assert!(registry.tombstone(session.id()).is_none());
    let end = within("the end", session.terminate()).await;
    assert!(registry.get(session.id()).is_none());
    let tombstone = registry.tombstone(session.id()).expect("a tombstone");
    assert_eq!((tombstone.expected, tombstone.reason), (true, end.reason));
    assert_eq!(tombstone.status, Some(end.exit.status));
}

#[test]
fn seed_000_no_task_is_left_after_terminate() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    runtime.block_on(async {
        let tasks = || {
            tokio::runtime::Handle::current()
                .metrics()
                .num_alive_tasks()
        };
        let before = tasks();
        for _ in 0..3 {
            let (session, events) = start(agent(TURN)).await;
            assert!(tasks() > before);
            within("the end", session.terminate()).await;
            drop((session, events));
        }
        within("the last task", async {
            while tasks() > before {
                tokio::task::yield_now().await;
            }
        })
        .await;
    });
}
