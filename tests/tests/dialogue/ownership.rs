//! Resources that a session owns: its start, its recording, its readers, its process.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use bowline_lifecycle::{
    AgentDocument, DialogueConfiguration, DialogueSession, PrivateFile, SpawnError, StartError,
};
use bowline_tests::session::{answered, kinds, terminate, until, within};
use serde_json::Value;

use crate::play::{Play, send};

#[tokio::test]
async fn failed_start_leaves_nothing() {
    let play = Play::new("");
    let missing = OsString::from("no-such-agent-anywhere");
    let folder = play.folder.path();
    let plain = folder.join("plain.txt");
    fs::write(&plain, "not a program").expect("a file");
    for (program, cwd) in [
        (missing, None),
        (plain.into_os_string(), None),
        (
            play.configuration.program.clone(),
            Some(folder.join("gone")),
        ),
    ] {
        let record = folder.join("record.jsonl");
        let configuration = DialogueConfiguration {
            program,
            cwd,
            record: Some(record.clone()),
            ..play.configuration.clone()
        };
        let error = DialogueSession::start(configuration)
            .await
            .expect_err("nothing to start");
        assert!(
            matches!(
                error,
                StartError::Spawn(
                    SpawnError::NotFound { .. }
                        | SpawnError::NotExecutable { .. }
                        | SpawnError::CwdMissing { .. }
                )
            ),
            "{error}"
        );
        assert!(!record.exists(), "a recording of nothing is left");
    }
}

#[tokio::test]
async fn private_file_exists_until_session_end() {
    let play = Play::new("");
    let file = Arc::new(PrivateFile::new(b"{}").expect("a private file"));
    let held = Arc::downgrade(&file);
    let mut configuration = play.configuration.clone();
    configuration.options.settings = Some(AgentDocument::Private(file));
    let session = within("a start", DialogueSession::start(configuration)).await;
    let session = session.expect("the understudy starts");
    // Only the session has it open; the agent opens it later.
    assert!(held.upgrade().is_some_and(|it| it.path().exists()));
    answered(&session, "hello").await;
    terminate(&session).await;
    assert!(held.upgrade().is_none(), "it is gone with the session");
}

#[tokio::test]
async fn recording_contains_every_byte() {
    let mut play = Play::new(
        r#"
        [[turn]]
        steps = [ { text = "Recorded." }, { big = 3000000 } ]
    "#,
    );
    let record = play.folder.path().join("record.jsonl");
    play.configuration.record = Some(record.clone());
    let session = play.start().await;
    answered(&session, "go").await;
    let end = within("the end", session.end()).await;
    assert_eq!(end.recording_failed, None);
    let bytes = fs::read(&record).expect("the recording");
    assert_eq!(bytes.len() as u64, end.exit.output_end);
    let again = DialogueSession::start(play.configuration.clone()).await;
    assert!(
        matches!(again, Err(StartError::Record { .. })),
        "a recording is never written over"
    );
}

#[tokio::test]
async fn dropping_last_handle_ends_agent() {
    let play = Play::new(
        r#"
        [[turn]]
        steps = [ { text = "Hello." }, { wait_for = "interrupt" } ]
    "#,
    );
    let session = play.start().await;
    let pid = session.pid().expect("a process");
    send(&session, "go").await;
    until(&session, "a text", |it| {
        kinds(it).contains(&"assistant".to_owned())
    })
    .await;
    drop(session);
    within("the end of the process", gone(pid)).await;
}

/// Waits until no process has this id.
async fn gone(pid: u32) {
    while Path::new(&format!("/proc/{pid}")).exists() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn panic_of_reader_leaves_session_running() {
    let play = Play::new(
        r#"
        [[turn]]
        steps = [ { text = "Unmoved." } ]
    "#,
    );
    let session = play.start().await;
    let reader = session.clone();
    let job = tokio::spawn(async move { reader.inspect(|_| panic!("a reader's mistake")).await });
    assert!(
        within("the panic", job)
            .await
            .is_err_and(|error| error.is_panic())
    );
    answered(&session, "go").await;
    terminate(&session).await;
}

/// Each growth of a draft block counts as a change, even for a reader that has seen the block
/// before.
#[tokio::test]
async fn polling_reader_misses_no_change() {
    let stream = |event: &str| {
        format!(
            r#"{{ raw = {{ type = "stream_event", event = {{ {event} }}, session_id = "s", uuid = "{{{{uuid}}}}", api_message_id = "m" }} }}"#
        )
    };
    let delta = |text: &str| {
        stream(&format!(
            r#"type = "content_block_delta", index = 0, delta = {{ type = "text_delta", text = "{text}" }}"#
        ))
    };
    let steps = [
        stream(
            r#"type = "message_start", message = { id = "m", role = "assistant", content = [] }"#,
        ),
        stream(
            r#"type = "content_block_start", index = 0, content_block = { type = "text", text = "" }"#,
        ),
        delta("a"),
        // Long enough for a reader to read and start to wait; a late reader misses nothing.
        "{ delay_ms = 300 }".to_owned(),
        delta("b"),
        r#"{ wait_for = "interrupt" }"#.to_owned(),
    ];
    let mut play = Play::new(&format!("[[turn]]\nsteps = [ {} ]\n", steps.join(", ")));
    play.configuration
        .args
        .extend(["--pace".into(), "1".into()]);
    let session = play.start().await;
    send(&session, "go").await;
    let is = |text: &'static str| {
        move |now: &Value| {
            let entries = now["entries"].as_array().expect("entries").iter();
            entries
                .map(|entry| &entry["blocks"][0]["text"])
                .any(|it| it == text)
        }
    };
    until(&session, "the first delta", is("a")).await;
    until(&session, "the second delta", is("ab")).await;
    terminate(&session).await;
}
