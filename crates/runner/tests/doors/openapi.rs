//! The OpenAPI document says what there is.

use std::collections::BTreeSet;

use crate::support::Served;

#[tokio::test]
async fn every_address_is_described_and_every_reference_leads_somewhere() {
    let served = Served::start().await;
    let answer = served.ask("GET", "/openapi.json", None).await;
    let document = answer.json();
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
    // Each answer has a description, as OpenAPI demands.
    let operations = paths
        .values()
        .flat_map(|it| it.as_object().unwrap().values());
    for response in operations.flat_map(|it| it["responses"].as_object().unwrap().values()) {
        assert!(response["description"].is_string(), "{response}");
    }
    let text = answer.text();
    for reference in text.split("\"$ref\":\"#/").skip(1) {
        let pointer = reference.split('"').next().unwrap();
        let found = document.pointer(&format!("/{pointer}"));
        assert!(found.is_some(), "{pointer} leads nowhere");
    }
    // What is described is there: none of it is an unknown address or method.
    for line in &expected {
        let (method, path) = line.split_once(' ').unwrap();
        let answer = served
            .ask(&method.to_uppercase(), &path.replace("{id}", "x"), None)
            .await;
        assert_ne!(answer.status, 405, "{line}");
        let is_known = answer.status != 404 || answer.code() == "SESSION_NOT_FOUND";
        assert!(is_known, "{line}: {}", answer.text());
    }
}
