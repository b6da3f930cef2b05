//! Ends of a session, and resuming afterwards.

use bowline_lifecycle::{
    AgentVersion, Conversation, DialogueConfiguration, DialogueSession, ExitStatus, Prompt,
    ReceiptState, ResumeError, Signal, StartError,
};
use bowline_tests::real_agent::scenario::{self, PLAIN_TEXT, TOOL_CALL, TOOL_GATE};
use bowline_tests::real_agent::{Agent, Home};
use bowline_tests::session::{entries, terminate, transcript, within};

use super::rig::{Rig, outcomes, texts};

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn resume_and_fork() {
    let agent = Agent::for_test();
    let home = Home::new().expect("a temporary home");
    let first = Rig::start_in(&agent, home, scenario::plain(), |_| {}).await;
    first.answered(0).await;
    let id = transcript(&first.session).await["session_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    within("the end", first.session.end()).await;
    let mut home = first.home;
    for fork in [false, true] {
        let conversation = Conversation::Resume {
            id: id.clone(),
            fork,
        };
        let rig = Rig::start_in(&agent, home, scenario::plain(), |it| {
            it.conversation = conversation
        })
        .await;
        rig.answered(0).await;
        let messages = rig.api.requests();
        let last = messages.last().expect("a request");
        assert!(
            last.messages().len() > 2,
            "the agent remembers the first turn"
        );
        let now = transcript(&rig.session).await;
        assert_eq!(now["session_id"] == id.as_str(), !fork);
        assert_eq!(texts(&now), [PLAIN_TEXT]);
        within("the end", rig.session.end()).await;
        home = rig.home;
    }
    let unknown = "00000000-0000-4000-8000-000000000000".to_owned();
    let conversation = Conversation::Resume {
        id: unknown,
        fork: false,
    };
    let rig = Rig::start_in(&agent, home, scenario::plain(), |it| {
        it.conversation = conversation
    })
    .await;
    let end = within("the end", rig.session.ended()).await;
    assert!(!end.expected);
    assert_eq!(end.exit.status, ExitStatus::Code(1));
    assert!(end.stderr.text.contains("No conversation found"), "{end:?}");
    let left = transcript(&rig.session).await;
    // Older agents end without a result.
    if rig.version >= AgentVersion::new(2, 1, 100) {
        assert_eq!(outcomes(&left), ["failed"]);
    }
    assert!(
        entries(&left, "error")
            .iter()
            .any(|it| it["error"] == "unexpected_exit")
    );
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn sigterm_during_tool_is_unexpected_exit() {
    let rig = Rig::start(scenario::long_tool()).await;
    let mut receipt = rig.send(0).await;
    within("the tool", rig.api.gate(TOOL_GATE).reached()).await;
    rig.session
        .signal(Signal::Terminate)
        .expect("the agent is there");
    assert_eq!(
        within("the end", receipt.settled()).await,
        ReceiptState::Unknown
    );
    let end = within("the end", rig.session.ended()).await;
    assert_eq!(
        (end.exit.status, end.expected),
        (ExitStatus::Code(143), false)
    );
    assert!(end.report.survivors.is_empty());
    let left = transcript(&rig.session).await;
    assert!(
        entries(&left, "error")
            .iter()
            .any(|it| it["error"] == "unexpected_exit"),
        "{left:#}"
    );
    assert!(outcomes(&left).is_empty(), "SIGTERM brings no result");
    assert_ne!(
        left["tool_calls"][TOOL_CALL]["state"], "running",
        "nothing stays open"
    );
    assert_eq!(left["status"]["phase"], "ended");
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn terminate_during_tool_leaves_nothing() {
    let rig = Rig::start(scenario::long_tool()).await;
    rig.send(0).await;
    within("the tool", rig.api.gate(TOOL_GATE).reached()).await;
    let end = within("the end", rig.session.terminate()).await;
    assert!(end.expected && end.report.survivors.is_empty(), "{end:?}");
    let left = transcript(&rig.session).await;
    assert!(
        entries(&left, "error").is_empty(),
        "an end that was asked for is no error: {left:#}"
    );
}

/// The session's conversation.
async fn conversation(rig: &Rig) -> String {
    let id = transcript(&rig.session).await["session_id"].clone();
    id.as_str().expect("an id").to_owned()
}

fn resume(id: &str) -> Conversation {
    Conversation::Resume {
        id: id.to_owned(),
        fork: false,
    }
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn agent_killed_during_tool_is_resumed() {
    let agent = Agent::for_test();
    let home = Home::new().expect("a temporary home");
    let rig = Rig::start_in(&agent, home, scenario::long_tool(), |_| {}).await;
    let mut receipt = rig.send(0).await;
    within("the tool", rig.api.gate(TOOL_GATE).reached()).await;
    let id = conversation(&rig).await;
    let saved = rig.home.session_holds(&id, "run something long");
    within("the saved prompt", saved).await;
    rig.session
        .signal(Signal::Kill)
        .expect("the agent is there");
    assert_eq!(
        within("the end", receipt.settled()).await,
        ReceiptState::Unknown
    );
    let end = within("the end", rig.session.ended()).await;
    assert_eq!(
        (end.exit.status, end.expected),
        (ExitStatus::Signal(9), false)
    );
    assert!(
        end.report.survivors.is_empty(),
        "the tool went too: {end:?}"
    );
    let left = transcript(&rig.session).await;
    assert_eq!(left["tool_calls"][TOOL_CALL]["state"], "lost");
    assert_eq!(left["status"]["phase"], "ended");

    let folder = rig.home.config();
    let again = Rig::start_in(&agent, rig.home, scenario::plain(), |it| {
        it.conversation = resume(&id);
        it.agent_directory = Some(folder);
    })
    .await;
    again.answered(0).await;
    assert_eq!(conversation(&again).await, id);
    let asked = again.api.scripted().pop().expect("a request");
    let known = asked.body.to_string();
    // Whether the agent had saved its tool call when it was killed depends on timing.
    assert!(known.contains("run something long"), "{known}");
    again.finish().await;
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn known_prompt_is_a_duplicate() {
    let agent = Agent::for_test();
    let known = Prompt {
        uuid: Some("6b1f5f6e-0000-4000-8000-00000000000a".to_owned()),
        ..Prompt::text("say something")
    };
    let home = Home::new().expect("a temporary home");
    let rig = Rig::start_in(&agent, home, scenario::plain(), |_| {}).await;
    let mut receipt = rig.session.send(known.clone()).await.expect("it is sent");
    assert_eq!(
        within("an answer", receipt.settled()).await,
        ReceiptState::Answered
    );
    let id = conversation(&rig).await;
    within("the end", rig.session.end()).await;
    let again = Rig::start_in(&agent, rig.home, scenario::plain(), |it| {
        it.conversation = resume(&id);
    })
    .await;
    let mut receipt = again.session.send(known).await.expect("it is sent");
    assert_eq!(
        within("an end", receipt.settled()).await,
        ReceiptState::Duplicate
    );
    again.answered(0).await;
    let (transcript, _) = again.finish().await;
    assert_eq!(outcomes(&transcript), ["completed"]);
}

/// A slash command of the agent has no model turn, but is answered.
#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn slash_command_is_answered() {
    let mut scenario = scenario::plain();
    scenario.prompts = vec!["/context", "/clear", "say something"];
    let rig = Rig::start(scenario).await;
    for prompt in 0..3 {
        rig.answered(prompt).await;
    }
    let now = rig
        .until("an idle session", |it| it["status"]["phase"] == "idle")
        .await;
    assert_eq!(texts(&now).last().map(String::as_str), Some(PLAIN_TEXT));
    within("the end", rig.session.end()).await;
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn conversation_is_verified_before_start() {
    let agent = Agent::for_test();
    let home = Home::new().expect("a temporary home");
    let configuration = |conversation: Conversation| DialogueConfiguration {
        program: agent.executable().into(),
        cwd: Some(home.project()),
        agent_directory: Some(home.config()),
        conversation,
        ..DialogueConfiguration::default()
    };
    let unknown = resume("00000000-0000-4000-8000-000000000000");
    for (conversation, code) in [
        (unknown, "CONVERSATION_NOT_FOUND"),
        (Conversation::Continue, "NOTHING_TO_CONTINUE"),
    ] {
        let started = DialogueSession::start(configuration(conversation)).await;
        let Err(StartError::Resume(error)) = started else {
            panic!("{started:?}");
        };
        assert_eq!(error.code(), code);
    }
    let rig = Rig::start_in(&agent, home, scenario::plain(), |_| {}).await;
    rig.answered(0).await;
    let id = conversation(&rig).await;
    within("the end", rig.session.end()).await;
    let taken = Conversation::NewAs(id.clone()).verified(&rig.home.config(), &rig.home.project());
    assert!(
        matches!(taken, Err(ResumeError::Exists { .. })),
        "{taken:?}"
    );
    let folder = rig.home.config();
    let again = Rig::start_in(&agent, rig.home, scenario::plain(), |it| {
        it.conversation = Conversation::Continue;
        it.agent_directory = Some(folder);
    })
    .await;
    again.answered(0).await;
    assert_eq!(conversation(&again).await, id, "the newest is continued");
    terminate(&again.session).await;
}
