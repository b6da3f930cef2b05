//! Scopes of an interrupt.

use bowline_lifecycle::{ExitStatus, InterruptScope, ReceiptState};
use bowline_tests::real_agent::scenario::{
    self, AGENT_BASH_CALL, AGENT_CALL, PLAIN_TEXT, STREAM_GATE, TOOL_CALL, TOOL_GATE,
};
use bowline_tests::session::{entries, within};
use serde_json::Value;

use super::rig::{Rig, outcomes, texts};

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn interrupt_in_a_stream() {
    let rig = Rig::start(scenario::interruptible()).await;
    let mut first = rig.send(0).await;
    rig.until("a draft", |it| {
        texts(it).first().is_some_and(|text| !text.is_empty())
    })
    .await;
    within("a receipt", rig.session.interrupt(false))
        .await
        .expect("the agent takes interrupts");
    within("the result", first.settled()).await;
    let now = rig
        .until("the result", |it| outcomes(it) == ["cancelled"])
        .await;
    assert_eq!(entries(&now, "assistant")[0]["state"], "aborted");
    rig.answered(1).await;
    let (transcript, end) = rig.finish().await;
    assert_eq!(outcomes(&transcript), ["cancelled", "completed"]);
    assert_eq!(
        texts(&transcript).last().map(String::as_str),
        Some(PLAIN_TEXT)
    );
    assert_eq!(end.exit.status, ExitStatus::Code(0));
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn interrupt_in_a_tool() {
    let rig = Rig::start(scenario::long_tool()).await;
    let mut receipt = rig.send(0).await;
    within("the tool", rig.api.gate(TOOL_GATE).reached()).await;
    within("a receipt", rig.session.interrupt(false))
        .await
        .expect("the agent takes interrupts");
    within("the result", receipt.settled()).await;
    let now = rig
        .until("the result", |it| outcomes(it) == ["cancelled"])
        .await;
    assert_eq!(now["tool_calls"][TOOL_CALL]["state"], "interrupted");
    rig.finish().await;
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn interrupt_in_a_sub_agent() {
    let rig = Rig::start(scenario::tool_in_subagent()).await;
    let mut receipt = rig.send(0).await;
    within("the tool", rig.api.gate(TOOL_GATE).reached()).await;
    let stopped = rig.session.interrupt_scope(InterruptScope::Turn);
    within("a receipt", stopped)
        .await
        .expect("the agent takes interrupts");
    within("the result", receipt.settled()).await;
    let now = rig
        .until("the result", |it| outcomes(it) == ["cancelled"])
        .await;
    let outer = &now["tool_calls"][AGENT_CALL];
    assert_eq!(outer["state"], "interrupted", "{outer:#}");
    let inner = &outer["subagent"]["tool_calls"][AGENT_BASH_CALL];
    assert!(
        ["interrupted", "lost"].contains(&inner["state"].as_str().expect("a state")),
        "the agent says nothing of it: {inner:#}"
    );
    rig.answered(1).await;
    let (transcript, _) = rig.finish().await;
    assert_eq!(outcomes(&transcript), ["cancelled", "completed"]);
}

/// A prompt sent before the result of the interrupted turn is not answered by that result.
#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn prompt_after_interrupt_gets_own_turn() {
    let rig = Rig::start(scenario::interruptible()).await;
    let mut first = rig.send(0).await;
    within("the stream", rig.api.gate(STREAM_GATE).reached()).await;
    let stop = rig.session.interrupt_scope(InterruptScope::Turn);
    let (stopped, mut second) = tokio::join!(stop, rig.send(1));
    stopped.expect("the agent takes interrupts");
    within("the first result", first.settled()).await;
    if second.state() < ReceiptState::Answered {
        let is_open = rig.session.inspect(|transcript| transcript.has_open_turn());
        let is_open = is_open.await;
        assert!(
            is_open || second.state() == ReceiptState::Answered,
            "the result of the first closed the turn of the second"
        );
    }
    assert_eq!(
        within("the second result", second.settled()).await,
        ReceiptState::Answered
    );
    let (transcript, _) = rig.finish().await;
    assert_eq!(outcomes(&transcript), ["cancelled", "completed"]);
    assert_eq!(
        texts(&transcript).last().map(String::as_str),
        Some(PLAIN_TEXT)
    );
}

/// A turn that waits at the gate, and two queued prompts that the agent has read.
async fn queued() -> (Rig, [bowline_lifecycle::Receipt; 3]) {
    let rig = Rig::start(scenario::queued_prompts()).await;
    let first = rig.send(0).await;
    within("the stream", rig.api.gate(STREAM_GATE).reached()).await;
    let (second, third) = (rig.send(1).await, rig.send(2).await);
    (rig, [first, second, third])
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn turn_interrupt_keeps_queue() {
    let (rig, [mut first, mut second, mut third]) = queued().await;
    let stopped = rig.session.interrupt_scope(InterruptScope::Turn);
    let stopped = within("a receipt", stopped).await.expect("a receipt");
    assert_eq!(stopped.still_queued, [second.uuid(), third.uuid()]);
    assert_eq!(stopped.cancelled, [""; 0]);
    within("the result", first.settled()).await;
    let ends = [
        within("an answer", second.settled()).await,
        within("an answer", third.settled()).await,
    ];
    let done = |it: &ReceiptState| matches!(it, ReceiptState::Answered | ReceiptState::Merged);
    assert!(ends.iter().all(done), "{ends:?}");
    let (transcript, _) = rig.finish().await;
    assert_eq!(outcomes(&transcript)[0], "cancelled");
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn turn_and_queue_interrupt_discards_queue() {
    let (rig, [mut first, mut second, mut third]) = queued().await;
    let stopped = rig.session.interrupt_scope(InterruptScope::TurnAndQueued);
    let stopped = within("a receipt", stopped).await.expect("a receipt");
    assert_eq!(stopped.cancelled, [second.uuid(), third.uuid()]);
    assert_eq!(stopped.still_queued, [""; 0]);
    assert_eq!(
        within("the result", first.settled()).await,
        ReceiptState::Answered
    );
    for receipt in [&mut second, &mut third] {
        let end = within("an end", receipt.settled()).await;
        assert_eq!(end, ReceiptState::Cancelled);
    }
    let now = rig
        .until("an idle session", |it| it["status"]["phase"] == "idle")
        .await;
    assert_eq!(outcomes(&now), ["cancelled"]);
    rig.finish().await;
}

/// A background task that waits at the gate, after the turn that started it.
async fn in_background() -> (Rig, String) {
    let rig = Rig::start(scenario::background_agent()).await;
    rig.answered(0).await;
    let now = rig.until("a task", |it| open_task(it).is_some()).await;
    within("the stream", rig.api.gate(STREAM_GATE).reached()).await;
    (rig, open_task(&now).expect("a task"))
}

fn open_task(transcript: &Value) -> Option<String> {
    let tasks = transcript["tasks"].as_object().expect("tasks").iter();
    let mut open = tasks.filter(|(_, task)| task["state"] == "running");
    open.next().map(|(id, _)| id.clone())
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn task_interrupt_keeps_session_running() {
    let (rig, task) = in_background().await;
    let stopped = rig
        .session
        .interrupt_scope(InterruptScope::Task(task.clone()));
    let stopped = within("a receipt", stopped).await.expect("a receipt");
    assert_eq!(stopped.tasks, [task.as_str()]);
    let now = rig.until("no task", |it| open_task(it).is_none()).await;
    let state = &now["tasks"][&task]["state"];
    assert!(state == "stopped" || state == "killed", "{now:#}");
    assert!(!rig.session.has_ended());
    rig.api.gate(STREAM_GATE).open();
    let end = within("the end", rig.session.terminate()).await;
    assert!(end.report.survivors.is_empty(), "{end:?}");
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn turn_and_tasks_interrupt_leaves_none() {
    for scope in [InterruptScope::TurnAndTasks, InterruptScope::All] {
        let (rig, task) = in_background().await;
        let stopped = rig.session.interrupt_scope(scope);
        within("a receipt", stopped).await.expect("a receipt");
        let now = rig.until("no task", |it| open_task(it).is_none()).await;
        let state = &now["tasks"][&task]["state"];
        assert!(state == "stopped" || state == "killed", "{now:#}");
        rig.api.gate(STREAM_GATE).open();
        let end = within("the end", rig.session.terminate()).await;
        assert!(end.report.survivors.is_empty(), "{end:?}");
    }
}
