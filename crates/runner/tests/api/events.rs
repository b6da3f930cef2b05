//! Pushed events of sessions that another host drives, and of shells; over WebSocket and until the shutdown.

use bowline_reducer::Mirror;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;

use crate::support::{TestRunner, WebTerminal, within_limit};

/// An agent that answers each line, and asks with the third one.
const AGENT: &str = r#"
n=0
while read -r line; do
  n=$((n + 1))
  if [ $n = 3 ]; then
    printf '%s\n' '{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"t"}}'
  else
    printf '{"type":"assistant","uuid":"a%s","session_id":"s","message":{"id":"m%s","role":"assistant","content":[{"type":"text","text":"answer %s"}]}}\n' $n $n $n
    printf '{"type":"result","subtype":"success","is_error":false,"result":"","uuid":"r%s","session_id":"s"}\n' $n
  fi
done
"#;

struct Socket(WebSocketStream<TcpStream>);

impl Socket {
    async fn open(runner: &TestRunner, path: &str) -> Self {
        let uri = format!("ws://{}{path}", runner.address());
        let mut request = uri.into_client_request().unwrap();
        let bearer = HeaderValue::try_from(format!("Bearer {}", runner.token())).unwrap();
        request.headers_mut().insert("authorization", bearer);
        let stream = TcpStream::connect(runner.address()).await.unwrap();
        let opened = tokio_tungstenite::client_async(request, stream);
        Self(within_limit("a WebSocket", opened).await.unwrap().0)
    }

    /// Waits for the next message; `None` at the end.
    async fn next(&mut self) -> Option<Value> {
        loop {
            match within_limit("an event", self.0.next()).await?.ok()? {
                Message::Text(text) => return Some(serde_json::from_str(&text).unwrap()),
                Message::Close(_) => return None,
                _ => {}
            }
        }
    }

    /// Waits for an event that `is_it` accepts.
    async fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let event = self.next().await.expect("more events");
            if is_it(&event) {
                return event;
            }
        }
    }
}

async fn agent(runner: &TestRunner) -> String {
    let spec = json!({"kind": "dialogue", "program": "/bin/sh", "args": ["-c", AGENT]});
    runner.create(&spec).await
}

async fn prompt(runner: &TestRunner, id: &str, text: &str) {
    let path = format!("/api/sessions/{id}/prompt");
    let sent = runner
        .request("POST", &path, Some(&json!({"text": text})))
        .await;
    assert_eq!(sent.status, 202, "{}", sent.text());
}

async fn transcript(runner: &TestRunner, id: &str) -> Value {
    let path = format!("/api/sessions/{id}/transcript");
    runner.request("GET", &path, None).await.json()
}

#[tokio::test]
async fn session_of_another_host_is_followed() {
    let runner = TestRunner::start().await;
    let id = agent(&runner).await;
    let mut socket = Socket::open(&runner, &format!("/api/sessions/{id}/events")).await;
    let mut mirror = Mirror::new();
    for text in ["one", "two", "three"] {
        prompt(&runner, &id, text).await;
    }
    let (mut resets, mut cursor) = (0, None);
    while mirror.transcript()["permissions"][0]["state"] != "open" {
        let change = socket.next().await.unwrap();
        match change["id"].as_str() {
            Some(id) if change.get("change").is_none() => cursor = Some(id.to_owned()),
            _ => mirror.apply(&change),
        }
        resets += usize::from(change["change"] == "reset");
    }
    assert_eq!(resets, 1);
    drop(socket);
    let answer = json!({"request_id": "r", "decision": "allow"});
    let path = format!("/api/sessions/{id}/permissions");
    let answered = runner.request("POST", &path, Some(&answer)).await;
    assert_eq!(answered.status, 202, "{}", answered.text());
    // The cursor of the last batch: what follows is read again, and states what holds.
    let path = format!("/api/sessions/{id}/events?since={}", cursor.unwrap());
    let mut socket = Socket::open(&runner, &path).await;
    // The agent answers, and ends its turn.
    while mirror.transcript() != transcript(&runner, &id).await {
        let change = socket.next().await.unwrap();
        assert_ne!(change["change"], "reset", "the fold is the same");
        if change.get("change").is_some() {
            mirror.apply(&change);
        }
    }
    let path = format!("/api/sessions/{id}");
    let ended = runner.request("DELETE", &path, None).await;
    assert_eq!(ended.status, 200);
    while let Some(change) = socket.next().await {
        if change.get("change").is_some() {
            mirror.apply(&change);
        }
    }
    assert_eq!(mirror.transcript(), transcript(&runner, &id).await);
    assert_eq!(mirror.transcript()["status"]["phase"], "ended");
}

#[tokio::test]
async fn all_sessions_are_followed_from_their_creation_to_their_removal() {
    let runner = TestRunner::start().await;
    let before = runner.shell("sleep 1000").await;
    let mut socket = Socket::open(&runner, "/api/events").await;
    let first = socket.next().await.unwrap();
    assert_eq!(
        (&first["type"], &first["session"], &first["kind"]),
        (&json!("created"), &json!(before), &json!("terminal")),
        "{first}"
    );
    let shell = runner.shell("exit 3").await;
    let of = |id: &str, kind: &str| {
        let (id, kind) = (id.to_owned(), kind.to_owned());
        move |it: &Value| it["session"] == id.as_str() && it["type"] == kind.as_str()
    };
    socket.until(of(&shell, "created")).await;
    let ended = socket.until(of(&shell, "ended")).await;
    assert_eq!(ended["exit"]["code"], 3, "{ended}");
    let dialogue = agent(&runner).await;
    prompt(&runner, &dialogue, "one").await;
    let idle = |it: &Value| it["type"] == "phase" && it["phase"] == "idle";
    let idle = socket.until(idle).await;
    assert_eq!(idle["attention"]["reason"], "finished", "{idle}");
    let path = format!("/api/sessions/{before}?remove=true");
    let removed = runner.request("DELETE", &path, None).await;
    assert_eq!(removed.status, 200);
    socket.until(of(&before, "removed")).await;
}

