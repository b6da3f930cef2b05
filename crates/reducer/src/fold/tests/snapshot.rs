//! Snapshots: what they say never changes.

use crate::feed::{Feed, text, tool};
use crate::snapshot::Snapshot;

fn to_json(snapshot: &Snapshot) -> String {
    serde_json::to_string(snapshot).unwrap()
}

#[test]
fn a_snapshot_says_what_the_transcript_said() {
    let mut feed = Feed::new();
    let mut taken = Vec::new();
    for n in 0..300 {
        let (message, call) = (format!("m{n}"), format!("t{n}"));
        feed.drafts(&message).writes(&message, 0, r"half a \ud83d");
        taken.push((feed.transcript.snapshot(), feed.transcript.to_json()));
        feed.adds(&message, 0, r"\ude00 more")
            .says(&message, &text("half a 😀 more"));
        feed.says(&message, &tool(&call, "Bash"));
        taken.push((feed.transcript.snapshot(), feed.transcript.to_json()));
        feed.gives(&format!("t{}", n / 2), "long ago", false, "");
    }
    for (snapshot, json) in &taken {
        assert_eq!(to_json(snapshot), *json);
    }
    let (last, _) = taken.pop().unwrap();
    assert!(last.tool_call("t7").is_some() && last.tool_call("t299").is_some());
    assert!(last.tool_call("t300").is_none());
}

#[test]
fn a_snapshot_stands_apart_and_may_go_to_another_thread() {
    fn goes_anywhere<T: Send + Sync + Clone>(_: &T) {}
    let mut feed = Feed::new();
    feed.says("m", &text("before"));
    let snapshot = feed.transcript.snapshot();
    goes_anywhere(&snapshot);
    let (json, revision) = (feed.transcript.to_json(), feed.transcript.revision());
    feed.says("n", &text("behind"));
    assert_eq!((to_json(&snapshot), snapshot.revision()), (json, revision));
    assert!(feed.transcript.to_json() != to_json(&snapshot));
    assert!(format!("{snapshot:?}").len() < 200, "{snapshot:?}");
}
