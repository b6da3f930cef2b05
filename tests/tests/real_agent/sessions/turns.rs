//! Results of a turn.

use bowline_lifecycle::{
    AgentCapabilities, AgentFeature, AgentVersion, DialogueStdio, ExitStatus, ReceiptState,
};
use bowline_tests::real_agent::scenario::{
    self, AGENT_BASH_CALL, AGENT_CALL, NESTED_CALL, PARALLEL_CALLS, PLAIN_TEXT, STREAM_GATE,
    TOOL_CALL,
};
use bowline_tests::real_agent::{Agent, Home};
use bowline_tests::session::{entries, within};

use super::rig::{Rig, outcomes, result_text, texts};

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn plain() {
    let rig = Rig::start(scenario::plain()).await;
    let version = rig.version;
    let (transcript, end) = rig.one_turn().await;
    assert_eq!(texts(&transcript), [PLAIN_TEXT]);
    assert_eq!(outcomes(&transcript), ["completed"]);
    let result = entries(&transcript, "result")[0];
    assert_eq!(
        (&result["text"], &result["is_error"]),
        (&PLAIN_TEXT.into(), &false.into())
    );
    let prompts = entries(&transcript, "user");
    assert_eq!(
        prompts.len(),
        1,
        "the echo is not a second prompt: {prompts:?}"
    );
    assert_eq!(transcript["status"]["phase"], "ended");
    // 1.0 does not name its version.
    if version > AgentVersion::OLDEST {
        assert_eq!(transcript["cli_version"], version.to_string());
    }
    assert_eq!(transcript["stats"]["unknown"], serde_json::json!({}));
    assert_eq!(end.exit.status, ExitStatus::Code(0));
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn partial() {
    let rig = Rig::start(scenario::partial()).await;
    let (transcript, _) = rig.one_turn().await;
    assert_eq!(texts(&transcript), [PLAIN_TEXT]);
    let blocks = &entries(&transcript, "assistant")[0]["blocks"];
    assert_eq!(blocks[0]["type"], "thinking");
    assert_eq!(blocks[0]["text"], "Nothing to weigh up.");
    assert!(
        entries(&transcript, "assistant")
            .iter()
            .all(|entry| entry["state"] == "complete")
    );
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn one_tool_on_pipes_and_on_a_terminal() {
    let agent = Agent::for_test();
    for stdio in [DialogueStdio::Pipes, DialogueStdio::Pty] {
        let home = Home::new().expect("a temporary home");
        let rig = Rig::start_in(&agent, home, scenario::one_tool(), |it| it.stdio = stdio).await;
        let (transcript, _) = rig.one_turn().await;
        let call = &transcript["tool_calls"][TOOL_CALL];
        assert_eq!(
            (&call["name"], &call["state"]),
            (&"Bash".into(), &"succeeded".into())
        );
        assert_eq!(call["input"]["command"], "echo one-tool");
        assert_eq!(result_text(call), "one-tool");
        assert_eq!(texts(&transcript), ["It printed one-tool."], "{stdio:?}");
    }
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn parallel_tools() {
    let rig = Rig::start(scenario::parallel_tools()).await;
    let (transcript, _) = rig.one_turn().await;
    for id in PARALLEL_CALLS {
        let call = &transcript["tool_calls"][id];
        assert_eq!(result_text(call), id.trim_start_matches("toolu_"));
        assert_eq!(call["state"], "succeeded");
    }
    assert_eq!(texts(&transcript), ["All four are done."]);
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn nested_agents() {
    let rig = Rig::start(scenario::nested_agents()).await;
    let agent = AgentCapabilities::of(rig.version);
    let (transcript, _) = rig.one_turn().await;
    let outer = &transcript["tool_calls"][AGENT_CALL];
    assert_eq!(outer["state"], "succeeded");
    assert!(result_text(outer).contains("Outer report."));
    assert_eq!(texts(&transcript), ["Both are back."]);
    let has_text = agent.has(AgentFeature::SubagentText);
    let reports: &[&str] = if has_text { &["Outer report."] } else { &[] };
    assert_eq!(texts(&outer["subagent"]), reports, "{outer:#}");
    // The call is there in any case; an agent that cannot nest refuses it.
    let inner = &outer["subagent"]["tool_calls"][NESTED_CALL];
    assert!(inner["state"].is_string(), "{outer:#}");
    if agent.has(AgentFeature::NestedSubagents) {
        assert!(result_text(inner).contains("Inner report."), "{outer:#}");
        let bash = &inner["subagent"]["tool_calls"][AGENT_BASH_CALL];
        assert_eq!(result_text(bash), "from-the-agent");
        assert_eq!(texts(&inner["subagent"]), ["Inner report."]);
    }
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn background_agent() {
    let rig = Rig::start(scenario::background_agent()).await;
    rig.answered(0).await;
    let now = rig
        .until("the first result", |it| entries(it, "result").len() == 1)
        .await;
    assert_eq!(
        now["tool_calls"][AGENT_CALL]["state"], "succeeded",
        "launched is answered"
    );
    assert_ne!(now["status"]["phase"], "ended");
    rig.api.gate(STREAM_GATE).open();
    rig.until("the second result", |it| entries(it, "result").len() == 2)
        .await;
    let (transcript, _) = rig.finish().await;
    assert_eq!(
        texts(&transcript),
        ["It is on its way.", "It has come back."]
    );
    let origins: Vec<_> = entries(&transcript, "result")
        .iter()
        .map(|entry| entry["origin"].as_str())
        .collect();
    assert_eq!(origins, [None, Some("task-notification")]);
    let agent = &transcript["tool_calls"][AGENT_CALL]["subagent"];
    assert_eq!(texts(agent), ["Inner report."]);
    assert_eq!(
        result_text(&agent["tool_calls"][AGENT_BASH_CALL]),
        "from-the-agent"
    );
    let tasks = transcript["tasks"].as_object().expect("tasks");
    assert!(
        tasks.values().any(|task| task["state"] == "completed"),
        "{tasks:?}"
    );
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn three_queued_prompts() {
    let rig = Rig::start(scenario::queued_prompts()).await;
    let mut receipts = vec![rig.send(0).await];
    within("the stream", rig.api.gate(STREAM_GATE).reached()).await;
    receipts.push(rig.send(1).await);
    receipts.push(rig.send(2).await);
    rig.api.gate(STREAM_GATE).open();
    let mut states = Vec::new();
    for receipt in &mut receipts {
        states.push(within("an answer", receipt.settled()).await);
    }
    let done =
        |state: &ReceiptState| matches!(state, ReceiptState::Answered | ReceiptState::Merged);
    assert!(states.iter().all(done), "{states:?}");
    let (transcript, _) = rig.finish().await;
    let prompts: Vec<_> = entries(&transcript, "user")
        .iter()
        .map(|entry| entry["text"].as_str().expect("text").to_owned())
        .collect();
    assert_eq!(
        prompts,
        ["first", "second", "third"],
        "each prompt once, in order"
    );
    assert_eq!(texts(&transcript)[0], "First answer.");
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn api_error() {
    let rig = Rig::start(scenario::bad_request()).await;
    let (transcript, end) = rig.one_turn().await;
    let result = entries(&transcript, "result")[0];
    assert_eq!(
        (&result["subtype"], &result["is_error"]),
        (&"success".into(), &true.into())
    );
    assert_eq!(result["outcome"], "failed");
    assert!(
        result["text"]
            .as_str()
            .expect("a text")
            .contains("scripted: bad request")
    );
    assert!(end.expected);
}
