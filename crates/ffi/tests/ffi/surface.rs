//! The exported API called from Rust: recordings, cursors, errors.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_ffi::{BowlineError, Change, Engine, PanicLocation, TranscriptSchema, force_panic};
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
async fn missing_recording_is_not_found() {
    let missing = engine()
        .open_recording("no-such-file".to_owned(), None)
        .await;
    assert!(matches!(missing, Err(BowlineError::NotFound { .. })));
}
