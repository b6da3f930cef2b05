//! Tracing spans of a session, and their secrecy. In a process of its own, since the level of logging is
//! cached for all threads.

#[path = "dialogues/support.rs"]
mod support;

use std::sync::Mutex;

use bowline_lifecycle::{DialogueConfiguration, DialogueEventKind, Prompt, TerminalRegistry};
use tracing_subscriber::fmt::format::FmtSpan;

use support::{TURN, agent, start, until, within};

fn is_turn_end(kind: &DialogueEventKind) -> bool {
    matches!(kind, DialogueEventKind::TurnEnd { .. })
}

#[tokio::test]
async fn spans_cover_session_turn_and_tool_without_contents() {
    let log = tempfile::NamedTempFile::new().expect("a file for the log");
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(FmtSpan::FULL)
        .with_ansi(false)
        .with_writer(Mutex::new(log.reopen().expect("the file opens again")))
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    let mut configuration = DialogueConfiguration { ..agent(TURN) };
    configuration.env.set("SOME_API_KEY", "CANARY-secret");
    let (session, mut events) = start(configuration.clone()).await;
    session
        .send(Prompt::text("CANARY-prompt"))
        .await
        .expect("it runs");
    until(&mut events, "the turn", is_turn_end).await;
    let end = within("the end", session.terminate()).await;
    drop(guard);
    let log = std::fs::read_to_string(log.path()).expect("a log in UTF-8");
    for wanted in [
        "start{process.executable.name=sh}:spawn{session.id=",
        "process.executable.name=sh process.pid=",
        "session{session.id=",
        "invoke_agent{gen_ai.operation.name=\"invoke_agent\" bowline.turn.number=1",
        "gen_ai.tool.call.id=\"t\" gen_ai.tool.name=\"Bash\"",
        "gen_ai.usage.input_tokens=7",
        "bowline.session.cost_usd=0.25",
    ] {
        assert!(log.contains(wanted), "no {wanted} in {log}");
    }
    assert!(log.contains(&session.id().to_string()));
    assert!(!log.contains("CANARY"), "{log}");
    let registry = TerminalRegistry::shared();
    for shown in [
        format!("{session:?}"),
        format!("{registry:?}"),
        format!("{:?}", registry.tombstone(session.id())),
        end.reason,
    ] {
        assert!(!shown.contains("CANARY"), "{shown}");
    }
}
