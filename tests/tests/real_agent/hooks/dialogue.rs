//! Events of the real agent in a dialogue.

use bowline_hooks::{HookConfiguration, HookKind, HookPayload, HookReply, HookRoute};
use bowline_tests::real_agent::scenario::{self, PLAIN_TEXT, TOOL_CALL};
use bowline_tests::session::entries;
use serde_json::Value;
use std::time::Duration;

use super::rig::{Rig, gated, hooks, names, server};

fn text(transcript: &Value) -> &str {
    let last = entries(transcript, "result").pop().expect("a result");
    last["text"].as_str().expect("a text")
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn turn_with_tool_reports_all_events() {
    let server = server(hooks()).await;
    let rig = Rig::start(scenario::one_tool(), &server).await;
    let (transcript, events) = rig.one_turn().await;
    assert_eq!(
        names(&events),
        [
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "Stop",
            "SessionEnd"
        ]
    );
    for event in &events {
        assert_eq!(
            event.session_id.as_deref(),
            transcript["session_id"].as_str()
        );
        assert_eq!(&*event.interaction, "turn");
        assert_ne!(event.payload, HookPayload::Other, "{}", event.raw());
    }
    let HookPayload::PostToolUse {
        tool_use_id,
        tool_response,
        ..
    } = &events[3].payload
    else {
        panic!("{:?}", events[3]);
    };
    assert_eq!(tool_use_id, TOOL_CALL);
    assert_eq!(tool_response["stdout"], "one-tool");
    assert_eq!(text(&transcript), "It printed one-tool.");
    let report = server.stop().await;
    assert_eq!(
        (report.events, report.duplicates, report.refused),
        (6, 0, 0)
    );
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn helper_reports_same_events() {
    let server = server(HookConfiguration {
        route: HookRoute::Helper,
        ..hooks()
    })
    .await;
    let rig = Rig::start(scenario::one_tool(), &server).await;
    let (_, events) = rig.one_turn().await;
    assert_eq!(
        names(&events),
        [
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "Stop",
            "SessionEnd"
        ]
    );
}

/// Older agents ignore settings that name an event which they do not know, and have no HTTP hooks.
#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn default_events_are_reported_by_every_version() {
    let server = server(hooks()).await;
    let rig = Rig::start(scenario::one_tool(), &server).await;
    let (transcript, events) = rig.one_turn().await;
    // 2.0.77 starts agents of its own.
    let is_main = |name: &&str| !name.starts_with("Subagent");
    let names: Vec<_> = names(&events).into_iter().filter(is_main).collect();
    assert_eq!(
        names,
        [
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "Stop",
            "SessionEnd"
        ]
    );
    assert_eq!(text(&transcript), "It printed one-tool.");
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn sub_agent_events_have_ids() {
    let server = server(hooks()).await;
    let rig = Rig::start(scenario::nested_agents(), &server).await;
    let (_, events) = rig.one_turn().await;
    for kind in [HookKind::SubagentStart, HookKind::SubagentStop] {
        let agents = events.iter().filter(|event| event.kind == kind);
        assert!(agents.clone().count() >= 2, "{:?}", names(&events));
        assert!(agents.clone().all(|event| event.agent_id.is_some()));
    }
    let inner = events.iter().find(|event| {
        matches!(&event.payload, HookPayload::PreToolUse { tool_name, .. } if tool_name == "Bash")
    });
    assert!(inner.expect("the inner tool").agent_id.is_some());
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn api_error_is_reported() {
    let server = server(hooks()).await;
    let rig = Rig::start(scenario::bad_request(), &server).await;
    let (_, events) = rig.one_turn().await;
    assert!(
        names(&events).contains(&"StopFailure"),
        "{:?}",
        names(&events)
    );
    assert!(!names(&events).contains(&"Stop"));
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn every_known_event_can_be_subscribed() {
    let server = server(HookConfiguration {
        kinds: Some(HookKind::ALL.to_vec()),
        ..hooks()
    })
    .await;
    let rig = Rig::start(scenario::one_tool(), &server).await;
    let (transcript, events) = rig.one_turn().await;
    let names = names(&events);
    for name in [
        "SessionStart",
        "PreToolUse",
        "PostToolBatch",
        "MessageDisplay",
        "Stop",
        "SessionEnd",
    ] {
        assert!(
            names.contains(&name),
            "the settings were ignored: {names:?}"
        );
    }
    assert!(
        events
            .iter()
            .all(|event| event.payload != HookPayload::Other)
    );
    assert_eq!(text(&transcript), "It printed one-tool.");
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn transcript_is_complete_without_hooks() {
    let server = server(hooks()).await;
    let rig = Rig::start(scenario::one_tool(), &server).await;
    server.stop().await;
    let (transcript, events) = rig.one_turn().await;
    assert!(events.is_empty(), "{:?}", names(&events));
    assert_eq!(transcript["tool_calls"][TOOL_CALL]["state"], "succeeded");
    assert_eq!(text(&transcript), "It printed one-tool.");
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn deny_default_holds_without_server() {
    let shut = gated(HookReply::deny("no server"), Duration::from_secs(5));
    let server = server(shut).await;
    let rig = Rig::start(scenario::one_tool(), &server).await;
    server.stop().await;
    let (transcript, _) = rig.one_turn().await;
    assert_eq!(
        transcript["tool_calls"][TOOL_CALL]["state"], "failed",
        "the tool did not run"
    );
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn prompt_can_be_refused() {
    let mut configuration = hooks();
    configuration.gate = Some(bowline_hooks::HookGate {
        kinds: vec![HookKind::UserPromptSubmit],
        deadline: Duration::ZERO,
        default: HookReply::Block {
            reason: "not today".to_owned(),
        },
    });
    let server = server(configuration).await;
    let rig = Rig::start(scenario::plain(), &server).await;
    let (transcript, events) = rig.one_turn().await;
    assert!(names(&events).contains(&"UserPromptSubmit"));
    assert!(
        !transcript.to_string().contains(PLAIN_TEXT),
        "the model was never asked"
    );
}
