//! Spans, and what must not be in them. Alone in its process, because what is logged is decided for
//! all of its threads.

#[path = "dialogues/support.rs"]
mod support;

use std::io;
use std::sync::{Arc, Mutex};

use bowline_lifecycle::{DialogueConfiguration, DialogueEventKind, Prompt, TerminalRegistry};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::FmtSpan;

use support::{TURN, agent, start, until, within};

fn is_turn_end(kind: &DialogueEventKind) -> bool {
    matches!(kind, DialogueEventKind::TurnEnd { .. })
}

/// Everything that is logged.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl io::Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .lock()
            .expect("no writer panics")
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Paper {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn spans_tell_session_turn_and_tool_and_no_word_of_what_was_said() {
    let paper = Paper::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(FmtSpan::FULL)
        .with_ansi(false)
        .with_writer(paper.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    let mut configuration = DialogueConfiguration { ..agent(TURN) };
    configuration.env.set("SOME_API_KEY", "CANARY-secret");
    let (session, mut events) = start(configuration.clone()).await;
    session
        .send(Prompt::text("CANARY-prompt"))
        .await
        .expect("it lives");
    until(&mut events, "the turn", is_turn_end).await;
    let end = within("the end", session.terminate()).await;
    drop(guard);
    let log = String::from_utf8(paper.0.lock().unwrap().clone()).expect("text");
    for wanted in [
        "session{id=",
        "turn{number=1",
        "tool{id=\"t\" name=\"Bash\"",
        "cost_usd=0.25",
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