#[tokio::test]
async fn events_end_at_the_shutdown() {
    let mut runner = TestRunner::start().await;
    let id = agent(&runner).await;
    let mut socket = Socket::open(&runner, "/api/events").await;
    socket.until(|it| it["type"] == "created").await;
    let mut stream = TcpStream::connect(runner.address()).await.unwrap();
    let head = format!(
        "GET /api/sessions/{id}/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        runner.address(),
        runner.token()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut text = Vec::new();
    while !String::from_utf8_lossy(&text).contains("\"change\":\"reset\"") {
        within_limit("a reset", stream.read_buf(&mut text))
            .await
            .unwrap();
    }
    let text_of = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    assert!(text_of(&text).contains("content-type: text/event-stream"));
    // Asserts that no client delays it.
    runner.stop().await;
    within_limit("the end", stream.read_to_end(&mut text))
        .await
        .unwrap();
    assert!(text_of(&text).ends_with("0\r\n\r\n"), "the stream is whole");
    while socket.next().await.is_some() {}
}

#[tokio::test]
async fn events_without_dialogue_or_terminal_are_refused() {
    let runner = TestRunner::start().await;
    let spec = json!({"kind": "terminal", "program": "/bin/sleep", "args": ["1000"],
        "stdio": {"type": "pipes"}});
    let piped = runner.create(&spec).await;
    for (id, code) in [
        (piped.as_str(), "NOT_A_TERMINAL"),
        ("x", "SESSION_NOT_FOUND"),
    ] {
        let path = format!("/api/sessions/{id}/events");
        let refused = runner.request("GET", &path, None).await;
        assert_eq!(refused.code(), code, "{}", refused.text());
    }
}

#[tokio::test]
async fn lines_of_a_terminal_are_events() {
    let runner = TestRunner::start().await;
    let script = "stty -echo; printf 'one\\n\\033[32mtwo\\033[m\\n10%%\\r99%%\\n'; \
                  while read x; do echo \"got $x\"; done; printf 'no end'";
    let id = runner.shell(script).await;
    let path = format!("/api/sessions/{id}/events");
    let mut socket = Socket::open(&runner, &path).await;
    let mut lines = Vec::new();
    while lines.len() < 3 {
        let event = socket.next().await.unwrap();
        lines.extend((event["type"] == "line").then_some(event));
    }
    let cursor = &lines[2]["to"];
    let texts: Vec<_> = lines
        .iter()
        .map(|it| it["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["one", "\u{1b}[32mtwo\u{1b}[m", "99%"]);
    assert_eq!((&lines[1]["from"], &lines[0]["to"]), (&json!(5), &json!(5)));
    drop(socket);

    // Lines that came meanwhile follow the cursor, and the end of the session.
    let mut terminal = WebTerminal::attach(&runner, &id).await;
    terminal.input("a\nb\n").await;
    terminal.wait_for_screen("got b").await;
    terminal.input("\u{4}").await;
    terminal.closed().await;
    for _ in 0..2 {
        let mut socket = Socket::open(&runner, &format!("{path}?since={cursor}")).await;
        let mut events = Vec::new();
        while let Some(event) = socket.next().await {
            events.extend(event.get("type").is_some().then_some(event));
        }
        let texts = events.iter().filter_map(|it| it["text"].as_str());
        assert_eq!(texts.collect::<Vec<_>>(), ["got a", "got b", "no end"]);
        let last = events.last().unwrap();
        assert_eq!(
            (&last["type"], &last["exit"]["code"]),
            (&json!("ended"), &json!(0))
        );
    }
    let all = runner
        .request("GET", &format!("{path}?since=end"), None)
        .await;
    assert_eq!(all.status, 204);
}

#[tokio::test]
async fn changes_of_files_are_events() {
    let runner = TestRunner::start().await;
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    std::fs::write(folder.path().join(".gitignore"), "*.log\n").unwrap();
    let script = "read x; echo ignored > a.log; echo seen > b.txt; cat";
    let spec = json!({
        "kind": "terminal", "program": "/bin/sh", "args": ["-c", script],
        "stdio": {"type": "pty"}, "cwd": folder.path(),
    });
    let id = runner.create(&spec).await;
    let path = format!("/api/sessions/{id}/events?files=true");
    let mut socket = Socket::open(&runner, &path).await;
    let mut terminal = WebTerminal::attach(&runner, &id).await;
    terminal.input("go\n").await;
    let event = socket.until(|it| it["type"] == "files").await;
    assert_eq!(event["paths"], json!(["b.txt"]), "{event}");
    assert_eq!(event["more"], false);
    let elsewhere = runner.shell("cat").await;
    let path = format!("/api/sessions/{elsewhere}/events?files=true");
    let refused = runner.request("GET", &path, None).await;
    assert_eq!(refused.code(), "CANNOT_WATCH", "{}", refused.text());
}
