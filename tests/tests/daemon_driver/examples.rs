//! The examples of the OpenAPI document, one of each operation, carried out with curl.

use std::collections::BTreeMap;
use std::process::Stdio;

use bowline_tests::session::within;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::rig::Daemon;

/// What changes the session so that others are refused, in this order at the end.
const LAST: [&str; 5] = [
    "answerPermission",
    "interrupt",
    "restartSession",
    "endSession",
    "restoreSession",
];

/// Those that are upgraded.
const WEB_SOCKETS: [&str; 3] = ["attach", "panel", "editor"];

#[tokio::test(flavor = "multi_thread")]
async fn example_of_each_operation_succeeds() {
    let daemon = Daemon::start().await;
    let id = daemon.agent("claude", json!({"prompt": "/ask rm"})).await;
    let request = daemon.open_permission(&id).await;
    let mut variables = BTreeMap::from([
        ("SOCKET", daemon.socket().to_string_lossy().into_owned()),
        ("SESSION", id.clone()),
        (
            "REQUEST",
            request["request_id"].as_str().expect("an id").to_owned(),
        ),
        (
            "CONVERSATION",
            "c0ffee00-0000-4000-8000-00000000000c".to_owned(),
        ),
    ]);
    let shell = json!({"cwd": "/tmp"});
    let (_, created) = daemon.request("POST", "/api/sessions", Some(&shell)).await;
    variables.insert(
        "TERMINAL",
        created["id"].as_str().expect("an id").to_owned(),
    );
    for name in ["PROMPT", "OTHER"] {
        let sent = daemon
            .post(&id, "prompt", &json!({"text": "next", "queue": true}))
            .await;
        let prompt = sent.1["id"].as_str().expect("an id").to_owned();
        variables.insert(name, prompt);
    }
    let document: Value = serde_json::from_str(&daemon.get("/openapi.json").await).expect("JSON");
    let paths = document["paths"].as_object().expect("paths").values();
    let operations = paths.flat_map(|it| it.as_object().expect("operations").values());
    let mut operations: Vec<_> = operations.collect();
    let place = |it: &Value| LAST.iter().position(|last| it["operationId"] == *last);
    operations.sort_by_key(|it| place(it));
    for operation in operations {
        let name = operation["operationId"].as_str().expect("an id");
        let source = operation["x-codeSamples"][0]["source"].as_str();
        let source = source.unwrap_or_else(|| panic!("{name} has no example"));
        let mut command = Command::new("bash");
        command
            .args(["-c", source])
            .envs(&variables)
            .stdin(Stdio::null());
        let run = command.kill_on_drop(true).output();
        let output = within("an example", run).await.expect("bash runs");
        let text = String::from_utf8_lossy(&output.stdout);
        // There is no such conversation where this runs.
        let is_known = name.starts_with("past") && text.contains("CONVERSATION_NOT_FOUND");
        assert!(
            output.status.success() || is_known,
            "{name}: {source}\n{text}"
        );
        assert!(!text.is_empty(), "{name}");
        if WEB_SOCKETS.contains(&name) {
            assert_eq!(text.trim(), "HTTP/1.1 101 Switching Protocols", "{name}");
        }
    }
}
