//! Editors that misbehave, at `/acp`.

use std::collections::BTreeSet;

use bowline_runner::ServeLimits;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;

use crate::support::{TestRunner, within_limit};

/// An agent that never opens its session: `/bin/sh -c "sleep 1000"`.
const SILENT_AGENT: &str = "?agent=/bin/sh&dialect=acp&args=%5B%22-c%22%2C%22sleep%201000%22%5D";

struct Editor(WebSocketStream<TcpStream>);

impl Editor {
    async fn connect(runner: &TestRunner, query: &str) -> Self {
        let uri = format!("ws://{}/acp{query}", runner.address());
        let mut request = uri.into_client_request().unwrap();
        let bearer = HeaderValue::try_from(format!("Bearer {}", runner.token())).unwrap();
        request.headers_mut().insert("authorization", bearer);
        let stream = TcpStream::connect(runner.address()).await.unwrap();
        let opened = tokio_tungstenite::client_async(request, stream);
        Self(within_limit("a WebSocket", opened).await.unwrap().0)
    }

    async fn request(&mut self, id: u64, method: &str, params: Value) {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.0
            .send(Message::text(request.to_string()))
            .await
            .unwrap();
    }

    /// The id of the next response.
    async fn answered(&mut self) -> u64 {
        loop {
            let message = within_limit("a message", self.0.next()).await;
            if let Message::Text(text) = message.unwrap().unwrap() {
                let message: Value = serde_json::from_str(&text).unwrap();
                return message["id"].as_u64().unwrap();
            }
        }
    }
}

#[tokio::test]
async fn editor_that_floods_pings_is_disconnected() {
    let runner = TestRunner::start().await;
    let mut editor = Editor::connect(&runner, "").await;
    for _ in 0..100 {
        // Fails once the connection is closed.
        let _ = editor.0.send(Message::Ping("p".into())).await;
    }
    let code = loop {
        match within_limit("the end", editor.0.next()).await {
            Some(Ok(Message::Close(frame))) => break frame.map(|it| u16::from(it.code)),
            Some(Ok(_)) => {}
            end => panic!("{end:?}"),
        }
    };
    assert_eq!(code, Some(1008));
}

/// An editor whose machine is gone.
#[tokio::test]
async fn editor_that_answers_no_ping_is_disconnected() {
    let silence = |limits: &mut ServeLimits| limits.silence = Duration::from_millis(300);
    let runner = TestRunner::with(silence).await;
    let mut editor = Editor::connect(&runner, "").await;
    editor
        .request(1, "initialize", json!({"protocolVersion": 1}))
        .await;
    assert_eq!(editor.answered().await, 1);
    let mut rest = Vec::new();
    let read = editor.0.get_mut().read_to_end(&mut rest);
    within_limit("the end of the connection", read)
        .await
        .unwrap();
    assert_eq!(rest, [0x89, 0, 0x89, 0], "two pings");
}

#[tokio::test]
async fn requests_of_an_editor_wait_while_others_are_under_way() {
    let runner = TestRunner::start().await;
    let mut editor = Editor::connect(&runner, SILENT_AGENT).await;
    editor
        .request(0, "initialize", json!({"protocolVersion": 1}))
        .await;
    assert_eq!(editor.answered().await, 0);
    let started: BTreeSet<u64> = (1..=8).collect();
    for id in &started {
        let session = json!({"cwd": "/", "mcpServers": []});
        editor.request(*id, "session/new", session).await;
    }
    editor.request(9, "unknown", json!({})).await;
    let sessions = within_limit("the sessions", async {
        loop {
            let list = runner.request("GET", "/api/sessions", None).await.json();
            let list = list["sessions"].as_array().unwrap().clone();
            if list.len() == started.len() {
                return list;
            }
        }
    })
    .await;
    let id = sessions[0]["id"].as_str().unwrap();
    let path = format!("/api/sessions/{id}?force=true");
    runner.request("DELETE", &path, None).await;
    assert!(started.contains(&editor.answered().await));
    assert_eq!(editor.answered().await, 9);
}
