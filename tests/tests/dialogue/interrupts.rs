//! Scopes of an interrupt, and the attribution of late results.

use bowline_lifecycle::reducer::{Phase, TaskState};
use bowline_lifecycle::{DialogueSession, InterruptScope, Prompt, Receipt, ReceiptState};
use bowline_tests::session::{kinds, terminate, transcript, until, within};
use serde_json::Value;

use crate::play::{Play, send};

/// A turn that continues until it is stopped, and an answer for any later prompt.
const STANDS: &str = r#"
[[turn]]
steps = [ { text = "I begin." }, { tool = { name = "Bash", input = { command = "sleep" }, duration_ms = 600000 } } ]
[[turn]]
steps = [ { text = "And now?" } ]
"#;

/// Two background tasks of a turn that continues until it is stopped.
const WORKS: &str = r#"
[[turn]]
steps = [
  { agent = { description = "one", prompt = "One.", background = true, steps = [ { delay_ms = 600000 } ] } },
  { agent = { description = "two", prompt = "Two.", background = true, steps = [ { delay_ms = 600000 } ] } },
  { text = "They run." },
  { tool = { name = "Bash", input = { command = "sleep" }, duration_ms = 600000 } },
]
"#;

fn outcomes(transcript: &Value) -> Vec<String> {
    let entries = transcript["entries"].as_array().expect("entries").iter();
    let results = entries.filter(|entry| entry["kind"] == "result");
    let outcomes = results.map(|it| it["outcome"].as_str().expect("an outcome"));
    outcomes.map(str::to_owned).collect()
}

/// A session whose first turn is in a tool.
async fn stands(scenario: &str) -> (Play, DialogueSession, Receipt) {
    let mut play = Play::new(scenario);
    // The scenario's pauses take their real time.
    play.configuration
        .args
        .extend(["--pace".into(), "1".into()]);
    let session = play.start().await;
    let first = send(&session, "first").await;
    until(&session, "a tool", |it| {
        let calls = it["tool_calls"].as_object().expect("calls").values();
        calls
            .clone()
            .any(|call| call["name"] == "Bash" && call["state"] == "running")
    })
    .await;
    (play, session, first)
}

/// Waits for a number of running tasks and returns their ids.
async fn tasks(session: &DialogueSession, many: usize) -> Vec<String> {
    until(session, "the tasks", |it| {
        let tasks = it["tasks"].as_object().expect("tasks").values();
        tasks.filter(|task| task["state"] == "running").count() == many
    })
    .await;
    let read = session.inspect(|transcript| {
        let open = transcript.tasks().filter(|task| task.state().is_open());
        open.map(|task| task.id().to_owned()).collect()
    });
    read.await
}

#[tokio::test]
async fn turn_interrupt_keeps_queue() {
    let (_play, session, mut first) = stands(STANDS).await;
    let mut second = send(&session, "second").await;
    let stopped = session.interrupt_scope(InterruptScope::Turn);
    let stopped = within("a receipt", stopped).await.expect("a receipt");
    assert_eq!(stopped.still_queued, [second.uuid()]);
    for receipt in [&mut first, &mut second] {
        let end = within("a result", receipt.settled()).await;
        assert_eq!(end, ReceiptState::Answered);
    }
    terminate(&session).await;
    assert_eq!(
        outcomes(&transcript(&session).await),
        ["cancelled", "completed"]
    );
}

#[tokio::test]
async fn turn_and_queue_interrupt_discards_queue() {
    let (_play, session, mut first) = stands(STANDS).await;
    let mut second = send(&session, "second").await;
    // A prompt held back by a pause waits as well.
    let pause = session.pause();
    let rest = async {
        let mut third = send(&session, "third").await;
        let stopped = session.interrupt_scope(InterruptScope::TurnAndQueued);
        let stopped = within("a receipt", stopped).await.expect("a receipt");
        assert_eq!(stopped.cancelled, [second.uuid(), third.uuid()]);
        within("the result", first.settled()).await;
        for receipt in [&mut second, &mut third] {
            let end = within("an end", receipt.settled()).await;
            assert_eq!(end, ReceiptState::Cancelled);
        }
    };
    let (paused, ()) = tokio::join!(biased; pause, rest);
    paused.expect("the pause begins with the result");
    let phase = session.inspect(|transcript| transcript.status().phase);
    assert_eq!(phase.await, Phase::Idle);
    terminate(&session).await;
}

