//! What is served before anybody has shown who they are: nothing.

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};

use crate::support::{ORIGIN, Served, request, soon};

/// Everything that is served, and the upgrade of each door.
const PATHS: [(&str, &str); 13] = [
    ("GET", "/api/sessions"),
    ("POST", "/api/sessions"),
    ("GET", "/api/sessions/ID"),
    ("DELETE", "/api/sessions/ID"),
    ("GET", "/api/sessions/ID/log"),
    ("GET", "/api/sessions/ID/transcript"),
    ("GET", "/api/sessions/ID/attach"),
    ("GET", "/api/panel"),
    ("POST", "/bowline.runner.v1.Runner/Attach"),
    ("GET", "/openapi.json"),
    ("GET", "/metrics"),
    ("GET", "/healthz"),
    ("GET", "/nothing/there"),
];

/// The head of an upgrade.
const UPGRADE: [(&str, &str); 4] = [
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

/// Ways to ask that must not be let in: what is shown beside the upgrade, and what is answered.
fn wrong_ways(token: &str) -> Vec<(Vec<(&'static str, String)>, u16)> {
    let bearer = ("Authorization", format!("Bearer {token}"));
    let panel = ("Origin", ORIGIN.to_owned());
    let wrong = ("Authorization", format!("Bearer {token}x"));
    let host = |host: &str| ("Host", host.to_owned());
    let origin = |origin: &str| ("Origin", origin.to_owned());
    let site = |site: &str| ("Sec-Fetch-Site", site.to_owned());
    let mut ways = vec![
        (vec![], 401),
        (vec![panel.clone()], 401),
        (vec![wrong.clone()], 401),
        (vec![wrong, panel.clone()], 401),
        (vec![("Authorization", format!("Basic {token}"))], 401),
        (vec![("Cookie", format!("token={token}"))], 401),
        (
            vec![
                ("Sec-WebSocket-Protocol", format!("tok.{token}")),
                panel.clone(),
            ],
            401,
        ),
        (
            vec![
                ("Sec-WebSocket-Protocol", "bowline.panel.v1".to_owned()),
                panel,
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
        ways.push((vec![bearer.clone(), host(name)], 403));
    }
    for page in [
        "null",
        "https://attacker.example",
        "chrome-extension://",
        "http://127.0.0.1",
    ] {
        ways.push((vec![bearer.clone(), origin(page)], 403));
    }
    ways.push((vec![bearer.clone(), origin(&format!("{ORIGIN}x"))], 403));
    ways.push((vec![bearer.clone(), site("cross-site")], 403));
    ways.push((vec![bearer, site("same-site")], 403));
    ways
}

#[tokio::test]
async fn nothing_is_served_before_the_gate_upgrades_included() {
    let mut cases = 0;
    for (method, path) in PATHS {
        // Each has a runner of its own, so that no guess is held back.
        let served = Served::start().await;
        let id = served.shell("echo secret; read x").await;
        let path = path.replace("ID", &id);
        for (shown, status) in wrong_ways(served.token()) {
            let shown = shown.iter().map(|(name, value)| (*name, value.as_str()));
            let headers: Vec<_> = UPGRADE.into_iter().chain(shown).collect();
            let headers: Vec<_> = match path.ends_with("attach") || path.ends_with("panel") {
                true => headers,
                false => headers[UPGRADE.len()..].to_vec(),
            };
            let answer = request(served.address(), method, &path, &headers, None).await;
            assert_eq!(answer.status, status, "{method} {path} {headers:?}");
            let text = answer.text();
            assert!(answer.code().contains('_') && !text.contains(&id), "{text}");
            assert!(
                !text.contains(served.token()) && !text.contains("secret"),
                "{text}"
            );
            cases += 1;
        }
    }
    assert!(cases >= 40 * 7, "{cases} cases");
}

#[tokio::test]
async fn the_owner_is_let_in() {
    let served = Served::start().await;
    assert_eq!(served.ask("GET", "/healthz", None).await.status, 200);
    assert_eq!(served.ask("GET", "/readyz", None).await.status, 200);
    let metrics = served.ask("GET", "/metrics", None).await.text();
    assert!(metrics.contains("bowline_requests_total 3"), "{metrics}");
    let answer = served.ask("GET", "/nothing/there", None).await;
    assert_eq!((answer.status, answer.code().as_str()), (404, "NOT_FOUND"));
    let answer = served.ask("PUT", "/api/sessions", None).await;
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (405, "METHOD_NOT_ALLOWED")
    );
}

#[tokio::test]
async fn a_ticket_opens_no_other_door() {
    let served = Served::start().await;
    let id = served.shell("read x").await;
    let other = served.shell("read x").await;
    for path in [
        "/api/sessions".to_owned(),
        format!("/api/sessions/{id}"),
        "/metrics".to_owned(),
    ] {
        let wanted = json!({"session": id, "lease": "write"});
        let ticket = served
            .ask("POST", "/api/tickets", Some(&wanted))
            .await
            .json();
        let bearer = format!("Bearer {}", ticket["ticket"].as_str().unwrap());
        let headers = [("Authorization", bearer.as_str())];
        let answer = request(served.address(), "GET", &path, &headers, None).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (401, "TICKET_WRONG"),
            "{path}"
        );
    }
    let wanted = json!({"session": id, "lease": "write"});
    let ticket = served
        .ask("POST", "/api/tickets", Some(&wanted))
        .await
        .json();
    let ticket = ticket["ticket"].as_str().unwrap();
    let path = format!("/api/sessions/{other}/attach");
    let opened = crate::support::Panel::open(served.address(), &path, ticket).await;
    assert_eq!(opened.err(), Some(401), "a ticket is for one session");
}

#[tokio::test]
async fn guesses_are_held_back_and_the_owner_is_not() {
    let served = Served::start().await;
    let started = std::time::Instant::now();
    let headers = [("Authorization", "Bearer wrong")];
    for _ in 0..6 {
        let answer = request(served.address(), "GET", "/healthz", &headers, None).await;
        assert_eq!(answer.status, 401);
    }
    assert!(
        started.elapsed().as_millis() >= 900,
        "the sixth guess waits a second"
    );
    assert_eq!(served.ask("GET", "/healthz", None).await.status, 200);
}

#[tokio::test]
async fn long_headers_are_refused() {
    let served = Served::start().await;
    let long = "x".repeat(16 << 10);
    let bearer = format!("Bearer {}", served.token());
    let headers = [
        ("Authorization", bearer.as_str()),
        ("X-Long", long.as_str()),
    ];
    let answer = request(served.address(), "GET", "/healthz", &headers, None).await;
    assert_eq!(answer.status, 431);
}

#[tokio::test]
async fn a_client_that_does_not_begin_is_hung_up_on() {
    let served = Served::start().await;
    for bytes in [&b""[..], b"GET / HT", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let mut stream = TcpStream::connect(served.address()).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        let _ = soon("the end of the connection", stream.read_to_end(&mut answer)).await;
        let text = String::from_utf8_lossy(&answer);
        assert!(!text.contains("200"), "{text:?}");
    }
}

#[tokio::test]
async fn the_socket_is_private_and_needs_no_token() {
    use std::os::unix::fs::MetadataExt as _;
    let served = Served::start().await;
    let socket = served.socket();
    assert_eq!(socket.metadata().unwrap().mode() & 0o7777, 0o600);
    assert_eq!(
        socket.parent().unwrap().metadata().unwrap().mode() & 0o7777,
        0o700
    );
    let mut stream = UnixStream::connect(&socket).await.unwrap();
    let head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(head).await.unwrap();
    let mut answer = String::new();
    soon("an answer", stream.read_to_string(&mut answer))
        .await
        .unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
