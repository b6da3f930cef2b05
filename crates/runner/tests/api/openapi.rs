//! The OpenAPI document matches the endpoints.

use std::collections::BTreeSet;

use serde_json::json;

use crate::support::{TestRunner, check_described};

#[tokio::test]
async fn document_describes_every_endpoint() {
    let runner = TestRunner::start().await;
    let response = runner.request("GET", "/openapi.json", None).await;
    let document = response.json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let paths = document["paths"].as_object().unwrap();
    let described: BTreeSet<_> = paths
        .iter()
        .flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().keys();
            methods.map(move |method| format!("{method} {path}"))
        })
        .collect();
    let expected = BTreeSet::from(
        [
            "post /api/sessions",
            "get /api/sessions",
            "get /api/sessions/{id}",
            "delete /api/sessions/{id}",
            "post /api/sessions/{id}/restart",
            "post /api/sessions/{id}/restore",
            "post /api/sessions/{id}/prompt",
            "get /api/sessions/{id}/permissions",
            "post /api/sessions/{id}/permissions",
            "post /api/sessions/{id}/interrupt",
            "post /api/sessions/{id}/options",
            "get /api/sessions/{id}/queue",
            "patch /api/sessions/{id}/queue/{prompt}",
            "delete /api/sessions/{id}/queue/{prompt}",
            "get /api/sessions/{id}/log",
            "get /api/sessions/{id}/transcript",
            "get /api/sessions/{id}/changes",
            "get /api/sessions/{id}/lines",
            "get /api/sessions/{id}/timeline",
            "get /api/sessions/{id}/unknown-members",
            "get /api/sessions/{id}/search",
            "get /api/sessions/{id}/events",
            "get /api/events",
            "get /api/permissions",
            "get /api/history",
            "get /api/history/{conversation}",
            "get /api/history/{conversation}/transcript",
            "get /api/agents",
            "get /api/folders",
            "post /api/tickets",
            "post /api/login-links",
            "get /api/sessions/{id}/arrivals",
            "get /api/sessions/{id}/scrollback",
            "get /api/sessions/{id}/screen",
            "get /api/sessions/{id}/attach",
            "get /api/panel",
            "get /acp",
            "patch /api/sessions/{id}",
            "get /healthz",
            "get /readyz",
            "get /metrics",
        ]
        .map(str::to_owned),
    );
    assert_eq!(described, expected);
    // OpenAPI requires a description for each response.
    let operations = paths
        .values()
        .flat_map(|it| it.as_object().unwrap().values());
    for response in operations.flat_map(|it| it["responses"].as_object().unwrap().values()) {
        assert!(response["description"].is_string(), "{response}");
    }
    let text = response.text();
    for reference in text.split("\"$ref\":\"#/").skip(1) {
        let pointer = reference.split('"').next().unwrap();
        let found = document.pointer(&format!("/{pointer}"));
        assert!(found.is_some(), "{pointer} does not resolve");
    }
    for line in &expected {
        check_served(&runner, line).await;
    }
}

/// Checks that a described path and method is served.
async fn check_served(runner: &TestRunner, line: &str) {
    let (method, path) = line.split_once(' ').unwrap();
    if path == "/api/events" {
        // Its response does not end.
        return;
    }
    let path = path.replace("{id}", "x").replace("{conversation}", "x");
    let path = path.replace("{prompt}", "x");
    let response = runner.request(&method.to_uppercase(), &path, None).await;
    assert_ne!(response.status, 405, "{line}");
    let known = ["SESSION_NOT_FOUND", "CONVERSATION_NOT_FOUND"];
    let is_known = response.status != 404 || known.contains(&response.code().as_str());
    assert!(is_known, "{line}: {}", response.text());
}

#[tokio::test]
async fn document_describes_the_headers_of_attaches() {
    let runner = TestRunner::start().await;
    let document = runner.request("GET", "/openapi.json", None).await.json();
    let responses = &document["paths"]["/api/sessions/{id}/attach"]["get"]["responses"];
    for status in ["101", "429", "default"] {
        let headers = responses[status]["headers"].as_object().unwrap();
        for name in ["RateLimit-Policy", "RateLimit"] {
            assert!(headers.contains_key(name), "{status} has no {name}");
        }
    }
    assert!(responses["429"]["headers"]["Retry-After"].is_object());
}

