//! The criteria of the executor, with a terminal supplied by the host: prompts are passed in files, hooks are
//! injected, exit and session end are both awaited, and a cleanup leaves nothing.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bowline_hooks::{HookBackend, HookConfiguration, HookServerError, HookVariables};
use bowline_lifecycle::{
    AgentDocument, AgentMode, AgentOptions, Conversation, ExitStatus, PrintFormat, Shell,
    TerminalRegistry, TerminalTag,
};
use bowline_shell::{
    CommandResult, Evidence, ExecutorCommand, ExecutorConfiguration, ExecutorError,
    TerminalCommand, TerminalError, TerminalExecutor, TerminalOutput,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use crate::fake::{FakeTerminal, succeeds};
use crate::within;

async fn executor(terminal: &Arc<FakeTerminal>) -> TerminalExecutor {
    with(ExecutorConfiguration::new("session-1"), terminal).await
}

async fn with(
    configuration: ExecutorConfiguration,
    terminal: &Arc<FakeTerminal>,
) -> TerminalExecutor {
    let terminal = Arc::clone(terminal);
    let started = TerminalExecutor::start(configuration, terminal).await;
    started.expect("an executor")
}

async fn executed(executor: &TerminalExecutor, command: ExecutorCommand) -> CommandResult {
    let result = within("a result", executor.execute(command)).await;
    result.expect("a command that can be executed")
}

async fn refused(executor: &TerminalExecutor, command: ExecutorCommand) -> ExecutorError {
    let result = within("a result", executor.execute(command)).await;
    result.expect_err("a command that cannot be executed")
}

#[tokio::test]
async fn command_result_has_every_part() {
    let terminal = FakeTerminal::new(succeeds);
    let executor = executor(&terminal).await;
    let result = executed(
        &executor,
        ExecutorCommand::new("i1", "Say\n\"hello\" $HOME"),
    )
    .await;
    assert_eq!(
        result.stdout, "Say\n\"hello\" $HOME",
        "the prompt came through the file"
    );
    assert_eq!(result.stderr, "no complaint");
    assert_eq!(result.exit_code, Some(0));
    assert!(result.duration > Duration::ZERO);
    assert_eq!(result.evidence, Evidence::Complete);
    assert_eq!(result.session_end.as_deref(), Some("other"));
    let command = terminal.command();
    assert_eq!(
        (command.session.as_str(), command.interaction.as_str()),
        ("session-1", "i1")
    );
    assert_eq!(
        terminal.open.load(Ordering::SeqCst),
        0,
        "the run was let go"
    );
}

/// What the host's terminal is, while its command runs, to the registry.
fn listed(_: TerminalCommand) -> Result<TerminalOutput, TerminalError> {
    let listed = TerminalRegistry::shared().list();
    let own = listed
        .iter()
        .filter(|it| it.tag == TerminalTag::Executor && it.kind.is_none());
    Ok(TerminalOutput {
        stdout: own.count().to_string(),
        exit_code: Some(77),
        ..TerminalOutput::default()
    })
}

#[tokio::test]
async fn running_command_is_listed() {
    let terminal = FakeTerminal::new(listed);
    let mut configuration = ExecutorConfiguration::new("session-1");
    configuration.hook_grace = Duration::ZERO;
    let executor = with(configuration, &terminal).await;
    let result = executed(&executor, ExecutorCommand::new("i1", "hello")).await;
    assert_ne!(result.stdout, "0");
    let tombstones = TerminalRegistry::shared().tombstones();
    let own = tombstones
        .iter()
        .find(|it| it.status == Some(ExitStatus::Code(77)));
    let own = own.expect("a tombstone");
    assert_eq!(
        (own.tag, own.expected, own.reason.as_str()),
        (TerminalTag::Executor, true, "exit code 77")
    );
    let listed = TerminalRegistry::shared().list();
    assert!(!listed.iter().any(|it| it.id == own.id));
}

#[tokio::test]
async fn command_line_pipes_prompt_into_agent() {
    let terminal = FakeTerminal::new(succeeds);
    let executor = executor(&terminal).await;
    let mut command = ExecutorCommand::new("i1", "hello");
    command.options.model = Some("it's".to_owned());
    executed(&executor, command).await;
    let command = terminal.command();
    let input = command
        .input
        .as_ref()
        .expect("a prompt")
        .display()
        .to_string();
    let line = command.line(Shell::Sh).expect("a line");
    assert!(
        line.starts_with(&format!("cat {input} | claude \"--model=it's\" ")),
        "{line}"
    );
    assert!(!line.contains("hello"), "{line}");
}

#[tokio::test]
async fn prompt_of_any_size_arrives() {
    let terminal = FakeTerminal::new(succeeds);
    let executor = executor(&terminal).await;
    let prompt = "0123456789abcdef\n".repeat(200_000);
    let result = executed(&executor, ExecutorCommand::new("i1", prompt.clone())).await;
    assert!(
        result.stdout == prompt,
        "{} bytes arrived",
        result.stdout.len()
    );
}

#[tokio::test]
async fn prompt_file_is_gone_after_command() {
    let terminal = FakeTerminal::new(succeeds);
    let executor = executor(&terminal).await;
    executed(&executor, ExecutorCommand::new("i1", "hello")).await;
    let file = terminal.command().input.expect("a prompt");
    assert!(
        std::fs::read(&file).is_err(),
        "{} can still be read",
        file.display()
    );
}

#[tokio::test]
async fn resume_is_added_when_a_conversation_exists() {
    let terminal = FakeTerminal::new(succeeds);
    let mut configuration = ExecutorConfiguration::new("s");
    configuration.conversation = Some("conv_abc123xyz".to_owned());
    let executor = with(configuration, &terminal).await;
    executed(&executor, ExecutorCommand::new("i1", "hello")).await;
    let line = || terminal.command().line(Shell::Sh).expect("a line");
    assert!(line().contains(" --resume=conv_abc123xyz"), "{}", line());
    let mut other = ExecutorCommand::new("i2", "hello");
    other.options.conversation = Conversation::Resume {
        id: "mine".to_owned(),
        fork: false,
    };
    executed(&executor, other).await;
    assert!(
        line().contains(" --resume=mine"),
        "the command's own wins: {}",
        line()
    );
}

#[tokio::test]
async fn session_start_updates_conversation() {
    let terminal = FakeTerminal::new(succeeds);
    let executor = executor(&terminal).await;
    assert_eq!(executor.conversation(), None);
    let result = executed(&executor, ExecutorCommand::new("i1", "hello")).await;
    assert_eq!(result.conversation.as_deref(), Some("c9"));
    executed(&executor, ExecutorCommand::new("i2", "and now?")).await;
    let line = terminal.command().line(Shell::Sh).expect("a line");
    assert!(line.contains(" --resume=c9"), "{line}");
}

#[tokio::test]
async fn flags_are_built_from_options() {
    let terminal = FakeTerminal::new(succeeds);
    let executor = executor(&terminal).await;
    let mut command = ExecutorCommand::new("i1", "hello");
    command.options = AgentOptions {
        mode: AgentMode::Print(PrintFormat::Json),
        model: Some("opus".to_owned()),
        allowed_tools: vec!["Read".to_owned()],
        ..AgentOptions::default()
    };
    executed(&executor, command).await;
    let line = terminal.command().line(Shell::Sh).expect("a line");
    let flags = "claude --print --output-format=json --model=opus --allowedTools=Read --settings /";
    assert!(line.contains(flags), "{line}");
}

#[tokio::test]
async fn environment_has_callback_and_user_variables() {
    let terminal = FakeTerminal::new(succeeds);
    let mut configuration = ExecutorConfiguration::new("s");
    configuration.hooks = HookConfiguration {
        variables: HookVariables::legacy_names(),
        backend: Some(HookBackend {
            token: Some(SecretString::from("api-token")),
            attempts: 1,
            flush: Duration::ZERO,
            ..HookBackend::new("http://127.0.0.1:9", "42")
        }),
        ..HookConfiguration::default()
    };
    let executor = with(configuration, &terminal).await;
    let mut command = ExecutorCommand::new("i1", "hello");
    for (name, value) in [("MINE", "1"), ("CODE_MY_SPEC_SESSION_ID", "overridden")] {
        command
            .variables
            .insert(name.to_owned(), value.to_owned().into());
    }
    let result = executed(&executor, command).await;
    assert_eq!(
        result.evidence,
        Evidence::Complete,
        "a forward that fails fails nothing"
    );
    let variables = terminal.command().variables;
    let value = |name: &str| variables[name].expose_secret();
    assert!(value("CODE_MY_SPEC_CALLBACK_URL").ends_with("/hooks/i1"));
    assert_eq!(value("CODE_MY_SPEC_API_URL"), "http://127.0.0.1:9");
    assert_eq!(value("CODE_MY_SPEC_API_TOKEN"), "api-token");
    assert_eq!(value("CODE_MY_SPEC_SESSION_ID"), "overridden");
    assert_eq!(value("MINE"), "1");
}

#[tokio::test]
async fn hooks_are_merged_into_host_settings() {
    let terminal = FakeTerminal::new(|command| {
        let mut args = command.agent.args.iter();
        args.find(|arg| *arg == "--settings");
        let file = args.next();
        let stdout = std::fs::read_to_string(file.expect("settings")).expect("a file");
        succeeds(command).map(|output| TerminalOutput { stdout, ..output })
    });
    let executor = executor(&terminal).await;
    let mut command = ExecutorCommand::new("i1", "hello");
    let theirs = r#"{"model":"opus","hooks":{"SessionEnd":[{"hooks":[{"type":"command","command":"true"}]}]}}"#;
    command.options.settings = Some(AgentDocument::Json(theirs.to_owned()));
    let result = executed(&executor, command).await;
    let settings: Value = serde_json::from_str(&result.stdout).expect("JSON");
    assert_eq!(settings["model"], "opus");
    let ends = settings["hooks"]["SessionEnd"].as_array().expect("a list");
    assert_eq!(ends.len(), 2);
    assert_eq!(ends[0]["hooks"][0]["command"], "true");
    assert_eq!(ends[1]["hooks"][0]["type"], "http");
}

#[tokio::test]
async fn empty_command_succeeds_at_once() {
    let terminal = FakeTerminal::new(succeeds);
    let executor = executor(&terminal).await;
    for program in ["", "  "] {
        let mut command = ExecutorCommand::new("i1", "hello");
        command.program = program.into();
        let result = executed(&executor, command).await;
        assert_eq!((result.stdout.as_str(), result.stderr.as_str()), ("", ""));
        assert_eq!(
            (result.exit_code, result.duration),
            (Some(0), Duration::ZERO)
        );
        assert_eq!(result.evidence, Evidence::Nothing);
    }
    assert!(terminal.commands.lock().is_empty());
}

#[tokio::test]
async fn command_of_other_program_is_refused() {
    let terminal = FakeTerminal::new(succeeds);
    let executor = executor(&terminal).await;
    for program in ["ls", "/bin/sh", "claude-not", "notclaude"] {
        let mut command = ExecutorCommand::new("i1", "hello");
        command.program = program.into();
        let error = refused(&executor, command).await;
        assert!(
            matches!(error, ExecutorError::NotTheAgent { .. }),
            "{error}"
        );
        assert!(error.to_string().contains("run it in a shell session"));
    }
    assert!(terminal.commands.lock().is_empty());
}

#[tokio::test]
async fn failed_command_has_exit_code() {
    let terminal = FakeTerminal::new(|command| {
        succeeds(command).map(|output| TerminalOutput {
            exit_code: Some(7),
            ..output
        })
    });
    let executor = executor(&terminal).await;
    let result = executed(&executor, ExecutorCommand::new("i1", "hello")).await;
    assert_eq!(
        (result.exit_code, result.evidence),
        (Some(7), Evidence::Complete)
    );
}

#[tokio::test]
async fn terminal_error_is_returned() {
    let terminal = FakeTerminal::new(|_| Err(TerminalError::Host("the tab is gone".to_owned())));
    let executor = executor(&terminal).await;
    let error = refused(&executor, ExecutorCommand::new("i1", "hello")).await;
    assert!(error.to_string().contains("the tab is gone"), "{error}");
    assert!(matches!(error, ExecutorError::Terminal(_)));
    let file = terminal.command().input.expect("a prompt");
    assert!(!file.exists(), "no part of it remains");
}

#[tokio::test]
async fn hook_server_failure_is_an_error() {
    let mut configuration = ExecutorConfiguration::new("s");
    configuration.hooks.variables.token = "not a name".to_owned();
    let started = TerminalExecutor::start(configuration, FakeTerminal::new(succeeds)).await;
    let error = started.expect_err("no server");
    assert!(
        matches!(
            error,
            ExecutorError::Hooks(HookServerError::Variable { .. })
        ),
        "{error}"
    );
}

/// What a test changes about a command.
type Change = fn(&mut ExecutorCommand);

#[tokio::test]
async fn options_without_hooks_or_prompt_are_refused() {
    let executor = executor(&FakeTerminal::new(succeeds)).await;
    let changes: [(Change, &str); 6] = [
        (
            |it| it.options.mode = AgentMode::Dialogue,
            "the dialogue mode",
        ),
        (|it| it.options.bare = true, "--bare"),
        (|it| it.options.safe_mode = true, "--safe-mode"),
        (|it| it.prompt = Some(" ".to_owned().into()), "no prompt"),
        (
            |it| it.interaction = "a/b".to_owned(),
            "is not an interaction id",
        ),
        (
            |it| it.options.settings = Some(AgentDocument::File("/no/such/file".into())),
            "/no/such/file",
        ),
    ];
    for (change, wanted) in changes {
        let mut command = ExecutorCommand::new("i1", "hello");
        change(&mut command);
        let message = refused(&executor, command).await.to_string();
        assert!(message.contains(wanted), "{message} lacks {wanted}");
    }
}
