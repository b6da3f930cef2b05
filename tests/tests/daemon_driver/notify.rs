//! Notifications of what needs attention, posted to a server that fails, hangs and recovers.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use bowline_runner::NotifyConfiguration;
use bowline_tests::session::within;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::rig::{Daemon, is_idle, results};

/// What the server does with a request.
#[derive(Clone, Copy, Debug)]
enum Answer {
    Accept,
    Fail,
    Hang,
}

/// A request as it came.
struct Post {
    head: String,
    body: String,
}

impl Post {
    async fn read(stream: &mut TcpStream) -> Self {
        let mut text = Vec::new();
        loop {
            let read = stream.read_buf(&mut text).await.expect("a request");
            assert_ne!(read, 0, "the request is whole");
            let text = String::from_utf8_lossy(&text).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                continue;
            };
            let head = head.to_lowercase();
            let length = head.split("content-length: ").nth(1);
            let length = length.and_then(|it| it.split("\r\n").next()?.parse().ok());
            if body.len() >= length.unwrap_or(0_usize) {
                let body = body.to_owned();
                return Self { head, body };
            }
        }
    }

    fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines();
        let value = lines.find_map(|line| line.strip_prefix(&format!("{name}: ")));
        value.unwrap_or_else(|| panic!("no {name} in {}", self.head))
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("JSON")
    }
}

/// Starts a server with a script, after which it accepts everything. Returns its URL and what it accepted.
async fn server(script: &[Answer]) -> (String, mpsc::UnboundedReceiver<Post>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!(
        "http://{}/hook?key=1",
        listener.local_addr().expect("bound")
    );
    let (sender, accepted) = mpsc::unbounded_channel();
    let mut script: VecDeque<_> = script.iter().copied().collect();
    tokio::spawn(async move {
        let mut hanging = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let post = Post::read(&mut stream).await;
            assert!(post.head.starts_with("post /hook?key=1 "), "{}", post.head);
            let status = match script.pop_front().unwrap_or(Answer::Accept) {
                Answer::Hang => {
                    hanging.push(stream);
                    continue;
                }
                Answer::Fail => "503 Service Unavailable",
                Answer::Accept => {
                    if sender.send(post).is_err() {
                        return;
                    }
                    "200 OK"
                }
            };
            let response = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            stream.write_all(response.as_bytes()).await.expect("sent");
        }
    });
    (url, accepted)
}

/// HMAC-SHA256 (RFC 2104) with a key of less than a block, written down once more.
fn hmac(key: &[u8], message: &str) -> String {
    let pad = |byte: u8| -> Vec<u8> {
        let key = key.iter().copied().chain(std::iter::repeat(0));
        key.take(64).map(|it| it ^ byte).collect()
    };
    let inner = Sha256::digest([pad(0x36), message.as_bytes().to_vec()].concat());
    let outer = Sha256::digest([pad(0x5c), inner.to_vec()].concat());
    outer.iter().map(|it| format!("{it:02x}")).collect()
}

async fn next(accepted: &mut mpsc::UnboundedReceiver<Post>) -> Post {
    let post = within("a notification", accepted.recv()).await;
    post.expect("the server runs")
}

#[tokio::test(flavor = "multi_thread")]
async fn notification_is_accepted_once_by_a_server_that_fails_and_hangs() {
    let script = [Answer::Fail, Answer::Hang, Answer::Fail];
    let (url, mut accepted) = server(&script).await;
    let folder = tempfile::tempdir().expect("a folder");
    let secret_file: PathBuf = folder.path().join("secret");
    let mut notify = NotifyConfiguration::new(url);
    notify.secret_file = Some(secret_file.clone());
    (notify.timeout, notify.backoff) = (Duration::from_millis(300), Duration::from_millis(20));
    let mut daemon = Daemon::start_with(Some(notify)).await;
    let id = daemon.agent("claude", json!({"prompt": "/ask rm"})).await;
    let question = next(&mut accepted).await;
    let body = question.json();
    assert_eq!(
        (
            &body["session"],
            &body["attention"]["reason"],
            &body["phase"]
        ),
        (
            &json!(id),
            &json!("question"),
            &json!("awaiting_permission")
        ),
        "{body}"
    );
    assert_eq!(
        question.header("bowline-event-id"),
        body["id"].as_str().expect("an id").to_lowercase()
    );
    let secret = std::fs::read_to_string(&secret_file).expect("it was made");
    let signature = question.header("bowline-signature");
    let (time, signature) = signature.split_once(",v1=").expect("a signature");
    let seconds = time.strip_prefix("t=").expect("a time");
    let signed = format!("{seconds}.{}", question.body);
    assert_eq!(signature, hmac(secret.trim().as_bytes(), &signed));
    // A request that still waits is not reported again by the next daemon.
    daemon.kill().await;
    let request = daemon.open_permission(&id).await;
    let answer = json!({"request_id": request["request_id"], "decision": "allow"});
    daemon.post(&id, "permissions", &answer).await;
    daemon
        .until(&id, |it| is_idle(it) && results(it) == 1)
        .await;
    let finished = next(&mut accepted).await.json();
    assert_eq!(finished["attention"]["reason"], "finished", "{finished}");
    daemon.post(&id, "prompt", &json!({"text": "/error"})).await;
    let failed = next(&mut accepted).await.json();
    assert_eq!(failed["attention"]["reason"], "failure", "{failed}");
    assert!(accepted.try_recv().is_err(), "each once");
}
