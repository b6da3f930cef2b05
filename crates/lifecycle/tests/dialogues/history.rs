//! Sessions that begin with the past of their conversation.

use bowline_lifecycle::Prompt;
use bowline_lifecycle::reducer::Window;
use serde_json::Value;

use crate::support::{agent, start, within};

/// An agent that says a line of its past again, and then something new.
const AGENT: &str = r#"
read line
echo '{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"old 1"}]},"uuid":"a1"}'
echo '{"type":"assistant","message":{"id":"new","content":[{"type":"text","text":"new"}]},"uuid":"b"}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"new","uuid":"c"}'
exec cat >/dev/null
"#;

fn past(turns: usize) -> String {
    let turn = |n: usize| {
        format!(
            r#"{{"type":"user","message":{{"role":"user","content":"ask {n}"}},"uuid":"u{n}","session_id":"s","timestamp":"2026-11-23T17:46:24.978Z"}}
{{"type":"assistant","message":{{"id":"m{n}","content":[{{"type":"text","text":"old {n}"}}]}},"uuid":"a{n}","session_id":"s"}}
"#
        )
    };
    (1..=turns).map(turn).collect()
}

fn text(entry: &Value) -> String {
    let text = entry["text"]
        .as_str()
        .or_else(|| entry["blocks"][0]["text"].as_str());
    text.unwrap_or_default().to_owned()
}

#[tokio::test]
async fn transcript_begins_with_past_and_drops_its_duplicates() {
    let mut configuration = agent(AGENT);
    configuration.history = Some(past(2).into());
    let (session, _events) = start(configuration).await;
    let entries = session.inspect(|it| it.entries().count()).await;
    assert_eq!(entries, 4, "before the first byte of the agent");
    let sent = session.send(Prompt::text("go on")).await;
    let mut receipt = sent.expect("the prompt is sent");
    within("an answer", receipt.settled()).await;
    let (entries, marks) = session
        .inspect(|it| {
            let entries: Vec<_> = it
                .entries()
                .map(|it| serde_json::to_value(it).expect("sound"))
                .collect();
            let marks: Vec<_> = it.entries().map(|it| it.is_history()).collect();
            (entries, marks)
        })
        .await;
    let texts: Vec<_> = entries.iter().map(text).collect();
    assert_eq!(
        texts,
        ["ask 1", "old 1", "ask 2", "old 2", "go on", "new", "new"]
    );
    assert_eq!(marks, [true, true, true, true, false, false, false]);
    session.terminate().await;
}

#[tokio::test]
async fn evicted_past_is_read_without_a_recording() {
    let mut configuration = agent(AGENT);
    configuration.history = Some(past(60).into());
    configuration.window = Some(Window::of_entries(8));
    let (session, _events) = start(configuration).await;
    let numbered = |it: bowline_lifecycle::reducer::Entry<'_>| {
        (
            it.id().number(),
            (
                text(&serde_json::to_value(it).expect("sound")),
                it.is_history(),
            ),
        )
    };
    let mut found: std::collections::BTreeMap<_, _> = session
        .inspect(move |it| it.entries().map(numbered).collect())
        .await;
    assert!(found.len() < 40, "{found:?}");
    let mut before = None;
    while let Some(page) = within("a page", session.entries_before(before))
        .await
        .expect("sound")
    {
        before = page.entries().next().map(|entry| entry.id().number());
        found.extend(page.entries().map(numbered));
    }
    let expected = (1..=60).flat_map(|n| [(format!("ask {n}"), true), (format!("old {n}"), true)]);
    assert_eq!(
        found.into_values().collect::<Vec<_>>(),
        expected.collect::<Vec<_>>()
    );
    session.terminate().await;
}
