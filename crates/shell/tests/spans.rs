//! Tracing spans of shells and of executor commands. In a process of its own, since the level of
//! logging is cached for all threads.

use std::sync::{Arc, Mutex};

use bowline_shell::{
    ExecutorCommand, ExecutorConfiguration, PtyTerminal, ShellConfiguration, ShellProgram,
    ShellSession, TerminalExecutor,
};
use tracing_subscriber::fmt::format::FmtSpan;

#[tokio::test]
async fn spans_cover_shells_and_commands_without_contents() {
    let log = tempfile::NamedTempFile::new().expect("a file for the log");
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(FmtSpan::FULL)
        .with_ansi(false)
        .with_writer(Mutex::new(log.reopen().expect("the file opens again")))
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);

    let mut configuration = ShellConfiguration::new("/");
    let script = "read line; exit 3";
    configuration.program = ShellProgram::Command("sh".into(), vec!["-c".into(), script.into()]);
    let shell = ShellSession::start(configuration).await.expect("a shell");
    let mut events = shell.subscribe_from_start();
    shell.write("CANARY-input\n").await.expect("it reads");
    while events.next().await.is_some() {}

    let mut configuration = ExecutorConfiguration::new("session-1");
    configuration.agent = "sh".into();
    configuration.hook_grace = std::time::Duration::ZERO;
    let terminal = Arc::new(PtyTerminal::default());
    let started = TerminalExecutor::start(configuration, terminal).await;
    let executor = started.expect("an executor");
    let mut command = ExecutorCommand::new("interaction-1", "CANARY-prompt");
    command.program = "sh".into();
    // The shell refuses the options of an agent.
    let result = executor.execute(command).await.expect("a result");
    assert_ne!(result.exit_code, Some(0));
    executor.cleanup().await;

    drop(guard);
    let log = std::fs::read_to_string(log.path()).expect("a log in UTF-8");
    for wanted in [
        format!(
            "shell{{session.id={} bowline.managed.id={}",
            shell.terminal(),
            shell.id()
        ),
        format!(
            "spawn{{session.id={} process.executable.name=sh process.pid=",
            shell.terminal()
        ),
        "process.exit.code=3".to_owned(),
        "execute_command{session.id=\"session-1\" bowline.interaction.id=\"interaction-1\""
            .to_owned(),
        "bowline.command.evidence=without the SessionEnd hook".to_owned(),
    ] {
        assert!(log.contains(&wanted), "no {wanted} in {log}");
    }
    assert!(!log.contains("CANARY"), "{log}");
}
