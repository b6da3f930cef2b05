//! Members of lines that no reader of the dialect reads.

use std::collections::BTreeMap;

use bowline_runner::wire::StreamId;
use bowline_runner::{RecordingDetails, RecordingImport, StateDir};
use bowline_transport::Piece;
use bowline_transport::journal::{Arrival, Arrived};
use bytes::Bytes;
use serde_json::json;

use crate::inspection::{get, recorded};
use crate::support::TestRunner;

#[tokio::test]
async fn unknown_members_are_those_of_the_dialect() {
    let runner = TestRunner::start().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.jsonl");
    let known = "{\"type\":\"keep_alive\"}\n";
    let whole = "{\"type\":\"novelty\"}\n";
    let new =
        "{\"type\":\"result\",\"usage\":{\"input_tokens\":1,\"novelty\":2},\"session_id\":\"s\"}\n";
    std::fs::write(&path, [known, new, whole].concat()).unwrap();
    let id = recorded(&runner, &path).await;
    let base = format!("/api/sessions/{id}/unknown-members");
    let found = get(&runner, &format!("{base}?from=0")).await;
    let lines = json!([{"offset": known.len(), "members": ["/usage/novelty"]}]);
    let expected = json!({"is_checked": true, "kept_whole": 1, "lines": lines});
    assert_eq!(found, expected);
    let before = get(&runner, &format!("{base}?from=0&max={}", known.len())).await;
    let none = json!({"is_checked": true, "kept_whole": 0, "lines": []});
    assert_eq!(before, none);
    let input = get(&runner, &format!("{base}?from=0&stream=input")).await;
    assert_eq!(input, none, "nothing was written to this agent");
    let stderr = format!("{base}?from=0&stream=stderr");
    let refused = runner.request("GET", &stderr, None).await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    // The same line of another agent is not of this grammar.
    let script = format!("printf %s '{new}'");
    let spec = json!({"kind": "dialogue", "program": "/bin/sh", "args": ["-c", script], "journal": {"on": true},
        "labels": {"bowline.dialect": "gemini-stream-json"}});
    let id = runner.create(&spec).await;
    while runner.session(&id).await["state"] != "exited" {}
    let other = format!("/api/sessions/{id}/unknown-members?from=0");
    let lines = json!([{"offset": 0, "members": ["/usage", "/session_id"]}]);
    let expected = json!({"is_checked": true, "kept_whole": 0, "lines": lines});
    assert_eq!(get(&runner, &other).await, expected);
    let unchecked = json!({"is_checked": false, "kept_whole": 0, "lines": []});
    let input = get(&runner, &format!("{other}&stream=input")).await;
    assert_eq!(input, unchecked, "this agent has no input");
}

#[tokio::test]
async fn unknown_members_of_both_directions_are_listed() {
    let runner = TestRunner::start().await;
    let state = StateDir::at(runner.token_folder().join("s")).unwrap();
    let mut import = RecordingImport::begin(&state).unwrap();
    let update = json!({"sessionUpdate": "plan", "entries": [], "novelty": 1});
    let update =
        json!({"method": "session/update", "params": {"sessionId": "s", "update": update}});
    let prompt = json!({"sessionId": "s", "prompt": [], "novelty": 2});
    let prompt = json!({"id": 1, "method": "session/prompt", "params": prompt});
    for (stream, line, arrival) in [
        (StreamId::INPUT, prompt, Arrival::at(1_000).beside(0)),
        (StreamId::STDOUT, update, Arrival::at(2_000)),
    ] {
        let bytes = Bytes::from(format!("{line}\n"));
        let piece = Piece::Bytes { offset: 0, bytes };
        import.push(stream, Arrived { arrival, piece }).unwrap();
    }
    let details = RecordingDetails {
        labels: BTreeMap::from([("bowline.dialect".to_owned(), "acp".to_owned())]),
        ..RecordingDetails::default()
    };
    let id = import.finish(details).unwrap();
    let base = format!("/api/sessions/{id}/unknown-members?from=0");
    for (query, member) in [
        ("", "/params/update/novelty"),
        ("&stream=input", "/params/novelty"),
    ] {
        let lines = json!([{"offset": 0, "members": [member]}]);
        let expected = json!({"is_checked": true, "kept_whole": 0, "lines": lines});
        let found = get(&runner, &format!("{base}{query}")).await;
        assert_eq!(found, expected, "{query}");
    }
}
