//! What a panic says. Alone in its process, since the panic hook is shared by all threads.

#[path = "dialogues/support.rs"]
mod support;

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use bowline_lifecycle::{
    AgentDocument, DialogueConfiguration, DialogueEventKind, PrivateFile, Prompt,
};

use support::{TURN, agent, start, until, within};

/// Panics with a value, as an assertion of a host would.
fn panics_with(value: &impl Debug) {
    let caught: Result<(), _> = catch_unwind(AssertUnwindSafe(|| panic!("not {value:?}")));
    assert!(caught.is_err());
}

fn dialogue() -> DialogueConfiguration {
    let mut configuration = agent(TURN);
    configuration.env.set("SOME_API_KEY", "HUSH-environment");
    let file = PrivateFile::new(b"HUSH-settings").expect("a file");
    configuration.options.settings = Some(AgentDocument::Private(Arc::new(file)));
    configuration
}

#[tokio::test]
async fn panic_messages_contain_no_secret() {
    let messages = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&messages);
    std::panic::set_hook(Box::new(move |panic| {
        let mut messages = seen.lock().expect("no thread panics with it");
        messages.push(panic.to_string());
    }));

    panics_with(&dialogue());
    let (session, mut events) = start(dialogue()).await;
    panics_with(&session);
    session.send(Prompt::text("go")).await.expect("it runs");
    until(&mut events, "the turn", |kind| {
        matches!(kind, DialogueEventKind::TurnEnd { .. })
    })
    .await;
    let reader = session.clone();
    let read = tokio::spawn(async move { reader.inspect(|_| panic!("a reader's mistake")).await });
    assert!(within("a panic", read).await.is_err());
    panics_with(&within("the end", session.terminate()).await.reason);

    let _ = std::panic::take_hook();
    let messages = messages.lock().expect("no thread panics with it").concat();
    assert!(messages.contains("a reader's mistake") && messages.contains("SOME_API_KEY"));
    assert!(!messages.contains("HUSH"), "{messages}");
}
