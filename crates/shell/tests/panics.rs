//! What a panic says. Alone in its process, since the panic hook is shared by all threads.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use bowline_hooks::{HookBackend, HookConfiguration, HookServer, HookVariables};
use bowline_shell::{
    ExecutorCommand, ExecutorConfiguration, PtyTerminal, ShellConfiguration, TerminalExecutor,
};
use secrecy::ExposeSecret as _;

/// Panics with a value, as an assertion of a host would.
fn panics_with(value: &impl Debug) {
    let caught: Result<(), _> = catch_unwind(AssertUnwindSafe(|| panic!("not {value:?}")));
    assert!(caught.is_err());
}

fn hooks() -> HookConfiguration {
    HookConfiguration {
        backend: Some(HookBackend {
            token: Some("HUSH-api".into()),
            ..HookBackend::new("http://127.0.0.1:9", "s")
        }),
        variables: HookVariables::legacy_names(),
        ..HookConfiguration::default()
    }
}

fn command() -> ExecutorCommand {
    let mut command = ExecutorCommand::new("i", "HUSH-prompt");
    let (name, value) = ("HOST_VARIABLE".to_owned(), "HUSH-variable".into());
    command.variables.insert(name, value);
    command
}

#[tokio::test]
async fn panic_messages_contain_no_secret() {
    let messages = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&messages);
    std::panic::set_hook(Box::new(move |panic| {
        let mut messages = seen.lock().expect("no thread panics with it");
        messages.push(panic.to_string());
    }));

    panics_with(&command());
    let mut shell = ShellConfiguration::new("/");
    shell.env.set("SOME_API_KEY", "HUSH-environment");
    panics_with(&shell);

    let server = HookServer::start(hooks()).await.expect("a server");
    let token = server.token().expose_secret().to_owned();
    panics_with(&server);
    panics_with(&hooks());
    panics_with(&server.environment("i").expect("variables"));
    panics_with(&server.settings("i").expect("settings"));

    let mut configuration = ExecutorConfiguration::new("s");
    configuration.env.set("SOME_API_KEY", "HUSH-environment");
    configuration.hooks = hooks();
    let terminal = Arc::new(PtyTerminal::default());
    let executor = TerminalExecutor::start(configuration, terminal).await;
    let executor = executor.expect("an executor");
    panics_with(&executor);
    let refused = executor
        .execute(ExecutorCommand {
            program: "not-the-agent".into(),
            ..command()
        })
        .await;
    panics_with(&refused.expect_err("another program"));

    let _ = std::panic::take_hook();
    let messages = messages.lock().expect("no thread panics with it").concat();
    assert!(messages.contains("SOME_API_KEY"));
    for secret in ["HUSH", token.as_str()] {
        assert!(!messages.contains(secret), "{secret} in {messages}");
    }
}
