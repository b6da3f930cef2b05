//! What a panic says. Alone in its process, because the hook that hears it is everybody's.

#[path = "dialogues/support.rs"]
mod support;

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use bowline_lifecycle::{
    AgentDocument, DialogueConfiguration, ExecutorCommand, ExecutorConfiguration, HookBackend,
    HookConfiguration, HookServer, HookVariables, PrivateFile, PtyTerminal, Secret,
    ShellConfiguration, TerminalExecutor,
};

use support::{TURN, agent, start, until, within};

/// Panics with a value, as an assertion of a host would.
fn panics_with(value: &impl Debug) {
    let caught: Result<(), _> = catch_unwind(AssertUnwindSafe(|| panic!("not {value:?}")));
    assert!(caught.is_err());
}

fn hooks() -> HookConfiguration {
    HookConfiguration {
        backend: Some(HookBackend {
            token: Some(Secret::new("HUSH-api".to_owned())),
            ..HookBackend::new("http://127.0.0.1:9", "s")
        }),
        variables: HookVariables::seed_003(),
        ..HookConfiguration::default()
    }
}

fn dialogue() -> DialogueConfiguration {
    let mut configuration = agent(TURN);
    configuration.env.set("SOME_API_KEY", "HUSH-environment");
    let file = PrivateFile::new(b"HUSH-settings").expect("a file");
    configuration.options.settings = Some(AgentDocument::Private(Arc::new(file)));
    configuration
}

fn command() -> ExecutorCommand {
    let mut command = ExecutorCommand::new("i", "HUSH-prompt");
    let secret = Secret::new("HUSH-variable".to_owned());
    command.variables.insert("HOST_VARIABLE".to_owned(), secret);
    command
}

#[tokio::test]
async fn no_panic_tells_a_secret() {
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&said);
    std::panic::set_hook(Box::new(move |panic| {
        let mut said = heard.lock().expect("nobody panics with it");
        said.push(panic.to_string());
    }));

    panics_with(&dialogue());
    panics_with(&command());
    let mut shell = ShellConfiguration::new("/");
    shell.env.set("SOME_API_KEY", "HUSH-environment");
    panics_with(&shell);

    let server = HookServer::start(hooks()).await.expect("a server");
    let token = server.token().expose().clone();
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

    let (session, mut events) = start(dialogue()).await;
    panics_with(&session);
    session
        .send(bowline_lifecycle::Prompt::text("go"))
        .await
        .expect("it lives");
    until(&mut events, "the turn", |kind| {
        matches!(kind, bowline_lifecycle::DialogueEventKind::TurnEnd { .. })
    })
    .await;
    let reader = session.clone();
    let read = tokio::spawn(async move { reader.inspect(|_| panic!("a reader's mistake")).await });
    assert!(within("a panic", read).await.is_err());
    panics_with(&within("the end", session.terminate()).await.reason);

    let _ = std::panic::take_hook();
    let said = said.lock().expect("nobody panics with it").concat();
    assert!(said.contains("a reader's mistake") && said.contains("SOME_API_KEY"));
    for secret in ["HUSH", token.as_str()] {
        assert!(!said.contains(secret), "{secret} in {said}");
    }
}
