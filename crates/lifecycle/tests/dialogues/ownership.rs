//! Ownership: atomic start, complete end, and the registry.

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
async fn start_is_atomic() {
    // On success, a subscription from the start receives the agent's first line.
    let first = r#"echo '{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"first"}]},"uuid":"a"}'; exec cat"#;
    let (session, mut events) = start(agent(first)).await;
    let events = until(&mut events, "the first line", |kind| {
        matches!(kind, DialogueEventKind::Text { .. })
    })
    .await;
    assert_eq!((events.len(), events[0].offset), (1, Some(0)));
    assert_eq!(events[0].session, session.id());
    within("the end", session.terminate()).await;
    // On failure, nothing is left.
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
async fn terminate_ends_process_and_stream() {
    let (session, mut events) = start(agent(TURN)).await;
    let pid = session.pid().expect("a local agent");
    let first = within("the end", session.terminate()).await;
    assert!(
        first.expected && first.report.survivors.is_empty(),
        "{first:?}"
    );
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    let seen = until(&mut events, "the end", is_end).await;
    let wanted = DialogueEventKind::SessionEnd {
        expected: true,
        reason: first.reason.clone(),
    };
    assert_eq!(seen.last().expect("an end").kind, wanted);
    assert_eq!(within("the end of the stream", events.next()).await, None);
    // Repeated calls return the same result.
    assert_eq!(
        within("the end", session.terminate()).await.reason,
        first.reason
    );
}

#[tokio::test]
async fn unexpected_exit_is_in_transcript_before_stream_ends() {
    for code in [0, 3] {
        let script = format!("read line; echo 'out of cheese' >&2; exit {code}");
        let (session, mut events) = start(agent(&script)).await;
        session.send(Prompt::text("go")).await.expect("it runs");
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
async fn registry_lists_running_terminal_then_tombstone() {
    let registry = TerminalRegistry::shared();
    let (session, _events) = start(agent(TURN)).await;
    let listed = registry.get(session.id()).expect("it runs");
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
fn terminate_leaves_no_task() {
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

#[test]
fn dropped_runtime_ends_the_session() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.enable_all().build().expect("a runtime")
    };
    let owner = runtime();
    let session = owner.block_on(async {
        let (session, mut events) = start(agent(TURN)).await;
        session.send(Prompt::text("go")).await.expect("it runs");
        until(&mut events, "the turn", |kind| {
            matches!(kind, DialogueEventKind::TurnEnd { .. })
        })
        .await;
        session
    });
    let mut changes = session.changes();
    owner.shutdown_background();
    runtime().block_on(async {
        let applied = session.inspect(|transcript| transcript.applied()).await;
        assert!(applied > 0, "what was folded stays readable");
        let end = within("the end", session.ended()).await;
        assert!(!end.expected && end.reason.contains("runtime"), "{end:?}");
        within("the end", session.end()).await;
        within("the end", session.terminate()).await;
        session.last_activity().await;
        let refused = session.send(Prompt::text("late")).await;
        assert!(refused.is_err(), "{refused:?}");
        within("the end of the changes", async {
            while changes.next().await.is_some() {}
        })
        .await;
    });
}
