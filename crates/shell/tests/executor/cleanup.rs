//! Nothing is left: not of a clean-up, not of a future that was dropped.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bowline_shell::{
    Evidence, ExecutorCommand, ExecutorConfiguration, ExecutorError, PtyTerminal, TerminalExecutor,
};
use secrecy::ExposeSecret as _;

use crate::agent::{Agent, hanging, is_alive};
use crate::fake::{FakeTerminal, succeeds};
use crate::within;

/// An executor with an agent that hangs in its terminal.
struct Hanging {
    executor: Arc<TerminalExecutor>,
    terminal: Arc<PtyTerminal>,
    running: tokio::task::JoinHandle<Result<bowline_shell::CommandResult, ExecutorError>>,
    pid: u32,
    _agent: Agent,
}

impl Hanging {
    async fn start() -> Self {
        let agent = Agent::new();
        let terminal = Arc::new(PtyTerminal::default());
        let configuration = ExecutorConfiguration::new("s");
        let executor = TerminalExecutor::start(configuration, Arc::clone(&terminal) as _).await;
        let executor = Arc::new(executor.expect("an executor"));
        let mut events = executor.subscribe().expect("a server");
        let command = agent.command("hello", "hangs");
        let running = tokio::spawn({
            let executor = Arc::clone(&executor);
            async move { executor.execute(command).await }
        });
        let pid = hanging(&mut events).await;
        assert!(is_alive(pid));
        Self {
            executor,
            terminal,
            running,
            pid,
            _agent: agent,
        }
    }
}

/// The file that a process has as its input.
fn input(pid: u32) -> std::path::PathBuf {
    // The agent's own descriptor: the script has read it, and holds it still.
    std::fs::read_link(format!("/proc/{pid}/fd/0")).expect("an input")
}

#[tokio::test]
async fn cleanup_ends_terminal_server_and_file() {
    let hanging = Hanging::start().await;
    let input = input(hanging.pid);
    assert!(
        input.to_string_lossy().ends_with("(deleted)"),
        "it has no name: {input:?}"
    );
    let seen = hanging
        .terminal
        .running("s")
        .expect("a terminal to look at");
    let report = within("a clean-up", hanging.executor.cleanup()).await;
    assert!(!is_alive(hanging.pid));
    assert!(hanging.terminal.running("s").is_none());
    let report_of_terminal = within(
        "an end",
        seen.terminate(bowline_lifecycle::TerminationPolicy::AT_ONCE),
    )
    .await;
    assert!(report_of_terminal.survivors.is_empty());
    assert_eq!(report.hooks.events, 2);
    let result = within("a result", hanging.running).await.expect("no panic");
    assert!(
        matches!(result, Err(ExecutorError::CleanedUp)),
        "{result:?}"
    );
    let again = hanging
        .executor
        .execute(ExecutorCommand::new("i", "hello"))
        .await;
    assert!(matches!(again, Err(ExecutorError::CleanedUp)));
    assert!(hanging.executor.subscribe().is_none());
}

#[tokio::test]
async fn dropped_future_ends_command() {
    let hanging = Hanging::start().await;
    let seen = hanging.terminal.running("s").expect("a terminal");
    hanging.running.abort();
    within("an end", seen.exited()).await;
    // The next command is not in the way of the one that was given up.
    let mut command = hanging._agent.command("hello", "");
    command.interaction = "next".to_owned();
    let result = within("a result", hanging.executor.execute(command)).await;
    assert_eq!(result.expect("a result").evidence, Evidence::Complete);
    within("a clean-up", hanging.executor.cleanup()).await;
    assert!(!is_alive(hanging.pid));
}

#[tokio::test]
async fn dropped_executor_leaves_nothing() {
    let hanging = Hanging::start().await;
    let seen = hanging.terminal.running("s").expect("a terminal");
    hanging.running.abort();
    drop((hanging.executor, hanging.terminal));
    within("an end", seen.exited()).await;
    let report = within(
        "an end",
        seen.terminate(bowline_lifecycle::TerminationPolicy::AT_ONCE),
    )
    .await;
    assert!(report.survivors.is_empty());
    assert!(!is_alive(hanging.pid));
}

#[tokio::test]
async fn cleanup_reaches_host_terminal_and_closes_port() {
    let terminal = FakeTerminal::new(succeeds);
    let configuration = ExecutorConfiguration::new("s");
    let executor = TerminalExecutor::start(configuration, Arc::clone(&terminal) as _).await;
    let executor = executor.expect("an executor");
    let executed = within(
        "a result",
        executor.execute(ExecutorCommand::new("i", "hello")),
    )
    .await;
    executed.expect("a result");
    let url = terminal.command().variables["BOWLINE_HOOK_URL"]
        .expose_secret()
        .to_owned();
    let address = url
        .trim_start_matches("http://")
        .split('/')
        .next()
        .map(str::to_owned);
    let address = address.expect("an address");
    assert!(TcpStream::connect(&address).is_ok());
    within("a clean-up", executor.cleanup()).await;
    within("a second clean-up", executor.cleanup()).await;
    // A process that another test is just starting may hold the port until its exec.
    within("a closed port", async {
        while TcpStream::connect(&address).is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(*terminal.cleaned.lock(), ["s", "s"]);
    assert_eq!(terminal.open.load(Ordering::SeqCst), 0);
}
