//! Dialogues whose protocol makes sense only beside the input: every host has the transcript of the
//! session's journal, with its times.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bowline_lifecycle::{
    AgentLocation, DialectName, DialogueConfiguration, DialogueSession, PermissionRecord, Prompt,
    ReceiptState, RequestState, SessionId,
};
use bowline_reducer::Schema;
use bowline_tests::chaos::Impatient;
use bowline_tests::normalize::same;
use bowline_tests::session::{answered, terminate, until, within};
use bowline_transport::wire::{self, Lease, PromptMode, PromptStatus};
use bowline_transport::{Attachment, StartPosition, TerminalEngine};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::links::Breaking;
use crate::rig::Rig;

fn configuration(rig: &Rig, dialect: DialectName) -> DialogueConfiguration {
    let mut configuration = rig.configuration();
    configuration.dialect = dialect;
    let args = ["--dialect", dialect.as_str()];
    configuration.args.extend(args.map(Into::into));
    configuration
}

/// A session's transcript at this host.
async fn schema_2(session: &DialogueSession) -> Value {
    let snapshot = session.snapshot().await;
    let chunks: Vec<_> = snapshot.json_chunks(Schema::Two).flatten().collect();
    serde_json::from_slice(&chunks).expect("JSON")
}

/// The transcript of the journal.
async fn of_journal(rig: &Rig, id: SessionId) -> Value {
    let path = format!("/api/sessions/{id}/transcript?schema=2");
    let answer = rig.remote().ask("GET", &path, Bytes::new()).await;
    let (status, body) = answer.expect("an answer");
    assert_eq!(status, 200);
    serde_json::from_slice(&body).expect("JSON")
}

/// Asserts that a host has the transcript of the journal, once it has all of the output.
async fn agrees(rig: &Rig, session: &DialogueSession, what: &str) {
    let expected = of_journal(rig, session.id()).await;
    let bytes = |it: &Value| it["stats"]["bytes"].as_u64();
    until(session, "all output", |now| bytes(now) >= bytes(&expected)).await;
    let seen = schema_2(session).await;
    assert_eq!(bytes(&seen), bytes(&expected), "the agent is idle");
    same(&seen, &expected, what);
}

/// Writes a line as another host, beside the one that holds the write lease.
async fn write_as_another_host(rig: &Rig, id: SessionId, line: &Value) {
    let attachment = Attachment {
        lease: Lease::Append,
        start: StartPosition::Now,
        ..Attachment::default()
    };
    let remote = rig.remote();
    let other = TerminalEngine.attach_remote(&remote, id, attachment);
    let other = other.await.expect("it is there");
    let prompt = wire::Prompt {
        id: "answer".to_owned(),
        bytes: format!("{line}\n").into(),
        mode: PromptMode::Line,
        request_id: None,
    };
    let written = within("a write", other.prompt(prompt)).await;
    assert_eq!(written.expect("it is accepted"), PromptStatus::Written);
}

/// The answer that allows a request once.
fn answer(dialect: DialectName, request: &PermissionRecord) -> Value {
    let id: Value =
        serde_json::from_str(&request.request_id).unwrap_or_else(|_| json!(request.request_id));
    match dialect {
        DialectName::Codex => json!({"id": id, "result": {"decision": "accept"}}),
        _ => {
            let outcome = json!({"outcome": "selected", "optionId": request.options[0].id});
            json!({"jsonrpc": "2.0", "id": id, "result": {"outcome": outcome}})
        }
    }
}

#[tokio::test]
async fn every_host_has_the_transcript_of_the_journal() {
    let mut cuts = 0;
    for dialect in [DialectName::Codex, DialectName::Acp] {
        let rig = Rig::new().await;
        let network = Arc::new(Breaking::new(777, 20_000));
        let mut remote = rig.http();
        remote.network = Arc::new(Impatient::new(Arc::clone(&network) as _));
        let mut first = configuration(&rig, dialect);
        first.location = AgentLocation::Runner(remote);
        let first = DialogueSession::start(first).await.expect("it starts");
        for text in ["hello", "/tool ls", "/lines 100"] {
            answered(&first, text).await;
        }
        agrees(&rig, &first, &format!("{dialect}: first host")).await;

        // Another host answers.
        let sent = first.send(Prompt::text("/ask rm")).await;
        let mut receipt = sent.expect("the prompt is sent");
        let is_open = || first.permissions().open().next().cloned();
        until(&first, "a question", |_| is_open().is_some()).await;
        let asked = is_open().expect("a question");
        write_as_another_host(&rig, first.id(), &answer(dialect, &asked)).await;
        until(&first, "the answer", |_| is_open().is_none()).await;
        let closed = first.permissions();
        let record = closed.get(&asked.request_id).expect("it is kept");
        assert_eq!(record.state, RequestState::Answered, "{dialect}");
        assert_eq!(record.allowed, Some(true), "{dialect}");
        let settled = within("the turn's end", receipt.settled()).await;
        assert_eq!(settled, ReceiptState::Answered);
        agrees(&rig, &first, &format!("{dialect}: after the answer")).await;

        // The first host is replaced by one that does not know the dialect.
        let id = first.id();
        drop(first);
        let second = rig.attach(id).await.expect("it is there");
        agrees(&rig, &second, &format!("{dialect}: second host")).await;
        answered(&second, "hello again").await;
        agrees(&rig, &second, &format!("{dialect}: second host's turn")).await;
        terminate(&second).await;
        cuts += network.connections.load(Relaxed) - 2;
    }
    assert!(cuts >= 10, "only {cuts} links were cut");
}
