//! Token and prompt are in no argument of any process, no log and no error.

use std::sync::{Arc, Mutex};

use bowline_shell::{ExecutorConfiguration, PtyTerminal, TerminalExecutor};
use secrecy::SecretString;
use tracing_subscriber::filter::LevelFilter;

use crate::agent::{Agent, hanging};
use crate::within;

/// The command lines of every process that there is.
fn command_lines() -> Vec<String> {
    let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
    let lines = processes.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).into_owned());
    lines.collect()
}

/// The variable of a process's environment.
fn variable(pid: u32, name: &str) -> Option<String> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let environment = String::from_utf8_lossy(&environment).into_owned();
    let mut variables = environment.split('\0').filter_map(|it| it.split_once('='));
    variables
        .find(|(it, _)| *it == name)
        .map(|(_, value)| value.to_owned())
}

#[tokio::test]
async fn log_names_commands_without_secrets() {
    let log = tempfile::NamedTempFile::new().expect("a file for the log");
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(Mutex::new(log.reopen().expect("the file opens again")))
        .finish();
    // The only one of this program: what the other tests log comes here, too.
    tracing::subscriber::set_global_default(subscriber).expect("the first subscriber");
    let agent = Agent::new();
    let terminal = Arc::new(PtyTerminal::default());
    let configuration = ExecutorConfiguration::new("s");
    let executor = TerminalExecutor::start(configuration, terminal).await;
    let executor = Arc::new(executor.expect("an executor"));
    let mut events = executor.subscribe().expect("a server");
    // One that keeps its command line: what hangs becomes another program.
    let mut command = agent.command("canary-prompt", "stays");
    let secret = SecretString::from("canary-variable");
    command.variables.insert("HOST_VARIABLE".to_owned(), secret);
    let shown = format!("{command:?} {executor:?}");
    let running = tokio::spawn({
        let executor = Arc::clone(&executor);
        async move { executor.execute(command).await }
    });
    let pid = hanging(&mut events).await;
    let token = variable(pid, "BOWLINE_HOOK_TOKEN").expect("the agent has the token");
    assert_eq!(token.len(), 64);
    let lines = command_lines();
    assert!(
        lines.iter().any(|line| line.contains("--settings\0/")),
        "the agent is among them"
    );
    within("a clean-up", executor.cleanup()).await;
    let error = within("an end", running)
        .await
        .expect("no panic")
        .expect_err("cleaned up");
    let text = std::fs::read_to_string(log.path()).expect("a log in UTF-8");
    for expected in [
        "starting the agent in a terminal",
        "session=\"s\"",
        "prompt_bytes=13",
        "resumed=\"none\"",
        "cleaned up",
    ] {
        assert!(text.contains(expected), "no {expected}: {text}");
    }
    for secret in [token.as_str(), "canary"] {
        assert!(
            !lines.iter().any(|line| line.contains(secret)),
            "an argument has {secret}"
        );
        assert!(!text.contains(secret), "the log has {secret}: {text}");
        assert!(!shown.contains(secret), "{shown}");
        assert!(!error.to_string().contains(secret));
    }
}
