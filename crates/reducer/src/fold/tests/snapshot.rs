//! Snapshots: what they say never changes.

use crate::snapshot::Snapshot;
use crate::test_util::{TestSession, text, tool};

fn to_json(snapshot: &Snapshot) -> String {
    serde_json::to_string(snapshot).unwrap()
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
        taken.push((session.transcript.snapshot(), session.transcript.to_json()));
        session
            .text_delta(&message, 0, r"\ude00 more")
            .assistant_block(&message, &text("half a 😀 more"));
        session.assistant_block(&message, &tool(&call, "Bash"));
        taken.push((session.transcript.snapshot(), session.transcript.to_json()));
        session.tool_result(&format!("t{}", n / 2), "long ago", false, "");
    }
    for (snapshot, json) in &taken {
        assert_eq!(to_json(snapshot), *json);
        let chunks: Vec<_> = snapshot.json_chunks().collect();
        assert!(chunks.iter().all(|chunk| chunk.len() < 128 << 10));
        assert_eq!(chunks.concat(), json.as_bytes());
    }
    let largest = &taken.last().unwrap().0;
    assert!(largest.json_chunks().count() > 1);
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
    let (json, revision) = (session.transcript.to_json(), session.transcript.revision());
    session.assistant_block("n", &text("behind"));
    assert_eq!((to_json(&snapshot), snapshot.revision()), (json, revision));
    assert!(session.transcript.to_json() != to_json(&snapshot));
    assert!(format!("{snapshot:?}").len() < 200, "{snapshot:?}");
}
