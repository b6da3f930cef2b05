//! Tokens and payloads are in no log and no response.

use std::sync::Mutex;
use std::time::Duration;

use bowline_hooks::{HookBackend, HookConfiguration, HookGate, HookKind, HookReply, HookServer};
use secrecy::{ExposeSecret as _, SecretString};

use crate::support::{Hook, within};

#[tokio::test(flavor = "current_thread")]
async fn secrets_are_not_logged() {
    let log = tempfile::NamedTempFile::new().expect("a file for the log");
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(Mutex::new(log.reopen().expect("the file opens again")))
        .finish();
    // Global: the events of other tests are logged here, too.
    tracing::subscriber::set_global_default(subscriber).expect("the first subscriber");
    let configuration = HookConfiguration {
        gate: Some(HookGate {
            kinds: vec![HookKind::PreToolUse],
            deadline: Duration::from_millis(1),
            default: HookReply::deny("no host"),
        }),
        backend: Some(HookBackend {
            token: Some(SecretString::from("canary-api")),
            attempts: 1,
            ..HookBackend::new("http://127.0.0.1:9", "s")
        }),
        ..HookConfiguration::default()
    };
    let server = HookServer::start(configuration).await.expect("a server");
    let token = server.token().expose_secret().to_owned();
    let shown = format!("{server:?}");
    let hook = Hook::of(&server, "i");
    let mut answers = Vec::new();
    for (event, status) in [
        (
            r#"{"hook_event_name":"UserPromptSubmit","prompt":"canary-prompt"}"#,
            200,
        ),
        (
            r#"{"hook_event_name":"PreToolUse","tool_use_id":"t","tool_input":"canary-input"}"#,
            200,
        ),
        ("canary-junk", 400),
    ] {
        answers.push(hook.post(event).await);
        assert_eq!(answers.last().expect("an answer").0, status);
    }
    answers.push(hook.with_token("canary-guess").post("{}").await);
    assert_eq!(answers.last().expect("an answer").0, 401);
    // The responses are shown to the model and the user.
    let answers = format!("{answers:?}");
    within("a stop", server.stop()).await;
    let text = std::fs::read_to_string(log.path()).expect("a log in UTF-8");
    for event in [
        "hook{bowline.hook.kind=\"UserPromptSubmit\"",
        "hook request rejected",
        "using the gate's default",
        "hook not forwarded",
    ] {
        assert!(text.contains(event), "{event} was not logged: {text}");
    }
    for secret in [token.as_str(), "canary"] {
        assert!(!text.contains(secret), "{secret} was logged: {text}");
        assert!(!shown.contains(secret), "{secret} is shown: {shown}");
        assert!(!answers.contains(secret), "{secret} is answered: {answers}");
    }
}
