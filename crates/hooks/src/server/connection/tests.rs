//! Slow, invalid and hostile clients, under paused time.

use secrecy::ExposeSecret as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::*;

const EVENT: &str = r#"{"hook_event_name":"Stop"}"#;

struct Client {
    stream: DuplexStream,
    serving: tokio::task::JoinHandle<()>,
    token: String,
}

/// Connects to a server at port 9.
fn connect(limits: HookLimits) -> Client {
    connect_with(limits, None)
}

fn connect_with(limits: HookLimits, reply_time: Option<Duration>) -> Client {
    let token = HookToken::random().unwrap();
    let (questions, _) = mpsc::channel(1);
    let (stream, server) = duplex(64 << 10);
    let shown = token.secret().expose_secret().to_owned();
    let endpoint = Endpoint {
        secret_path: None,
        address: SocketAddr::from(([127, 0, 0, 1], 9)),
        token,
        limits,
        reply_time,
        dispatcher: Arc::new(HookDispatcher::new(None, questions, None)),
    };
    let serving = tokio::spawn(serve(server, Arc::new(endpoint), Slot::default()));
    Client {
        stream,
        serving,
        token: shown,
    }
}

impl Client {
    fn head(&self, more: &str) -> String {
        let token = &self.token;
        format!(
            "POST /hooks/i HTTP/1.1\r\nHost: 127.0.0.1:9\r\nAuthorization: Bearer {token}\r\n{more}\r\n"
        )
    }

    /// Sends a request and returns the status and body of the response, and the time it took.
    async fn send(mut self, text: &str) -> (u16, String, Duration) {
        let start = Instant::now();
        self.stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = String::new();
        self.stream.read_to_string(&mut answer).await.unwrap();
        self.serving.await.unwrap();
        let status = answer.split(' ').nth(1).and_then(|it| it.parse().ok());
        let body = answer.split_once("\r\n\r\n").map_or("", |it| it.1);
        (status.unwrap_or(0), body.to_owned(), start.elapsed())
    }
}

/// Returns the status for a request, in which `TOKEN` stands for the token.
async fn status(request: &str) -> u16 {
    let client = connect(HookLimits::default());
    let request = request.replace("TOKEN", &client.token);
    client.send(&request).await.0
}

#[tokio::test(start_paused = true)]
async fn valid_event_is_accepted() {
    let client = connect(HookLimits::default());
    let head = client.head(&format!("Content-Length: {}\r\n", EVENT.len()));
    let (status, body, took) = client.send(&(head + EVENT)).await;
    assert_eq!((status, body.as_str(), took), (200, "", Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn request_without_token_is_rejected() {
    let request = |authorization: &str| {
        format!(
            "POST /hooks/i HTTP/1.1\r\nHost: 127.0.0.1:9\r\n{authorization}Content-Length: 26\r\n\r\n{EVENT}"
        )
    };
    assert_eq!(
        status(&request("Authorization: Bearer TOKEN\r\n")).await,
        200
    );
    let zeros = "0".repeat(64);
    for wrong in [
        String::new(),
        "Authorization: Bearer\r\n".to_owned(),
        "Authorization: TOKEN\r\n".to_owned(),
        "Authorization: Basic TOKEN\r\n".to_owned(),
        format!("Authorization: Bearer {zeros}\r\n"),
        "Authorization: Bearer TOKEN0\r\n".to_owned(),
    ] {
        assert_eq!(status(&request(&wrong)).await, 401, "{wrong}");
    }
}

#[tokio::test(start_paused = true)]
async fn browser_page_is_rejected() {
    let request = |host: &str, more: &str| {
        format!(
            "POST /hooks/i HTTP/1.1\r\n{host}Authorization: Bearer TOKEN\r\n{more}Content-Length: 26\r\n\r\n{EVENT}"
        )
    };
    assert_eq!(status(&request("Host: localhost:9\r\n", "")).await, 200);
    for host in [
        "",
        "Host: 127.0.0.1\r\n",
        "Host: 127.0.0.1:10\r\n",
        "Host: evil.invalid:9\r\n",
        "Host: 127.0.0.1:9.evil.invalid\r\n",
    ] {
        assert_eq!(status(&request(host, "")).await, 403, "{host}");
    }
    for origin in ["https://evil.invalid", "http://127.0.0.1:9", "null"] {
        let origin = format!("Origin: {origin}\r\n");
        assert_eq!(
            status(&request("Host: 127.0.0.1:9\r\n", &origin)).await,
            403
        );
    }
}

#[tokio::test(start_paused = true)]
async fn request_that_is_no_hook_is_rejected() {
    let request = |line: &str, body: &str| {
        let length = body.len();
        format!(
            "{line} HTTP/1.1\r\nHost: 127.0.0.1:9\r\nAuthorization: Bearer TOKEN\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    };
    assert_eq!(status(&request("GET /hooks/i", "")).await, 405);
    assert_eq!(status(&request("POST /", EVENT)).await, 404);
    assert_eq!(status(&request("POST /hooks/", EVENT)).await, 404);
    assert_eq!(status(&request("POST /hooks/a/b", EVENT)).await, 404);
    assert_eq!(status(&request("POST /hooks/i", "[]")).await, 400);
    assert_eq!(status(&request("POST /hooks/i", "{")).await, 400);
    assert_eq!(status("junk\r\n\r\n").await, 400);
}

#[tokio::test(start_paused = true)]
async fn missing_headers_time_out() {
    let limits = HookLimits::default();
    let (_, _, took) = connect(limits)
        .send("POST /hooks/i HTTP/1.1\r\nHost:")
        .await;
    assert_eq!(took, limits.header_time);
}

#[tokio::test(start_paused = true)]
async fn missing_body_times_out() {
    let limits = HookLimits::default();
    let client = connect(limits);
    let head = client.head("Content-Length: 26\r\n");
    let (status, _, took) = client.send(&(head + r#"{"hook"#)).await;
    assert_eq!((status, took), (408, limits.body_time));
}

#[tokio::test(start_paused = true)]
async fn oversized_event_is_rejected() {
    let limits = HookLimits {
        body_bytes: 10,
        ..HookLimits::default()
    };
    let announced = connect(limits);
    let head = announced.head("Content-Length: 11\r\n");
    assert_eq!(
        announced.send(&head).await.0,
        413,
        "before any byte of the body"
    );
    let chunked = connect(limits);
    let head = chunked.head("Transfer-Encoding: chunked\r\n");
    assert_eq!(
        chunked
            .send(&(head + "b\r\n{\"a\":\"bcd\"}\r\n0\r\n\r\n"))
            .await
            .0,
        413
    );
}

#[tokio::test(start_paused = true)]
async fn header_count_and_size_are_limited() {
    let many = "X: y\r\n".repeat(MAX_HEADERS);
    let long = format!("X: {}\r\n", "y".repeat(HookLimits::default().header_bytes));
    for more in [many, long] {
        let client = connect(HookLimits::default());
        let head = client.head(&more);
        assert_eq!(client.send(&head).await.0, 431);
    }
}

#[tokio::test(start_paused = true)]
async fn unbounded_times_are_accepted() {
    let limits = HookLimits {
        header_time: Duration::MAX,
        body_time: Duration::MAX,
        answer_time: Duration::MAX,
        ..HookLimits::default()
    };
    let client = connect_with(limits, Some(Duration::MAX));
    let head = client.head(&format!("Content-Length: {}\r\n", EVENT.len()));
    assert_eq!(client.send(&(head + EVENT)).await.0, 200);
}
