//! The OpenAPI document matches the endpoints.

use std::collections::BTreeSet;

use crate::support::TestRunner;

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
            "post /api/sessions/{id}/prompt",
            "get /api/sessions/{id}/permissions",
            "post /api/sessions/{id}/permissions",
            "post /api/sessions/{id}/interrupt",
            "get /api/sessions/{id}/log",
            "get /api/sessions/{id}/transcript",
            "post /api/tickets",
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
    // Every described path and method is served.
    for line in &expected {
        let (method, path) = line.split_once(' ').unwrap();
        let response = runner
            .request(&method.to_uppercase(), &path.replace("{id}", "x"), None)
            .await;
        assert_ne!(response.status, 405, "{line}");
        let is_known = response.status != 404 || response.code() == "SESSION_NOT_FOUND";
        assert!(is_known, "{line}: {}", response.text());
    }
}
