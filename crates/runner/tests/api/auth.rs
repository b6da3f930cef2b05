//! Authentication: unauthenticated requests receive nothing.

use bowline_runner::{NamedTokens, TokenScope};
use futures_util::future::join_all;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};

use crate::support::{ORIGIN, TestRunner, request, within_limit};

/// The endpoints, including the upgrades.
const PATHS: [(&str, &str); 15] = [
    ("GET", "/api/sessions"),
    ("POST", "/api/sessions"),
    ("GET", "/api/sessions/ID"),
    ("DELETE", "/api/sessions/ID"),
    ("POST", "/api/sessions/ID/restore"),
    ("GET", "/api/sessions/ID/log"),
    ("GET", "/api/sessions/ID/transcript"),
    ("GET", "/api/sessions/ID/attach"),
    ("GET", "/api/panel"),
    ("GET", "/acp"),
    ("POST", "/bowline.runner.v1.Runner/Attach"),
    ("GET", "/openapi.json"),
    ("GET", "/metrics"),
    ("GET", "/healthz"),
    ("GET", "/nothing/there"),
];

/// The headers of an upgrade.
const UPGRADE: [(&str, &str); 4] = [
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

/// Requests that must be refused: their headers besides the upgrade, and the status.
fn refused_requests(token: &str) -> Vec<(Vec<(&'static str, String)>, u16)> {
    let bearer = ("Authorization", format!("Bearer {token}"));
    let terminal = ("Origin", ORIGIN.to_owned());
    let wrong = ("Authorization", format!("Bearer {token}x"));
    let host = |host: &str| ("Host", host.to_owned());
    let origin = |origin: &str| ("Origin", origin.to_owned());
    let site = |site: &str| ("Sec-Fetch-Site", site.to_owned());
    let mut requests = vec![
        (vec![], 401),
        (vec![terminal.clone()], 401),
        (vec![wrong.clone()], 401),
        (vec![wrong, terminal.clone()], 401),
        (vec![("Authorization", format!("Basic {token}"))], 401),
        (vec![("Cookie", format!("token={token}"))], 401),
        (
            vec![
                ("Sec-WebSocket-Protocol", format!("tok.{token}")),
                terminal.clone(),
            ],
            401,
        ),
        (
            vec![
                ("Sec-WebSocket-Protocol", "bowline.panel.v1".to_owned()),
                terminal,
            ],
            401,
        ),
    ];
    for name in [
        "attacker.example",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost",
        "localhost.attacker.example",
        "[::1]:1",
        "0.0.0.0",
    ] {
        requests.push((vec![bearer.clone(), host(name)], 403));
    }
    for page in [
        "null",
        "https://attacker.example",
        "chrome-extension://",
        "http://127.0.0.1",
    ] {
        requests.push((vec![bearer.clone(), origin(page)], 403));
    }
    requests.push((vec![bearer.clone(), origin(&format!("{ORIGIN}x"))], 403));
    requests.push((vec![bearer.clone(), site("cross-site")], 403));
    requests.push((vec![bearer, site("same-site")], 403));
    requests
}

#[tokio::test]
async fn unauthenticated_requests_and_upgrades_are_refused() {
    let mut cases = 0;
    for (method, path) in PATHS {
        // A new runner each, so that no response is delayed by the rate limit.
        let runner = TestRunner::start().await;
        let id = runner.shell("echo secret; read x").await;
        let path = path.replace("ID", &id);
        for (shown, status) in refused_requests(runner.token()) {
            let shown = shown.iter().map(|(name, value)| (*name, value.as_str()));
            let headers: Vec<_> = UPGRADE.into_iter().chain(shown).collect();
            let headers: Vec<_> = match ["attach", "panel", "acp"]
                .iter()
                .any(|it| path.ends_with(it))
            {
                true => headers,
                false => headers[UPGRADE.len()..].to_vec(),
            };
            let response = request(runner.address(), method, &path, &headers, None).await;
            assert_eq!(response.status, status, "{method} {path} {headers:?}");
            let text = response.text();
            assert!(
                response.code().contains('_') && !text.contains(&id),
                "{text}"
            );
            assert!(
                !text.contains(runner.token()) && !text.contains("secret"),
                "{text}"
            );
            cases += 1;
        }
    }
    assert!(cases >= 40 * 7, "{cases} cases");
}

#[tokio::test]
async fn each_refusal_has_its_code_and_sentence() {
    let runner = TestRunner::start().await;
    let bearer = ("Authorization", format!("Bearer {}", runner.token()));
    let tokens = NamedTokens::at(runner.token_folder().join("tokens"));
    let look = tokens.add("viewer", TokenScope::Look, 0).unwrap();
    let with = |name, value: &str| vec![bearer.clone(), (name, value.to_owned())];
    let cases = [
        (
            with("Host", "attacker.example"),
            (403, "HOST_REFUSED"),
            "the host name is not allowed",
        ),
        (
            with("Origin", "https://attacker.example"),
            (403, "ORIGIN_REFUSED"),
            "the origin is not allowed",
        ),
        (
            with("Sec-Fetch-Site", "cross-site"),
            (403, "SITE_REFUSED"),
            "the request comes from a page of another site",
        ),
        (vec![], (401, "TOKEN_MISSING"), "no token"),
        (
            vec![("Authorization", "Bearer wrong".to_owned())],
            (401, "TOKEN_WRONG"),
            "the token is wrong",
        ),
        (
            vec![("Authorization", format!("Bearer {look}"))],
            (403, "SCOPE_REFUSED"),
            "the token viewer has the scope look; this needs own",
        ),
    ];
    for (headers, (status, code), detail) in cases {
        let shown = headers.iter().map(|(name, value)| (*name, value.as_str()));
        let headers: Vec<_> = shown.collect();
        let body = json!({"cwd": "/tmp"});
        let refused = request(
            runner.address(),
            "POST",
            "/api/sessions",
            &headers,
            Some(&body),
        );
        let refused = refused.await;
        let problem = refused.json();
        assert_eq!((refused.status, refused.code().as_str()), (status, code));
        assert_eq!(problem["detail"], detail, "{code}");
        assert_eq!(problem["type"], format!("urn:bowline:problem:{code}"));
        let next = problem["next"].as_str().unwrap();
        assert!(!next.is_empty(), "{code} has no remedy");
    }
}

#[tokio::test]
async fn owner_is_accepted() {
    let runner = TestRunner::start().await;
    assert_eq!(runner.request("GET", "/healthz", None).await.status, 200);
    assert_eq!(runner.request("GET", "/readyz", None).await.status, 200);
    let metrics = runner.request("GET", "/metrics", None).await.text();
    assert!(metrics.contains("bowline_requests_total 3"), "{metrics}");
    let response = runner.request("GET", "/nothing/there", None).await;
    assert_eq!(
        (response.status, response.code().as_str()),
        (404, "NOT_FOUND")
    );
    let response = runner.request("PUT", "/api/sessions", None).await;
    assert_eq!(
        (response.status, response.code().as_str()),
        (405, "METHOD_NOT_ALLOWED")
    );
}

#[tokio::test]
async fn ticket_permits_only_attach_to_its_session() {
    let runner = TestRunner::start().await;
    let id = runner.shell("read x").await;
    let other = runner.shell("read x").await;
    for path in [
        "/api/sessions".to_owned(),
        format!("/api/sessions/{id}"),
        "/metrics".to_owned(),
    ] {
        let wanted = json!({"session": id, "lease": "write"});
        let ticket = runner
            .request("POST", "/api/tickets", Some(&wanted))
            .await
            .json();
        let bearer = format!("Bearer {}", ticket["ticket"].as_str().unwrap());
        let headers = [("Authorization", bearer.as_str())];
        let response = request(runner.address(), "GET", &path, &headers, None).await;
        assert_eq!(
            (response.status, response.code().as_str()),
            (401, "TICKET_WRONG"),
            "{path}"
        );
    }
    let wanted = json!({"session": id, "lease": "write"});
    let ticket = runner
        .request("POST", "/api/tickets", Some(&wanted))
        .await
        .json();
    let ticket = ticket["ticket"].as_str().unwrap();
    let path = format!("/api/sessions/{other}/attach");
    let opened = crate::support::WebTerminal::open(runner.address(), &path, ticket).await;
    assert_eq!(opened.err(), Some(401), "a ticket is bound to a session");
}

#[tokio::test]
async fn responses_to_wrong_tokens_are_delayed() {
    let runner = TestRunner::start().await;
    let started = std::time::Instant::now();
    let headers = [("Authorization", "Bearer wrong")];
    // Either one of these is delayed by a second, or all together took longer than that.
    let guesses = (0..50).map(|_| request(runner.address(), "GET", "/healthz", &headers, None));
    for response in join_all(guesses).await {
        assert_eq!(response.status, 401);
    }
    assert!(
        started.elapsed().as_millis() >= 900,
        "no response was delayed"
    );
    assert_eq!(runner.request("GET", "/healthz", None).await.status, 200);
}

#[tokio::test]
async fn oversized_headers_are_refused() {
    let runner = TestRunner::start().await;
    let long = "x".repeat(16 << 10);
    let bearer = format!("Bearer {}", runner.token());
    let headers = [
        ("Authorization", bearer.as_str()),
        ("X-Long", long.as_str()),
    ];
    let response = request(runner.address(), "GET", "/healthz", &headers, None).await;
    assert_eq!(response.status, 431);
}

#[tokio::test]
async fn client_without_request_is_disconnected() {
    let runner = TestRunner::start().await;
    for bytes in [&b""[..], b"GET / HT", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let mut stream = TcpStream::connect(runner.address()).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut response = Vec::new();
        let _ = within_limit(
            "the end of the connection",
            stream.read_to_end(&mut response),
        )
        .await;
        let text = String::from_utf8_lossy(&response);
        assert!(!text.contains("200"), "{text:?}");
    }
}

#[tokio::test]
async fn refused_client_is_disconnected() {
    let runner = TestRunner::start().await;
    let head = |authorization: &str| {
        let address = runner.address();
        format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\n{authorization}\r\n")
    };
    for authorization in ["", "Authorization: Bearer ticket-unknown\r\n"] {
        let mut stream = TcpStream::connect(runner.address()).await.unwrap();
        stream
            .write_all(head(authorization).as_bytes())
            .await
            .unwrap();
        let mut response = String::new();
        let read = stream.read_to_string(&mut response);
        within_limit("the end of the connection", read)
            .await
            .unwrap();
        assert!(response.starts_with("HTTP/1.1 401"), "{response}");
    }
    let owner = format!("Authorization: Bearer {}\r\n", runner.token());
    let mut stream = TcpStream::connect(runner.address()).await.unwrap();
    for (authorization, status) in [(owner.as_str(), "200"), ("", "401"), (&owner, "200")] {
        stream
            .write_all(head(authorization).as_bytes())
            .await
            .unwrap();
        let mut response = vec![0; 4096];
        let length = within_limit("a response", stream.read(&mut response))
            .await
            .unwrap();
        let response = String::from_utf8_lossy(&response[..length]);
        assert!(
            response.starts_with(&format!("HTTP/1.1 {status}")),
            "{response}"
        );
    }
}

#[tokio::test]
async fn unix_socket_is_private_and_needs_no_token() {
    use std::os::unix::fs::MetadataExt as _;
    let runner = TestRunner::start().await;
    let socket = runner.socket();
    assert_eq!(socket.metadata().unwrap().mode() & 0o7777, 0o600);
    assert_eq!(
        socket.parent().unwrap().metadata().unwrap().mode() & 0o7777,
        0o700
    );
    let mut stream = UnixStream::connect(&socket).await.unwrap();
    let head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(head).await.unwrap();
    let mut response = String::new();
    within_limit("an response", stream.read_to_string(&mut response))
        .await
        .unwrap();
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
}