#[tokio::test]
async fn task_interrupt_stops_only_that_task() {
    let (_play, session, first) = stands(WORKS).await;
    let running = tasks(&session, 2).await;
    let stopped = session.interrupt_scope(InterruptScope::Task(running[0].clone()));
    let stopped = within("a receipt", stopped).await.expect("a receipt");
    assert_eq!(stopped.tasks, running[..1]);
    assert_eq!(tasks(&session, 1).await, running[1..]);
    assert!(first.state() < ReceiptState::Answered, "the turn goes on");
    terminate(&session).await;
    let id = running[1].clone();
    let state = session.inspect(move |transcript| {
        let mut tasks = transcript.tasks();
        tasks.find(|task| task.id() == id).map(|task| task.state())
    });
    assert_eq!(state.await, Some(TaskState::Lost));
}

#[tokio::test]
async fn turn_and_tasks_interrupt_stops_all() {
    for scope in [InterruptScope::TurnAndTasks, InterruptScope::All] {
        let (_play, session, mut first) = stands(WORKS).await;
        tasks(&session, 2).await;
        let stopped = session.interrupt_scope(scope);
        within("a receipt", stopped).await.expect("a receipt");
        within("the result", first.settled()).await;
        assert!(tasks(&session, 0).await.is_empty());
        assert_eq!(outcomes(&transcript(&session).await), ["cancelled"]);
        terminate(&session).await;
    }
}

const FIRST_UUID: &str = "6b1f5f6e-0000-4000-8000-000000000001";

/// The result of the first turn arrives after the second turn has begun
/// (`crates/jsonl/PROTOCOL.md`).
const LATE: &str = r#"
[[turn]]
match = "second"
steps = [
  { raw = { type = "result", subtype = "error_during_execution", is_error = true, terminal_reason = "aborted_tools",
    errors = ["cut"], user_message_uuid = "FIRST", user_message_uuids = ["FIRST"], session_id = "s", uuid = "{{uuid}}" } },
  { text = "It goes on." }, { wait_for = "interrupt" },
]
[[turn]]
quiet = true
result = { skip = true }
steps = [
  { raw = { type = "system", subtype = "init", user_message_uuids = ["FIRST"], session_id = "s", uuid = "{{uuid}}" } },
  { wait_for = "prompt" },
]
"#;

#[tokio::test]
async fn late_result_does_not_close_next_turn() {
    let play = Play::new(&LATE.replace("FIRST", FIRST_UUID));
    let session = play.start().await;
    let prompt = Prompt {
        uuid: Some(FIRST_UUID.to_owned()),
        ..Prompt::text("first")
    };
    let mut first = session.send(prompt).await.expect("it is sent");
    until(&session, "the first turn", |it| it["session_id"] == "s").await;
    let mut second = send(&session, "second").await;
    let now = until(&session, "the second turn", |it| {
        kinds(it).contains(&"assistant".to_owned())
    })
    .await;
    assert_eq!(outcomes(&now), ["cancelled"]);
    assert_eq!(
        within("an answer", first.settled()).await,
        ReceiptState::Answered
    );
    assert_eq!(now["status"]["phase"], "running", "{now:#}");
    assert!(second.state() < ReceiptState::Answered);
    let go_on = session.interrupt_scope(InterruptScope::Turn);
    within("a receipt", go_on).await.expect("a receipt");
    assert_eq!(
        within("an answer", second.settled()).await,
        ReceiptState::Answered
    );
    terminate(&session).await;
}
