//! Results of a turn.

use bowline_lifecycle::reducer::{Changes, Cursor};
use bowline_lifecycle::{
    Decision, DialogueError, DialogueStdio, ExitStatus, Prompt, PtyBackend, ReceiptState,
};
use bowline_tests::session::{answered, kinds, terminate, transcript, until, within};
use serde_json::Value;

use crate::play::{Play, send};

#[tokio::test]
async fn two_turns_then_clean_end() {
    let play = Play::new(
        r#"
        [[turn]]
        steps = [ { text = "One." } ]
        [[turn]]
        steps = [ { text = "Two." } ]
    "#,
    );
    let session = play.start().await;
    answered(&session, "first").await;
    answered(&session, "second").await;
    let end = within("the end", session.end()).await;
    assert_eq!((end.exit.status, end.expected), (ExitStatus::Code(0), true));
    let left = transcript(&session).await;
    assert_eq!(
        kinds(&left),
        ["user", "assistant", "result", "user", "assistant", "result"]
    );
    assert_eq!(left["status"]["phase"], "ended");
}

#[tokio::test]
async fn late_reader_gets_whole_transcript() {
    let play = Play::new(
        r#"
        [[turn]]
        steps = [ { text = "A text in many small pieces, streamed." } ]
    "#,
    );
    let session = play.start().await;
    answered(&session, "go").await;
    terminate(&session).await;
    let read = async || {
        let all = |changes: &Changes<'_>| -> Vec<String> {
            changes
                .iter()
                .map(|it| serde_json::to_string(&it).expect("JSON"))
                .collect()
        };
        session.changes_since(Cursor::default(), all).await.1
    };
    let first = read().await;
    let text = "A text in many small pieces, streamed.";
    assert!(
        first.iter().any(|change| change.contains(text)),
        "{first:?}"
    );
    assert_eq!(first, read().await, "reading takes nothing away");
}

#[tokio::test]
async fn ten_megabyte_prompt_is_delivered() {
    let play = Play::new(
        r#"
        [[turn]]
        steps = [ { text = "Received." } ]
    "#,
    );
    let session = play.start().await;
    answered(&session, &"é😀\n\"".repeat(1 << 20)).await;
    terminate(&session).await;
}

#[tokio::test]
async fn one_byte_chunks_give_same_transcript() {
    let scenario = r#"
        [[turn]]
        steps = [ { thinking = "Hm." }, { text = "Ünïcödé 😀 and \"quotes\"." } ]
    "#;
    let mut seen = Vec::new();
    for chunk in ["", "chunk = 1\n"] {
        let play = Play::new(&format!("{chunk}{scenario}"));
        let session = play.start().await;
        answered(&session, "go").await;
        terminate(&session).await;
        let left = transcript(&session).await;
        let assistant = left["entries"].as_array().expect("entries").iter();
        let blocks: Vec<_> = assistant.map(|entry| entry["blocks"].clone()).collect();
        seen.push(blocks);
    }
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn permission_is_answered_on_pipes_and_terminal() {
    let mut play = Play::new(
        r#"
        allow_tty = false
        [[turn]]
        steps = [ { tool = { name = "Bash", input = { command = "deploy" }, ask = true, result = "ran {{input.command}}" } } ]
    "#,
    );
    for (stdio, backend) in [
        (DialogueStdio::Pipes, PtyBackend::Hardened),
        (DialogueStdio::Pty, PtyBackend::Hardened),
        (DialogueStdio::Pty, PtyBackend::Native),
    ] {
        play.configuration.stdio = stdio;
        play.configuration.pty_backend = backend;
        let session = play.start().await;
        let mut receipt = send(&session, "go").await;
        let is_open = |it: &Value| it["permissions"][0]["state"] == "open";
        let now = until(&session, "a question", is_open).await;
        let id = now["permissions"][0]["request_id"].as_str().expect("an id");
        let rewrite = Decision::Allow {
            updated_input: Some(r#"{"command":"dry run"}"#.to_owned()),
            updated_permissions: None,
        };
        session
            .answer_permission(id, rewrite)
            .await
            .expect("the first answer counts");
        assert_eq!(
            within("an answer", receipt.settled()).await,
            ReceiptState::Answered
        );
        terminate(&session).await;
        let left = transcript(&session).await;
        let calls = left["tool_calls"].as_object().expect("calls");
        let call = calls.values().next().expect("a call");
        assert_eq!(
            call["result"]["text"], "ran dry run",
            "{stdio:?} {backend:?}: {left:#}"
        );
    }
}

#[tokio::test]
async fn refused_prompt_keeps_receipt_of_first() {
    let play = Play::new(
        r#"
        [[turn]]
        steps = [ { wait_for = "interrupt" }, { text = "Answered." } ]
    "#,
    );
    let session = play.start().await;
    let uuid = "6b1f5f6e-0000-4000-8000-000000000001".to_owned();
    let prompt = Prompt {
        uuid: Some(uuid),
        ..Prompt::text("go")
    };
    let mut first = session
        .send(prompt.clone())
        .await
        .expect("the prompt is sent");
    within("a start", first.reached(ReceiptState::Started)).await;
    let second = session.send(prompt).await;
    assert!(
        matches!(second, Err(DialogueError::DuplicateUuid { .. })),
        "{second:?}"
    );
    session
        .interrupt(false)
        .await
        .expect("the agent takes interrupts");
    assert_eq!(
        within("an answer", first.settled()).await,
        ReceiptState::Answered
    );
    terminate(&session).await;
}
