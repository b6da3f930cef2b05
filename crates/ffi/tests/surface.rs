//! The exported API called from Rust: recordings, cursors, errors.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bowline_ffi::{
    BowlineError, Change, DialogueConfiguration, Engine, PanicLocation, TranscriptSchema,
    force_panic, live_counters,
};
use bowline_lifecycle::jsonl::Framer;
use bowline_lifecycle::reducer::{End, Meta, Schema};
use bowline_recording::RecordedTranscript;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures")
        .join(name)
}

fn engine() -> Arc<Engine> {
    Engine::new(None)
}

/// Folds a fixture without the exported API.
fn folded(name: &str) -> [String; 2] {
    let bytes = std::fs::read(fixture(name)).expect("the fixture is there");
    let mut framer = Framer::default();
    framer.push(bytes.into());
    framer.finish();
    let mut recorded = RecordedTranscript::new(None);
    while let Some(frame) = framer.next_frame() {
        frame
            .items()
            .for_each(|item| recorded.apply(&item, Meta { at_ms: 0 }));
    }
    let transcript = recorded.transcript_mut();
    transcript.end(End::Recording, Meta { at_ms: 0 });
    [Schema::One, Schema::Two].map(|schema| transcript.json(schema).to_string())
}

fn configuration() -> DialogueConfiguration {
    DialogueConfiguration {
        program: Some("no-such-agent-anywhere".to_owned()),
        runner: None,
        leading_args: Vec::new(),
        args: Vec::new(),
        options: None,
        environment: None,
        cwd: None,
        agent_directory: None,
        stdio: None,
        conversation: None,
        model: None,
        permission_mode: None,
        allowed_tools: Vec::new(),
        partial_messages: true,
        ask_permissions: true,
        initialize: true,
        max_line: None,
        window: None,
        stderr_bytes: 65536,
        control_timeout_ms: 60000,
        end_grace_ms: 30000,
        exit: None,
        history: None,
        watchdog: None,
        termination: None,
        guard: None,
        record: None,
    }
}

#[tokio::test]
async fn recording_gives_transcript_of_its_lines() {
    let names = [
        "plain.jsonl",
        "sub_par_fg_partial.jsonl",
        "interrupt.jsonl",
        "agents/codex/app-server.sub.out.jsonl",
        "agents/gemini/acp.edit.trace.jsonl",
        "agents/opencode/run-json.sub.jsonl",
    ];
    for name in names {
        let path = fixture(name).to_string_lossy().into_owned();
        let recording = engine()
            .open_recording(path, None)
            .await
            .expect("it exists");
        let snapshot = recording.snapshot().await.expect("it is readable");
        let [former, newest] = folded(name);
        let json = |schema| snapshot.json(schema).expect("no fault");
        assert_eq!(json(None), newest, "{name}");
        assert_eq!(json(Some(TranscriptSchema::Two)), newest, "{name}");
        assert_eq!(json(Some(TranscriptSchema::One)), former, "{name}");
    }
}

#[tokio::test]
async fn reading_by_cursor_does_not_consume() {
    let path = fixture("partial.jsonl").to_string_lossy().into_owned();
    let recording = engine()
        .open_recording(path, None)
        .await
        .expect("it exists");
    let stream = recording.change_stream().expect("no fault");
    let mut cursor = 0;
    let mut batches = 0;
    while let Some(batch) = Arc::clone(&stream)
        .next(cursor, 1, 0)
        .await
        .expect("it is readable")
    {
        assert_eq!(batch.is_reset, cursor == 0);
        assert_eq!(batch.changes.len(), 1);
        assert!(batch.cursor > cursor);
        cursor = batch.cursor;
        batches += 1;
    }
    assert!(batches > 100, "one batch for each line, {batches}");
    let again = Arc::clone(&stream)
        .next(0, 10_000, 0)
        .await
        .expect("it is readable");
    let again = again.expect("the whole transcript");
    assert_eq!((again.cursor, again.is_reset), (cursor, true));
    assert!(again.changes.len() < batches, "coalesced");
    assert!(matches!(
        again.changes.first(),
        Some(Change::Session { .. })
    ));
    stream.stop();
    assert!(
        Arc::clone(&stream)
            .next(0, 1, 0)
            .await
            .expect("no fault")
            .is_none()
    );
    let none = Arc::clone(&stream).next(0, 0, 0).await;
    assert!(matches!(none, Err(BowlineError::Invalid { .. })));
}

#[tokio::test]
async fn panic_becomes_internal_error() {
    for location in [PanicLocation::CallerThread, PanicLocation::RuntimeTask] {
        let Err(BowlineError::Internal { reason }) = force_panic(location).await else {
            panic!("{location:?} did not fail");
        };
        assert!(reason.contains("forced by the host"), "{reason}");
    }
}

#[tokio::test]
async fn failed_start_leaves_nothing_behind() {
    let error = engine().start(configuration()).await.expect_err("no agent");
    assert!(matches!(error, BowlineError::Start { .. }), "{error}");
    let missing = engine()
        .open_recording("no-such-file".to_owned(), None)
        .await;
    assert!(matches!(missing, Err(BowlineError::NotFound { .. })));
    let released = async {
        while live_counters().expect("no fault").sessions > 0 {
            tokio::task::yield_now().await;
        }
    };
    let released = tokio::time::timeout(Duration::from_secs(60), released).await;
    released.expect("no session is left");
}
