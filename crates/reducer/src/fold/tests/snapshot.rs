//! Snapshots: what they say never changes.

use crate::schema::Schema;
use crate::test_util::{TestSession, text, tool};
use crate::transcript::Transcript;

fn both(transcript: &Transcript) -> [String; 2] {
    [Schema::One, Schema::Two].map(|schema| transcript.json(schema).to_string())
}

#[test]
fn snapshot_equals_transcript_when_taken() {
    let mut session = TestSession::new();
    let mut taken = Vec::new();
    for n in 0..300 {
        let (message, call) = (format!("m{n}"), format!("t{n}"));
        session
            .message_start(&message)
            .text_block(&message, 0, r"half a \ud83d");
        taken.push((session.transcript.snapshot(), both(&session.transcript)));
        session
            .text_delta(&message, 0, r"\ude00 more")
            .assistant_block(&message, &text("half a 😀 more"));
        session.assistant_block(&message, &tool(&call, "Bash"));
        taken.push((session.transcript.snapshot(), both(&session.transcript)));
        session.tool_result(&format!("t{}", n / 2), "long ago", false, "");
    }
    for (snapshot, json) in &taken {
        assert_eq!(both(snapshot), *json);
        for (schema, json) in [Schema::One, Schema::Two].into_iter().zip(json) {
            let chunks: Vec<_> = snapshot.json_chunks(schema).collect();
            assert!(chunks.iter().all(|chunk| chunk.len() < 128 << 10));
            assert_eq!(chunks.concat(), json.as_bytes());
        }
    }
    let largest = &taken.last().unwrap().0;
    assert!(largest.json_chunks(Schema::One).count() > 1);
    let (last, _) = taken.pop().unwrap();
    assert!(last.tool_call("t7").is_some() && last.tool_call("t299").is_some());
    assert!(last.tool_call("t300").is_none());
}

#[test]
fn snapshot_is_independent_and_send() {
    fn goes_anywhere<T: Send + Sync + Clone>(_: &T) {}
    let mut session = TestSession::new();
    session.assistant_block("m", &text("before"));
    let snapshot = session.transcript.snapshot();
    goes_anywhere(&snapshot);
    let (json, revision) = (both(&session.transcript), session.transcript.revision());
    session.assistant_block("n", &text("behind"));
    assert_eq!((both(&snapshot), snapshot.revision()), (json, revision));
    assert!(both(&session.transcript) != both(&snapshot));
    assert!(format!("{snapshot:?}").len() < 200, "{snapshot:?}");
}
