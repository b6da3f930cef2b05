//! Payloads recorded from a real agent.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use bowline_hooks::{HookConfiguration, HookKind, HookPayload, HookServer};
use serde_json::Value;

use crate::support::{Hook, next};

#[tokio::test]
async fn recorded_payload_is_parsed_and_kept_raw() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/hooks");
    let server = HookServer::start(HookConfiguration::default())
        .await
        .expect("a server");
    let (hook, mut events) = (Hook::of(&server, "i"), server.subscribe());
    let mut kinds = BTreeSet::new();
    for file in fs::read_dir(folder).expect("recorded hooks") {
        let path = file.expect("a file").path();
        let body = fs::read_to_string(&path).expect("a recorded hook");
        let payload: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!(hook.post(&body).await.0, 200);
        let event = next(&mut events).await;
        assert_eq!(
            event.kind.name(),
            payload["hook_event_name"],
            "{}",
            path.display()
        );
        assert_ne!(event.payload, HookPayload::Other, "{}", path.display());
        assert_eq!(event.session_id.as_deref(), payload["session_id"].as_str());
        assert_eq!(event.raw(), body.trim());
        kinds.insert(event.kind.name().to_owned());
    }
    assert_eq!(kinds.len(), 11, "{kinds:?}");
}

#[tokio::test]
async fn unknown_event_is_passed_through() {
    let server = HookServer::start(HookConfiguration::default())
        .await
        .expect("a server");
    let (hook, mut events) = (Hook::of(&server, "i"), server.subscribe());
    hook.post(r#"{"hook_event_name":"MoonRise","phase":"full"}"#)
        .await;
    let event = next(&mut events).await;
    assert_eq!(event.kind, HookKind::Other("MoonRise".to_owned()));
    assert!(event.raw().contains("full"));
}
