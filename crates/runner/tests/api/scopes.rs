//! Named tokens: what each scope permits, on every route of the API.

use std::collections::BTreeSet;

use bowline_runner::wire::{Lease, Message};
use bowline_runner::{NamedTokens, TokenScope};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{Frames, TestResponse, TestRunner, request, within_limit};

/// The scope that each route needs.
const ROUTES: [(&str, TokenScope); 41] = [
    ("get /api/sessions", TokenScope::Look),
    ("get /api/sessions/{id}", TokenScope::Look),
    ("get /api/sessions/{id}/permissions", TokenScope::Look),
    ("get /api/sessions/{id}/queue", TokenScope::Look),
    ("patch /api/sessions/{id}/queue/{prompt}", TokenScope::Write),
    (
        "delete /api/sessions/{id}/queue/{prompt}",
        TokenScope::Write,
    ),
    ("get /api/sessions/{id}/log", TokenScope::Look),
    ("get /api/sessions/{id}/changes", TokenScope::Look),
    ("get /api/sessions/{id}/lines", TokenScope::Look),
    ("get /api/sessions/{id}/timeline", TokenScope::Look),
    ("get /api/sessions/{id}/unknown-members", TokenScope::Look),
    ("get /api/sessions/{id}/search", TokenScope::Look),
    ("get /api/sessions/{id}/transcript", TokenScope::Look),
    ("get /api/sessions/{id}/events", TokenScope::Look),
    ("get /api/sessions/{id}/arrivals", TokenScope::Look),
    ("get /api/sessions/{id}/scrollback", TokenScope::Look),
    ("get /api/sessions/{id}/screen", TokenScope::Look),
    ("patch /api/sessions/{id}", TokenScope::Own),
    ("post /api/login-links", TokenScope::Own),
    ("get /api/events", TokenScope::Look),
    ("get /api/permissions", TokenScope::Look),
    ("get /api/history", TokenScope::Look),
    ("get /api/history/{conversation}", TokenScope::Look),
    (
        "get /api/history/{conversation}/transcript",
        TokenScope::Look,
    ),
    ("get /healthz", TokenScope::Look),
    ("get /readyz", TokenScope::Look),
    ("get /metrics", TokenScope::Look),
    ("post /api/sessions/{id}/permissions", TokenScope::Answer),
    ("post /api/sessions/{id}/prompt", TokenScope::Write),
    ("post /api/sessions/{id}/interrupt", TokenScope::Write),
    ("post /api/sessions/{id}/options", TokenScope::Write),
    ("post /api/sessions", TokenScope::Own),
    ("delete /api/sessions/{id}", TokenScope::Own),
    ("post /api/sessions/{id}/restart", TokenScope::Own),
    ("post /api/sessions/{id}/restore", TokenScope::Own),
    ("get /api/agents", TokenScope::Look),
    ("get /api/folders", TokenScope::Own),
    ("post /api/tickets", TokenScope::Own),
    ("get /api/sessions/{id}/attach", TokenScope::Look),
    ("get /api/panel", TokenScope::Own),
    ("get /acp", TokenScope::Own),
];

async fn send(runner: &TestRunner, secret: &str, route: &str) -> TestResponse {
    let (method, path) = route.split_once(' ').unwrap();
    // No such session: what is permitted does nothing, and a stream is refused by its parameter.
    let path = path.replace("{id}", "x").replace("{conversation}", "x");
    let path = path.replace("{prompt}", "x");
    let path = match path.as_str() {
        "/api/events" => "/api/events?types=none",
        path => path,
    };
    let bearer = format!("Bearer {secret}");
    let headers = [("Authorization", bearer.as_str())];
    let body = (method == "post").then(|| json!({"program": 1}));
    let method = method.to_uppercase();
    request(runner.address(), &method, path, &headers, body.as_ref()).await
}

#[tokio::test]
async fn each_scope_permits_its_routes() {
    let runner = TestRunner::start().await;
    let tokens = NamedTokens::at(runner.token_folder().join("tokens"));
    let document = runner.request("GET", "/openapi.json", None).await.json();
    let paths = document["paths"].as_object().unwrap();
    let described: BTreeSet<_> = paths
        .iter()
        .flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().keys();
            methods.map(move |method| format!("{method} {path}"))
        })
        .collect();
    let listed: BTreeSet<_> = ROUTES
        .iter()
        .map(|(route, _)| (*route).to_owned())
        .collect();
    assert_eq!(listed, described, "every route needs a scope");
    for scope in TokenScope::ALL {
        let secret = tokens.add(scope.name(), scope, 0).unwrap();
        for (route, needs) in ROUTES {
            let response = send(&runner, &secret, route).await;
            let is_refused = response.status == 403 && response.code() == "SCOPE_REFUSED";
            assert_eq!(
                is_refused,
                scope < needs,
                "{scope} at {route}: {}",
                response.text()
            );
            assert_ne!(response.status, 401, "{scope} at {route}");
            if is_refused {
                let detail = response.json()["detail"].as_str().unwrap().to_owned();
                assert!(detail.contains(needs.name()), "{detail}");
            }
        }
        tokens.remove(scope.name()).unwrap();
        let refused = send(&runner, &secret, "get /api/sessions").await;
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (401, "TOKEN_WRONG"),
            "{scope}"
        );
    }
}

#[tokio::test]
async fn events_end_with_their_token() {
    let runner = TestRunner::start().await;
    let tokens = NamedTokens::at(runner.token_folder().join("tokens"));
    let secret = tokens.add("board", TokenScope::Look, 0).unwrap();
    let mut stream = TcpStream::connect(runner.address()).await.unwrap();
    let host = runner.address();
    let head = format!(
        "GET /api/events HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {secret}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let first = runner.shell("sleep 1000").await;
    let mut text = Vec::new();
    while !String::from_utf8_lossy(&text).contains(&first) {
        within_limit("an event", stream.read_buf(&mut text))
            .await
            .unwrap();
    }
    tokens.remove("board").unwrap();
    let second = runner.shell("sleep 1000").await;
    within_limit("the end", stream.read_to_end(&mut text))
        .await
        .unwrap();
    assert!(!String::from_utf8_lossy(&text).contains(&second));
}

#[tokio::test]
async fn attach_has_the_lease_of_the_scope_and_ends_nothing() {
    let runner = TestRunner::start().await;
    let tokens = NamedTokens::at(runner.token_folder().join("tokens"));
    let id = runner.shell("sleep 1000").await;
    for scope in TokenScope::ALL {
        let secret = tokens.add(scope.name(), scope, 0).unwrap();
        for lease in [Lease::Read, Lease::Append, Lease::Write] {
            let mut frames = Frames::open(&runner, &id, &secret).await.unwrap();
            let is_permitted = lease == Lease::Read || scope >= TokenScope::Write;
            let joined = frames.join(&id, lease).await;
            assert_eq!(joined.is_ok(), is_permitted, "{scope}, {lease:?}");
        }
    }
    let secret = tokens.add("another", TokenScope::Write, 0).unwrap();
    let mut frames = Frames::open(&runner, &id, &secret).await.unwrap();
    frames.join(&id, Lease::Write).await.unwrap();
    let policy = bowline_transport::TerminationPolicy::AT_ONCE;
    let id_of_kill = "kill".to_owned();
    frames
        .send(Message::Kill {
            id: id_of_kill,
            policy,
        })
        .await;
    let reason = frames.closed().await;
    assert!(reason.contains("does not permit to end"), "{reason}");
    assert_eq!(runner.session(&id).await["state"], "running");
}
