//! Clients that are slow, wrong or hostile, under virtual time.

use secrecy::ExposeSecret as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::*;

const EVENT: &str = r#"{"hook_event_name":"Stop"}"#;

struct Door {
    client: DuplexStream,
    serving: tokio::task::JoinHandle<()>,
    token: String,
}

/// A client at the door of a server at port 9.
fn door(limits: HookLimits) -> Door {
    patient_door(limits, None)
}

fn patient_door(limits: HookLimits, patience: Option<Duration>) -> Door {
    let token = Token::random().unwrap();
    let (questions, _) = mpsc::channel(1);
    let (client, server) = duplex(64 << 10);
    let shown = token.secret().expose_secret().to_owned();
    let reception = Reception {
        address: SocketAddr::from(([127, 0, 0, 1], 9)),
        token,
        limits,
        patience,
        desk: Arc::new(Desk::new(None, questions, None)),
    };
    let serving = tokio::spawn(serve(server, Arc::new(reception)));
    Door {
        client,
        serving,
        token: shown,
    }
}

impl Door {
    fn head(&self, more: &str) -> String {
        let token = &self.token;
        format!(
            "POST /hooks/i HTTP/1.1\r\nHost: 127.0.0.1:9\r\nAuthorization: Bearer {token}\r\n{more}\r\n"
        )
    }

    /// Says something and gives the answer's status and body, and how long it took.
    async fn say(mut self, text: &str) -> (u16, String, Duration) {
        let start = Instant::now();
        self.client.write_all(text.as_bytes()).await.unwrap();
        let mut answer = String::new();
        self.client.read_to_string(&mut answer).await.unwrap();
        self.serving.await.unwrap();
        let status = answer.split(' ').nth(1).and_then(|it| it.parse().ok());
        let body = answer.split_once("\r\n\r\n").map_or("", |it| it.1);
        (status.unwrap_or(0), body.to_owned(), start.elapsed())
    }
}

/// The status that a request gets, with `TOKEN` in it made the token.
async fn status(request: &str) -> u16 {
    let door = door(HookLimits::default());
    let request = request.replace("TOKEN", &door.token);
    door.say(&request).await.0
}

#[tokio::test(start_paused = true)]
async fn an_event_is_taken() {
    let door = door(HookLimits::default());
    let head = door.head(&format!("Content-Length: {}\r\n", EVENT.len()));
    let (status, body, took) = door.say(&(head + EVENT)).await;
    assert_eq!((status, body.as_str(), took), (200, "", Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn whoever_does_not_know_the_token_is_turned_away() {
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
async fn a_page_in_a_browser_is_turned_away() {
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
async fn what_is_no_hook_is_turned_away() {
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
async fn a_client_without_a_head_is_dropped_in_time() {
    let limits = HookLimits::default();
    let (_, _, took) = door(limits).say("POST /hooks/i HTTP/1.1\r\nHost:").await;
    assert_eq!(took, limits.header_time);
}

#[tokio::test(start_paused = true)]
async fn a_client_without_a_body_is_told_in_time() {
    let limits = HookLimits::default();
    let door = door(limits);
    let head = door.head("Content-Length: 26\r\n");
    let (status, _, took) = door.say(&(head + r#"{"hook"#)).await;
    assert_eq!((status, took), (408, limits.body_time));
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_too_long_is_not_read() {
    let limits = HookLimits {
        body_bytes: 10,
        ..HookLimits::default()
    };
    let announced = door(limits);
    let head = announced.head("Content-Length: 11\r\n");
    assert_eq!(announced.say(&head).await.0, 413, "no byte of it was sent");
    let chunked = door(limits);
    let head = chunked.head("Transfer-Encoding: chunked\r\n");
    assert_eq!(
        chunked
            .say(&(head + "b\r\n{\"a\":\"bcd\"}\r\n0\r\n\r\n"))
            .await
            .0,
        413
    );
}

#[tokio::test(start_paused = true)]
async fn headers_are_bounded() {
    let many = "X: y\r\n".repeat(MOST_HEADERS);
    let long = format!("X: {}\r\n", "y".repeat(HookLimits::default().header_bytes));
    for more in [many, long] {
        let door = door(HookLimits::default());
        let head = door.head(&more);
        assert_eq!(door.say(&head).await.0, 431);
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_may_be_as_patient_as_it_likes() {
    let limits = HookLimits {
        header_time: Duration::MAX,
        body_time: Duration::MAX,
        answer_time: Duration::MAX,
        ..HookLimits::default()
    };
    let door = patient_door(limits, Some(Duration::MAX));
    let head = door.head(&format!("Content-Length: {}\r\n", EVENT.len()));
    assert_eq!(door.say(&(head + EVENT)).await.0, 200);
}
