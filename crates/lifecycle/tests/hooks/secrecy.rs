//! The token and what hooks bring are in no log and no error.

use std::time::Duration;

use bowline_lifecycle::{
    HookBackend, HookConfiguration, HookGate, HookKind, HookReply, HookServer, Secret,
};

use crate::log::Log;
use crate::support::{Hook, within};

#[tokio::test(flavor = "current_thread")]
async fn no_secret_is_logged() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(log.clone())
        .finish();
    // The only one of this program: what the other tests log comes here, too.
    tracing::subscriber::set_global_default(subscriber).expect("the first subscriber");
    let configuration = HookConfiguration {
        gate: Some(HookGate {
            kinds: vec![HookKind::PreToolUse],
            deadline: Duration::from_millis(1),
            default: HookReply::deny("nobody"),
        }),
        backend: Some(HookBackend {
            token: Some(Secret::new("canary-api".to_owned())),
            attempts: 1,
            ..HookBackend::new("http://127.0.0.1:9", "s")
        }),
        ..HookConfiguration::default()
    };
    let server = HookServer::start(configuration).await.expect("a server");
    let token = server.token().expose().clone();
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
    // What hooks print is what the model and the person see.
    let answers = format!("{answers:?}");
    within("a stop", server.stop()).await;
    let text = log.text();
    for event in [
        "hook kind=\"UserPromptSubmit\"",
        "turned away",
        "the default counts",
        "not forwarded",
    ] {
        assert!(text.contains(event), "{event} was not logged: {text}");
    }
    for secret in [token.as_str(), "canary"] {
        assert!(!text.contains(secret), "{secret} was logged: {text}");
        assert!(!shown.contains(secret), "{secret} is shown: {shown}");
        assert!(!answers.contains(secret), "{secret} is answered: {answers}");
    }
}
