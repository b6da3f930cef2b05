//! The same on a terminal of our own, with a process that is really there.

use std::sync::Arc;
use std::time::Duration;

use bowline_lifecycle::{Piece, SpawnError, WindowSize};
use bowline_shell::{
    CommandResult, Evidence, ExecutorCommand, ExecutorConfiguration, PtyTerminal, TerminalError,
    TerminalExecutor,
};

use crate::agent::{Agent, hanging, is_alive};
use crate::within;

async fn executor(change: impl FnOnce(&mut ExecutorConfiguration)) -> TerminalExecutor {
    let mut configuration = ExecutorConfiguration::new("s");
    change(&mut configuration);
    let terminal = Arc::new(PtyTerminal::default());
    let started = TerminalExecutor::start(configuration, terminal).await;
    started.expect("an executor")
}

async fn executed(executor: &TerminalExecutor, command: ExecutorCommand) -> CommandResult {
    let result = within("a result", executor.execute(command)).await;
    result.expect("a command that can be executed")
}

fn line<'a>(result: &'a CommandResult, start: &str) -> &'a str {
    let mut lines = result.stdout.lines();
    let line = lines.find_map(|line| line.strip_prefix(start));
    line.unwrap_or_else(|| panic!("no {start} in {}", result.stdout))
}

#[tokio::test]
async fn raw_output_is_one_stream_over_all_commands() {
    let agent = Agent::new();
    let terminal = Arc::new(PtyTerminal::default());
    let configuration = ExecutorConfiguration::new("s");
    let started = TerminalExecutor::start(configuration, Arc::clone(&terminal) as _).await;
    let executor = started.expect("an executor");
    // Attached before any command, as a terminal view is.
    let mut output = terminal.raw_output("s", 0);
    terminal.resize("s", WindowSize::new(50, 132));
    for (interaction, prompt) in [("i1", "the first"), ("i2", "the second")] {
        let mut command = agent.command(prompt, "");
        command.interaction = interaction.to_owned();
        executed(&executor, command).await;
    }
    let middle = {
        let mut at = 0;
        while at == 0 {
            if let Some(Piece::Bytes { bytes, .. }) = within("output", output.next()).await {
                at = bytes.len() as u64;
            }
        }
        at
    };
    executor.cleanup().await;
    let mut late = output.at(0);
    let mut all = Vec::new();
    while let Some(piece) = within("output", late.next()).await {
        let Piece::Bytes { offset, bytes } = piece else {
            panic!("{piece:?}");
        };
        assert_eq!(offset, all.len() as u64, "offsets go on over commands");
        all.extend_from_slice(&bytes);
    }
    let text = String::from_utf8_lossy(&all).into_owned();
    let prompts = ["the first", "the second"].map(|prompt| text.find(prompt));
    assert!(prompts[0].is_some() && prompts[0] < prompts[1], "{text}");
    let mut rest = Vec::new();
    while let Some(Piece::Bytes { bytes, .. }) = within("output", output.next()).await {
        rest.extend_from_slice(&bytes);
    }
    assert_eq!(
        rest,
        all[middle as usize..],
        "the first reader misses nothing"
    );
}

#[tokio::test]
async fn exit_and_session_end_are_observed() {
    let (agent, executor) = (Agent::new(), executor(|_| {}).await);
    let prompt = format!(
        "say `hello` to 'all' of \"you\"{}",
        " and you".repeat(30_000)
    );
    let mut command = agent.command(&prompt, "");
    command
        .variables
        .insert("HOST_VARIABLE".to_owned(), "set".to_owned().into());
    let result = executed(&executor, command).await;
    assert_eq!(result.evidence, Evidence::Complete, "{result:?}");
    assert_eq!(result.exit_code, Some(0));
    assert_eq!(result.conversation.as_deref(), Some("conversation-1"));
    let expected = format!(
        "{} say `hello` to 'all' of \"you\" and you an",
        prompt.len()
    );
    assert_eq!(line(&result, "prompt: "), expected);
    assert_eq!(line(&result, "variable: "), "set");
    assert!(
        line(&result, "args: ").starts_with("--settings /"),
        "{}",
        result.stdout
    );
}

#[tokio::test]
async fn failing_agent_has_exit_code() {
    let (agent, executor) = (Agent::new(), executor(|_| {}).await);
    let mut command = agent.command("hello", "");
    command
        .variables
        .insert("AGENT_EXITS".to_owned(), "3".to_owned().into());
    let result = executed(&executor, command).await;
    assert_eq!(
        (result.exit_code, result.evidence),
        (Some(3), Evidence::Complete)
    );
}

