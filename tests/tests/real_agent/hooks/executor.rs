//! The real agent in a terminal that is displayed.

use std::path::Path;
use std::sync::Arc;

use bowline_hooks::{HookEventItem, HookKind, HookSubscription};
use bowline_lifecycle::{AgentMode, PrintFormat, Signal};
use bowline_shell::{
    Evidence, ExecutorCommand, ExecutorConfiguration, PtyTerminal, TerminalExecutor,
};
use bowline_tests::real_agent::scenario::{self, PLAIN_TEXT, TOOL_GATE};
use bowline_tests::real_agent::{Agent, Home, Lanes, MessagesApi, Reply, Scenario};
use bowline_tests::session::within;
use bowline_transport::Stream;

use super::rig::{environment, hooks};

struct Stage {
    api: MessagesApi,
    home: Home,
    agent: Agent,
    terminal: Arc<PtyTerminal>,
    executor: Arc<TerminalExecutor>,
}

impl Stage {
    async fn new(scenario: Scenario) -> Self {
        let agent = Agent::for_test();
        let home = Home::new().expect("a temporary home");
        let api = MessagesApi::start(scenario.script).expect("a scripted API");
        let mut configuration = ExecutorConfiguration::new("session");
        configuration.env = environment(&home, &api);
        configuration.hooks = hooks();
        configuration.agent = agent.executable().into();
        let terminal = Arc::new(PtyTerminal::default());
        let executor = TerminalExecutor::start(configuration, Arc::clone(&terminal) as _).await;
        Self {
            api,
            home,
            agent,
            terminal,
            executor: Arc::new(executor.expect("an executor")),
        }
    }

    fn command(&self, prompt: &str, mode: AgentMode) -> ExecutorCommand {
        let mut command = ExecutorCommand::new("interaction", prompt);
        command.program = self.agent.executable().into();
        command.cwd = Some(self.home.project());
        command.options.mode = mode;
        command.options.allowed_tools = vec!["Bash".to_owned()];
        command
    }

    /// Executes in a separate task.
    fn execute(
        &self,
        command: ExecutorCommand,
    ) -> tokio::task::JoinHandle<bowline_shell::CommandResult> {
        let executor = Arc::clone(&self.executor);
        tokio::spawn(async move { executor.execute(command).await.expect("a result") })
    }
}

const PRINT: AgentMode = AgentMode::Print(PrintFormat::Text);

async fn received(events: &mut HookSubscription, kind: HookKind) {
    within("a hook", async {
        loop {
            match events.next().await {
                Some(HookEventItem::Event(event)) if event.kind == kind => return,
                Some(_) => {}
                None => panic!("the hooks ended before {kind:?}"),
            }
        }
    })
    .await;
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn exit_and_session_end_arrive_then_resume() {
    let mut scenario = scenario::plain();
    scenario.script = Lanes::main([Reply::text(PLAIN_TEXT), Reply::text("The second answer.")]);
    let stage = Stage::new(scenario).await;
    let command = stage.command("say something", PRINT);
    let first = within("a result", stage.execute(command))
        .await
        .expect("no panic");
    assert_eq!(first.evidence, Evidence::Complete, "{first:?}");
    assert_eq!(
        (first.exit_code, first.session_end.as_deref()),
        (Some(0), Some("other"))
    );
    assert!(first.stdout.contains(PLAIN_TEXT), "{}", first.stdout);
    let conversation = first.conversation.expect("a conversation");
    assert!(stage.home.has_session(&conversation));

    let command = stage.command("and then?", PRINT);
    let second = within("a result", stage.execute(command))
        .await
        .expect("no panic");
    assert_eq!(second.evidence, Evidence::Complete, "{second:?}");
    assert_eq!(second.conversation.as_deref(), Some(conversation.as_str()));
    assert!(
        second.stdout.contains("The second answer."),
        "{}",
        second.stdout
    );
    let asked = stage.api.scripted().pop().expect("a request");
    assert!(
        asked.body.to_string().contains("say something"),
        "the model knows the first turn"
    );
    within("a clean-up", stage.executor.cleanup()).await;
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn agent_killed_during_tool_does_not_hang() {
    let stage = Stage::new(scenario::long_tool()).await;
    let running = stage.execute(stage.command("run something long", PRINT));
    within("a tool", stage.api.gate(TOOL_GATE).reached()).await;
    let terminal = stage.terminal.running("session").expect("a terminal");
    terminal.signal(Signal::Kill).expect("a signal");
    let result = within("a result", running).await.expect("no panic");
    assert_eq!(result.evidence, Evidence::NoSessionEnd);
    assert_eq!(result.exit_code, Some(137));
    assert!(result.conversation.is_some(), "it can be resumed");
    within("a clean-up", stage.executor.cleanup()).await;
    let left = terminal
        .terminate(bowline_lifecycle::TerminationPolicy::AT_ONCE)
        .await;
    assert!(left.survivors.is_empty(), "the tool went with it: {left:?}");
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn user_can_continue_in_terminal_and_exit() {
    let stage = Stage::new(scenario::plain()).await;
    let mut events = stage.executor.subscribe().expect("a server");
    let running = stage.execute(stage.command("say something", AgentMode::Interactive));
    received(&mut events, HookKind::Stop).await;
    let terminal = stage.terminal.running("session").expect("a terminal");
    let mut seen = terminal.reader_at(Stream::Output, terminal.end(Stream::Output));
    let mut running = running;
    // ^D twice on an empty line, as the agent's screen suggests. It is repeated at each change of
    // the screen, since no event reports when the line accepts keys.
    let result = within("an end", async {
        loop {
            // The terminal may be closed.
            let _ = terminal.write("\u{4}".into()).await;
            tokio::select! {
                result = &mut running => break result,
                Some(_) = seen.next() => {}
            }
        }
    })
    .await
    .expect("no panic");
    assert_eq!(result.evidence, Evidence::Complete, "{result:?}");
    assert_eq!(result.session_end.as_deref(), Some("prompt_input_exit"));
    assert_eq!(result.exit_code, Some(0));
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn token_and_prompt_are_in_no_argument() {
    let stage = Stage::new(scenario::long_tool()).await;
    let prompt = "canary of the prompt: run something long";
    let running = stage.execute(stage.command(prompt, PRINT));
    within("a tool", stage.api.gate(TOOL_GATE).reached()).await;
    let terminal = stage.terminal.running("session").expect("a terminal");
    let pid = terminal.pid().expect("a process");
    let environment = std::fs::read(format!("/proc/{pid}/environ")).expect("an environment");
    let environment = String::from_utf8_lossy(&environment).into_owned();
    let mut variables = environment.split('\0').filter_map(|it| it.split_once('='));
    let token = variables
        .find(|it| it.0 == "BOWLINE_HOOK_TOKEN")
        .expect("a token")
        .1;
    let lines = command_lines();
    // Versions that are scripts for Node replace their arguments by a title.
    let is_title = |line: &str| line.trim_end_matches([' ', '\0']) == "claude";
    assert!(
        lines
            .iter()
            .any(|line| line.contains("--settings\0/") || is_title(line)),
        "the agent is there"
    );
    for line in &lines {
        assert!(
            !line.contains("canary of the prompt") && !line.contains(token),
            "{line}"
        );
    }
    stage.api.gate(TOOL_GATE).open();
    let result = within("a result", running).await.expect("no panic");
    assert_eq!(result.evidence, Evidence::Complete);
}

fn command_lines() -> Vec<String> {
    let processes = std::fs::read_dir(Path::new("/proc"))
        .expect("/proc")
        .flatten();
    let lines = processes.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .collect()
}