/// A dialogue with a message, a tool call, a permission request, a plan, a result and a sub-agent.
const LINES: &str = r#"{"type":"system","subtype":"init","session_id":"s","model":"m","cwd":"/p","claude_code_version":"2.1.300","slash_commands":["compact"],"uuid":"0"}
{"type":"assistant","uuid":"1","session_id":"s","message":{"id":"m1","role":"assistant","model":"m","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"t1","name":"Edit","input":{"file_path":"/p/a","old_string":"a","new_string":"b"}},{"type":"tool_use","id":"t2","name":"Task","input":{"description":"d","prompt":"p","subagent_type":"general-purpose"}},{"type":"tool_use","id":"t3","name":"TodoWrite","input":{"todos":[{"content":"c","status":"pending","activeForm":"c"}]}},{"type":"tool_use","id":"t4","name":"Bash","input":{"command":"ls"}}]}}
{"type":"assistant","uuid":"2","session_id":"s","parent_tool_use_id":"t2","message":{"id":"m2","role":"assistant","model":"m","content":[{"type":"text","text":"b"}]}}
{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"t4"}}
{"type":"user","uuid":"3","session_id":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"done"}]}}
{"type":"rate_limit_event","uuid":"4","session_id":"s","rate_limit_info":{"status":"allowed","rateLimitType":"five_hour","resetsAt":1795411479,"utilization":0.5}}
{"type":"result","subtype":"success","is_error":false,"result":"a","num_turns":1,"duration_ms":5,"total_cost_usd":0.5,"modelUsage":{"m":{"inputTokens":1,"outputTokens":2}},"uuid":"5","session_id":"s"}
"#;

#[tokio::test]
async fn document_describes_both_schemas_of_transcript() {
    let runner = TestRunner::start().await;
    let document = runner.request("GET", "/openapi.json", None).await.json();
    let script = format!("cat <<'END'\n{LINES}END\nread x");
    let spec = json!({"kind": "dialogue", "program": "/bin/sh", "args": ["-c", script]});
    let id = runner.create(&spec).await;
    let path = format!("/api/sessions/{id}/transcript");
    let newest = loop {
        let transcript = runner.request("GET", &path, None).await.json();
        if transcript["usage"]["cost_usd"] == 0.5 {
            break transcript;
        }
    };
    assert_eq!(newest["schema"], 2);
    assert_eq!(newest["tool_calls"]["t1"]["content"][0]["type"], "diff");
    for (number, is_newest) in [(1, false), (2, true)] {
        let path = format!("{path}?schema={number}");
        let transcript = runner.request("GET", &path, None).await.json();
        assert_eq!(transcript["schema"], number);
        assert_eq!(transcript == newest, is_newest);
        let schema = &document["components"]["schemas"]["Transcript"];
        check_described(&document, schema, &transcript, "transcript");
    }
    let path = format!("{path}?schema=3");
    let unknown = runner.request("GET", &path, None).await;
    assert_eq!(unknown.status, 400, "{}", unknown.text());
}

#[tokio::test]
async fn examples_match_their_schemas() {
    let runner = TestRunner::start().await;
    let document = runner.request("GET", "/openapi.json", None).await.json();
    let script = format!("cat <<'END'\n{LINES}END\n");
    let spec = json!({"kind": "dialogue", "program": "/bin/sh", "args": ["-c", script], "journal": {"on": true}});
    let id = runner.create(&spec).await;
    while runner.session(&id).await["state"] != "exited" {}
    for (path, query) in [
        ("changes", ""),
        ("lines", ""),
        ("timeline", ""),
        ("unknown-members", "?from=0"),
        ("search", "?q=a"),
    ] {
        let at = format!(
            "/paths/~1api~1sessions~1{{id}}~1{path}/get/responses/200/content/application~1json"
        );
        let content = document.pointer(&at).unwrap();
        let answer = format!("/api/sessions/{id}/{path}{query}");
        let answer = runner.request("GET", &answer, None).await.json();
        for value in [&content["example"], &answer] {
            check_described(&document, &content["schema"], value, path);
        }
    }
}