#[tokio::test]
async fn killed_agent_ends_command_without_hook() {
    let executor = executor(|it| it.hook_grace = Duration::from_millis(1)).await;
    let result = executed(&executor, Agent::new().command("hello", "killed")).await;
    assert_eq!(result.evidence, Evidence::NoSessionEnd);
    assert_eq!(result.evidence.missing(), ["the SessionEnd hook"]);
    assert_eq!(result.exit_code, Some(137), "128 and SIGKILL");
}

#[tokio::test]
async fn agent_without_hooks_lacks_session_end() {
    let executor = executor(|it| it.hook_grace = Duration::from_millis(1)).await;
    let result = executed(&executor, Agent::new().command("hello", "silent")).await;
    assert_eq!(result.evidence.to_string(), "without the SessionEnd hook");
    assert_eq!(result.exit_code, Some(0));
}

#[tokio::test]
async fn agent_that_outlives_session_is_ended() {
    let executor = executor(|it| it.exit_grace = Duration::from_millis(1)).await;
    let result = executed(&executor, Agent::new().command("hello", "ends-and-hangs")).await;
    assert_eq!(result.evidence, Evidence::NoExit);
    assert_eq!(result.evidence.missing(), ["the exit of the process"]);
    assert_eq!(
        line(&result, "prompt: "),
        "5 hello",
        "what it wrote is kept"
    );
}

#[tokio::test]
async fn agent_is_ended_after_time_limit() {
    let executor = executor(|it| it.longest_run = Some(Duration::from_millis(500))).await;
    let mut events = executor.subscribe().expect("a server");
    let result = executed(&executor, Agent::new().command("hello", "hangs")).await;
    assert_eq!(result.evidence, Evidence::Neither);
    assert_eq!(result.evidence.missing().len(), 2);
    let pid = hanging(&mut events).await;
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn cleared_session_continues_under_new_id() {
    let (agent, executor) = (Agent::new(), executor(|_| {}).await);
    let result = executed(&executor, agent.command("hello", "clears")).await;
    assert_eq!(result.evidence, Evidence::Complete);
    assert_eq!(result.conversation.as_deref(), Some("conversation-2"));
}

#[tokio::test]
async fn missing_agent_is_an_error() {
    let executor = executor(|_| {}).await;
    let mut command = ExecutorCommand::new("i1", "hello");
    command.program = "/no/such/folder/claude".into();
    let error = within("an error", executor.execute(command))
        .await
        .expect_err("no agent");
    let bowline_shell::ExecutorError::Terminal(TerminalError::Spawn(spawn)) = error else {
        panic!("{error}");
    };
    assert!(matches!(spawn, SpawnError::NotFound { .. }), "{spawn}");
}

#[tokio::test]
async fn commands_of_session_run_in_sequence() {
    let (agent, executor) = (Agent::new(), executor(|_| {}).await);
    let commands = ["one", "two"].map(|prompt| agent.command(prompt, ""));
    let [first, second] = commands.map(|command| executed(&executor, command));
    let (first, second) = within("both", async { tokio::join!(first, second) }).await;
    assert!(!line(&first, "args: ").contains("--resume"));
    assert!(
        line(&second, "args: ").contains("--resume=conversation-1"),
        "the second knows what the first has begun: {}",
        second.stdout
    );
}

#[tokio::test]
async fn dropped_output_is_counted_and_ends_at_a_line() {
    let executor = executor(|configuration| configuration.hook_grace = Duration::ZERO).await;
    let agent = Agent::new();
    let mut command = agent.command("p", "floods");
    command.options.trailing_args = vec!["400000".into()];
    let result = executed(&executor, command).await;
    let mut numbers = result.stdout.lines().map(|line| line.parse::<u64>());
    let first = numbers.next().expect("a line").expect("a whole line");
    assert_eq!(numbers.next_back().expect("more lines"), Ok(400_000));
    assert!(first > 1, "{first}");
    // A terminal ends lines with two characters. The agent prints three lines before the numbers.
    let before: usize = (1..first).map(|number| number.to_string().len() + 2).sum();
    let kept = 400_000 - first + 1;
    assert_eq!(result.stdout.lines().count() as u64, kept);
    let dropped = usize::try_from(result.dropped_bytes).expect("a length");
    assert!(
        dropped > before && dropped < before + 1_000,
        "{dropped}, {before}"
    );
}

#[tokio::test]
async fn complete_output_has_no_dropped_bytes() {
    let executor = executor(|_| {}).await;
    let result = executed(&executor, Agent::new().command("p", "")).await;
    assert_eq!(result.dropped_bytes, 0);
    assert!(result.stdout.starts_with("args: "), "{}", result.stdout);
}
