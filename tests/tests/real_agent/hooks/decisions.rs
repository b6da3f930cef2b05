//! The real agent carries out the host's decisions.

use std::time::Duration;

use bowline_hooks::{HookQuestions, HookReply, HookServer, ToolVerdict};
use bowline_lifecycle::Decision;
use bowline_tests::real_agent::scenario::{self, TOOL_CALL};
use bowline_tests::session::{until, within};
use serde_json::{Value, json};

use super::rig::{Rig, gated, server};

async fn gate() -> (HookServer, HookQuestions) {
    let timeout = Duration::from_secs(60);
    let mut server = server(gated(HookReply::deny("no decision"), timeout)).await;
    let questions = server.questions().expect("the first to ask for them");
    (server, questions)
}

/// Runs one turn with one tool, for which the host makes this decision.
async fn decided(reply: HookReply) -> Value {
    let (server, mut questions) = gate().await;
    let rig = Rig::start(scenario::one_tool(), &server).await;
    let decide = async {
        let question = within("a question", questions.next())
            .await
            .expect("a question");
        question.answer(reply).expect("in time");
    };
    let ((transcript, _), ()) = tokio::join!(rig.one_turn(), decide);
    transcript
}

fn call(transcript: &Value) -> (&str, &str) {
    let call = &transcript["tool_calls"][TOOL_CALL];
    let text = call["result"]["text"].as_str().expect("a result");
    (call["state"].as_str().expect("a state"), text)
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn allowed_tool_runs() {
    let transcript = decided(HookReply::allow()).await;
    assert_eq!(call(&transcript), ("succeeded", "one-tool"));
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn denied_tool_does_not_run() {
    let transcript = decided(HookReply::deny("not on a Sunday")).await;
    let (state, text) = call(&transcript);
    assert_eq!(state, "failed");
    assert!(text.contains("not on a Sunday"), "{text}");
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn tool_input_can_be_rewritten() {
    let reply = HookReply::Tool {
        verdict: ToolVerdict::Allow,
        reason: None,
        updated_input: Some(json!({"command": "echo rewritten", "description": "Run it"})),
        context: None,
    };
    let transcript = decided(reply).await;
    assert_eq!(call(&transcript), ("succeeded", "rewritten"));
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn ask_decision_opens_permission_request() {
    let (server, mut questions) = gate().await;
    let rig = Rig::start(scenario::one_tool(), &server).await;
    let mut receipt = rig.ask().await;
    let question = within("a question", questions.next())
        .await
        .expect("a question");
    question
        .answer(HookReply::ask("are you sure?"))
        .expect("in time");
    let now = until(&rig.session, "a permission request", |it| {
        !it["permissions"].as_array().is_none_or(Vec::is_empty)
    })
    .await;
    let request = now["permissions"][0]["request_id"].as_str().expect("an id");
    let allow = Decision::Allow {
        updated_input: None,
        updated_permissions: None,
    };
    rig.session
        .answer_permission(request, allow)
        .await
        .expect("the answer counts");
    within("an answer", receipt.settled()).await;
    let (transcript, _) = rig.finish().await;
    assert_eq!(call(&transcript), ("succeeded", "one-tool"));
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn default_applies_without_decision() {
    let server = server(gated(
        HookReply::deny("no decision in time"),
        Duration::from_millis(100),
    ))
    .await;
    let rig = Rig::start(scenario::one_tool(), &server).await;
    let (transcript, _) = rig.one_turn().await;
    let (state, text) = call(&transcript);
    assert_eq!(state, "failed");
    assert!(text.contains("no decision in time"), "{text}");
    assert_eq!(server.report().defaults, 1);
}
