//! The executor and the hooks with the understudy as the agent. One binary is all three programs.

use std::sync::Arc;
use std::time::Duration;

use bowline_hooks::{
    HookConfiguration, HookEvent, HookEventItem, HookGate, HookHelper, HookKind, HookReply,
    HookRoute, HookSubscription,
};
use bowline_lifecycle::{AgentMode, AgentOptions, PrintFormat};
use bowline_shell::{
    CommandResult, Evidence, ExecutorCommand, ExecutorConfiguration, PtyTerminal, TerminalExecutor,
};

const BOWLINE: &str = env!("CARGO_BIN_EXE_bowline");

async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(Duration::from_secs(60), work).await;
    done.unwrap_or_else(|_| panic!("no {what} in time"))
}

async fn executor(change: impl FnOnce(&mut HookConfiguration)) -> TerminalExecutor {
    let mut configuration = ExecutorConfiguration::new("s");
    configuration.agent = "bowline".into();
    configuration.hooks.helper = Some(HookHelper::bowline(BOWLINE));
    change(&mut configuration.hooks);
    let terminal = Arc::new(PtyTerminal::default());
    let started = TerminalExecutor::start(configuration, terminal).await;
    started.expect("an executor")
}

/// Returns a command for the understudy, which reads one prompt.
fn command(prompt: &str) -> ExecutorCommand {
    let mut command = ExecutorCommand::new("i", prompt);
    command.program = BOWLINE.into();
    command.options = AgentOptions {
        mode: AgentMode::Print(PrintFormat::StreamJson),
        leading_args: vec!["understudy".into()],
        trailing_args: vec!["--input-format=text".into(), "--pace=0".into()],
        ..AgentOptions::default()
    };
    command
}

async fn execute(executor: &TerminalExecutor, prompt: &str) -> CommandResult {
    let result = within("a result", executor.execute(command(prompt))).await;
    result.expect("a command that can be executed")
}

/// Returns every event up to the end of the session.
async fn session_events(subscription: &mut HookSubscription) -> Vec<HookEvent> {
    let mut events = Vec::new();
    while events
        .last()
        .is_none_or(|it: &HookEvent| it.kind != HookKind::SessionEnd)
    {
        match within("an event", subscription.next()).await {
            Some(HookEventItem::Event(event)) => events.push(*event),
            other => panic!("{other:?} instead of an event"),
        }
    }
    events
}

fn names(events: &[HookEvent]) -> Vec<&str> {
    events.iter().map(|event| event.kind.name()).collect()
}

#[tokio::test]
async fn both_hook_routes_deliver_all_events() {
    for route in [HookRoute::Http, HookRoute::Helper] {
        let executor = executor(|hooks| hooks.route = route).await;
        let mut subscription = executor.subscribe().expect("a server");
        let result = execute(&executor, "/tool ls").await;
        assert_eq!(result.evidence, Evidence::Complete, "{result:?}");
        assert_eq!(result.exit_code, Some(0));
        let events = session_events(&mut subscription).await;
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
        assert_eq!(result.conversation, events[0].session_id);
        let report = within("a clean-up", executor.cleanup()).await.hooks;
        assert_eq!(
            (report.events, report.duplicates, report.refused),
            (6, 0, 0)
        );
    }
}

#[tokio::test]
async fn failures_and_subagents_have_their_own_events() {
    for (prompt, kind) in [
        ("/fail ls", "PostToolUseFailure"),
        ("/agent look around", "SubagentStop"),
        ("/error", "StopFailure"),
    ] {
        let executor = executor(|_| {}).await;
        let mut subscription = executor.subscribe().expect("a server");
        execute(&executor, prompt).await;
        let events = session_events(&mut subscription).await;
        assert!(
            names(&events).contains(&kind),
            "{prompt}: {:?}",
            names(&events)
        );
    }
}

#[tokio::test]
async fn hook_decision_of_host_is_applied() {
    for (reply, runs) in [
        (HookReply::deny("not on a Sunday"), false),
        (HookReply::allow(), true),
    ] {
        let gate = HookGate {
            kinds: vec![HookKind::PreToolUse],
            deadline: Duration::from_secs(60),
            default: HookReply::deny("no decision"),
        };
        let executor = executor(|hooks| hooks.gate = Some(gate)).await;
        let mut questions = executor.questions().expect("not taken yet");
        let mut subscription = executor.subscribe().expect("a server");
        let decide = async {
            let question = questions.next().await.expect("a question");
            question.answer(reply).expect("in time");
        };
        let both = async { tokio::join!(execute(&executor, "/tool ls"), decide) };
        let (result, ()) = within("both", both).await;
        let events = session_events(&mut subscription).await;
        assert_eq!(names(&events).contains(&"PostToolUse"), runs);
        assert_eq!(
            result.stdout.contains("not on a Sunday"),
            !runs,
            "{}",
            result.stdout
        );
    }
}

#[tokio::test]
async fn second_command_resumes_conversation() {
    let executor = executor(|_| {}).await;
    let first = execute(&executor, "hello").await.conversation;
    let second = execute(&executor, "and now?").await.conversation;
    assert!(first.is_some());
    assert_eq!(first, second);
}
