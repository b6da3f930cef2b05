//! Entries that the window has evicted, read from the recording.

use std::collections::BTreeMap;

use bowline_lifecycle::journal::recover;
use bowline_lifecycle::reducer::{Entry, EntryKind, ToolCall, Transcript, Window};
use bowline_lifecycle::{DialogueSession, PageError, Prompt};
use serde_json::Value;

use crate::support::{agent, start, within};

/// An agent that answers each prompt with its number, and a tool call between two texts.
const NUMBERS: &str = r#"
n=0
while read line; do
  n=$((n+1))
  say() { printf '%s\n' "$1"; }
  say '{"type":"assistant","message":{"id":"m'$n'","content":[{"type":"text","text":"first '$n'"}]},"uuid":"a'$n'"}'
  say '{"type":"assistant","message":{"id":"m'$n'","content":[{"type":"tool_use","id":"t'$n'","name":"Bash","input":{"command":"'$n'"}}]},"uuid":"b'$n'"}'
  say '{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t'$n'","content":"result '$n'"}]},"uuid":"c'$n'"}'
  say '{"type":"assistant","message":{"id":"n'$n'","content":[{"type":"text","text":"second '$n'"}]},"uuid":"d'$n'"}'
  say '{"type":"result","subtype":"success","is_error":false,"result":"second '$n'","uuid":"e'$n'"}'
done
"#;

const TURNS: usize = 30;

/// What entries say by their numbers, but for what the host makes up by chance; and what each call
/// gave. A call may be on another page than the message that made it.
type Records = (BTreeMap<u32, Value>, BTreeMap<String, Value>);

/// Adds what a part says; what was open when its neighbours went is in two parts, and alike.
fn add<'a>(
    entries: impl Iterator<Item = Entry<'a>>,
    calls: impl Iterator<Item = ToolCall<'a>>,
    (all, all_calls): &mut Records,
) {
    for entry in entries {
        let value = comparable(serde_json::to_value(entry).expect("an entry is JSON"));
        let known = all
            .entry(entry.id().number())
            .or_insert_with(|| value.clone());
        assert_eq!(*known, value);
    }
    for call in calls {
        let value = comparable(serde_json::to_value(call).expect("a call is JSON"));
        let known = all_calls.entry(call.id().into());
        assert_eq!(*known.or_insert_with(|| value.clone()), value);
    }
}

/// Returns an entry or a call as JSON, without what differs between two sessions: ids and times.
fn comparable(mut value: Value) -> Value {
    let fields = value.as_object_mut().expect("an object");
    for field in ["uuid", "at_ms", "started_ms", "ended_ms"] {
        fields.remove(field);
    }
    value
}

fn kept(transcript: &Transcript) -> Records {
    let mut records = Records::default();
    add(
        transcript.entries(),
        transcript.main().tool_calls().iter(),
        &mut records,
    );
    records
}

async fn talked(window: Option<Window>, record: Option<std::path::PathBuf>) -> DialogueSession {
    let mut configuration = agent(NUMBERS);
    configuration.window = window;
    configuration.record = record;
    let (session, _events) = start(configuration).await;
    for turn in 1..=TURNS {
        let sent = session.send(Prompt::text(format!("prompt {turn}"))).await;
        sent.expect("the prompt is sent");
        let done = move |it: &Transcript| it.entries().any(|it| it.text_is(turn));
        let mut revision = session.inspect(|it| it.revision()).await;
        while !session.inspect(done).await {
            within("an answer", session.changed_since(revision)).await;
            revision = session.inspect(|it| it.revision()).await;
        }
    }
    session
}

trait TextIs {
    fn text_is(&self, turn: usize) -> bool;
}

impl TextIs for Entry<'_> {
    /// Whether it is the result of this turn.
    fn text_is(&self, turn: usize) -> bool {
        let value = serde_json::to_value(*self).expect("an entry is JSON");
        value["kind"] == "result" && value["text"] == format!("second {turn}")
    }
}

async fn comes_back(name: &str) {
    let whole = talked(None, None).await;
    let expected = whole.inspect(kept).await;
    assert!(expected.0.len() >= TURNS * 3, "{expected:?}");
    assert_eq!(expected.1.len(), TURNS);
    assert!(
        matches!(whole.entries_before(None).await, Ok(None)),
        "all is kept"
    );
    whole.terminate().await;

    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(name);
    let session = talked(Some(Window::of_entries(8)), Some(file)).await;
    let mut found = session.inspect(kept).await;
    assert!(found.0.len() < 20, "{found:?}");
    let (mut before, mut pages) = (None, 0);
    while let Some(page) = within("a page", session.entries_before(before))
        .await
        .expect("a page")
    {
        before = page.entries().next().map(|entry| entry.id().number());
        add(page.entries(), page.tool_calls(), &mut found);
        pages += 1;
    }
    assert!(pages > 3, "{pages} pages");
    assert_eq!(found, expected);
    // What has ended can be read as well.
    session.terminate().await;
    assert!(
        within("a page", session.entries_before(None))
            .await
            .expect("a page")
            .is_some()
    );
}

#[tokio::test]
async fn evicted_entries_are_read_from_recording() {
    comes_back("session.jsonl").await;
}

#[tokio::test]
async fn evicted_entries_are_read_from_journal() {
    comes_back("session.bjl").await;
}

#[tokio::test]
async fn evicted_entries_need_a_recording() {
    let session = talked(Some(Window::of_entries(8)), None).await;
    let refused = session.entries_before(None).await;
    assert!(
        matches!(refused, Err(PageError::NoRecording)),
        "{refused:?}"
    );
    session.terminate().await;
}

#[tokio::test]
async fn entries_read_from_a_journal_have_their_times() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("session.bjl");
    let path = file.clone();
    let session = talked(Some(Window::of_entries(8)), Some(file)).await;
    let (mut before, mut times) = (None, Vec::new());
    while let Some(page) = within("a page", session.entries_before(before))
        .await
        .expect("it is read")
    {
        before = page.entries().next().map(|entry| entry.id().number());
        let is_of_agent = |it: &Entry<'_>| matches!(it.kind(), EntryKind::Assistant { .. });
        times.extend(page.entries().filter(is_of_agent).map(Entry::at_ms));
    }
    let records = recover(&std::fs::read(&path).expect("a journal").into()).records;
    let arrivals: Vec<_> = records.iter().filter_map(|it| it.arrival.at_ms).collect();
    assert!(times.len() > TURNS, "{times:?}");
    assert!(times.iter().all(|it| arrivals.contains(it)), "{times:?}");
    session.terminate().await;
}
