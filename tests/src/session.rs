//! Helpers for tests of dialogue sessions. They wait for the state of a transcript, not for time.

use std::future::Future;
use std::time::Duration;

use bowline_lifecycle::{Decision, DialogueEnd, DialogueSession, Prompt, ReceiptState};
use serde_json::Value;

/// Upper bound of every wait, sufficient on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Awaits `work` with a time limit.
///
/// # Panics
///
/// It is not done within two minutes.
pub async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(TIMEOUT, work).await;
    done.unwrap_or_else(|_| panic!("no {what} within {} s", TIMEOUT.as_secs()))
}

/// The session's transcript as JSON.
///
/// # Panics
///
/// It is not JSON.
pub async fn transcript(session: &DialogueSession) -> Value {
    let json = session.inspect(|transcript| transcript.to_json()).await;
    serde_json::from_str(&json).expect("a transcript is JSON")
}

/// Waits until `ready` accepts the transcript.
///
/// # Panics
///
/// The session ends before, or it takes more than two minutes.
pub async fn until(session: &DialogueSession, what: &str, ready: impl Fn(&Value) -> bool) -> Value {
    within(what, async {
        loop {
            let revision = session.inspect(|transcript| transcript.revision()).await;
            let now = transcript(session).await;
            if ready(&now) {
                return now;
            }
            assert!(
                !session.has_ended(),
                "ended before {what}: {:?}",
                kinds(&now)
            );
            session.changed_since(revision).await;
        }
    })
    .await
}

/// Sends a prompt and waits for its answer.
///
/// # Panics
///
/// It is not answered.
pub async fn answered(session: &DialogueSession, text: &str) {
    let mut receipt = session
        .send(Prompt::text(text))
        .await
        .expect("the prompt is sent");
    assert_eq!(
        within("an answer", receipt.settled()).await,
        ReceiptState::Answered
    );
}

/// Runs a conversation with tools, nested sub-agents, a permission request, a failure and long texts.
///
/// # Panics
///
/// It is not answered.
pub async fn converse(session: &DialogueSession) {
    for text in [
        "hello",
        "/tool ls",
        "/fail ls",
        "/agent look around",
        "/lines 300",
        "/error",
    ] {
        answered(session, text).await;
    }
    let sent = session.send(Prompt::text("/ask rm")).await;
    let mut receipt = sent.expect("the prompt is sent");
    let asked = until(session, "a question", |now| {
        now["permissions"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    })
    .await;
    let id = asked["permissions"][0]["request_id"]
        .as_str()
        .expect("an id");
    let answer = session.answer_permission(id, Decision::allow()).await;
    answer.expect("it is open");
    within("an answer", receipt.settled()).await;
    answered(session, "/big 300000").await;
}

/// Terminates a session and checks that nothing survives.
///
/// # Panics
///
/// Something survives.
pub async fn terminate(session: &DialogueSession) -> DialogueEnd {
    let end = within("the end", session.terminate()).await;
    assert!(end.report.survivors.is_empty(), "{end:?}");
    end
}

/// The entries of one kind, in order.
///
/// # Panics
///
/// `value` is neither a transcript nor a sub-agent.
#[must_use]
pub fn entries<'a>(value: &'a Value, kind: &str) -> Vec<&'a Value> {
    let entries = value["entries"].as_array().expect("entries").iter();
    entries.filter(|entry| entry["kind"] == kind).collect()
}

/// The kinds of the entries, in order; errors with what they are about.
///
/// # Panics
///
/// `value` is neither a transcript nor a sub-agent.
#[must_use]
pub fn kinds(value: &Value) -> Vec<String> {
    let entries = value["entries"].as_array().expect("entries").iter();
    entries
        .map(|entry| match (&entry["kind"], &entry["error"]) {
            (Value::String(kind), Value::String(error)) => format!("{kind} {error}"),
            (kind, _) => kind.as_str().expect("a kind").to_owned(),
        })
        .collect()
}
