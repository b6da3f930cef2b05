//! A web terminal, as a page implements it.

use std::net::SocketAddr;
use std::time::Instant;

use alacritty_terminal::term::TermMode;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::frame::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::screen::TestScreen;
use super::{ORIGIN, TIME_LIMIT, TestRunner, within_limit};

/// A message from the runner.
#[derive(Debug, PartialEq)]
pub(crate) enum Received {
    Text(Value),
    Bytes(Vec<u8>),
    /// The connection was closed, with a code if there was one.
    Closed(Option<u16>),
}

/// A web terminal.
pub(crate) struct WebTerminal {
    socket: WebSocketStream<TcpStream>,
    screen: TestScreen,
}

impl WebTerminal {
    /// Attaches to a session with the token.
    pub(crate) async fn attach(runner: &TestRunner, id: &str) -> Self {
        let path = format!("/api/sessions/{id}/attach");
        Self::open(runner.address(), &path, runner.token())
            .await
            .unwrap()
    }

    /// Connects without a session id.
    pub(crate) async fn without_id(runner: &TestRunner) -> Self {
        Self::open(runner.address(), "/api/panel", runner.token())
            .await
            .unwrap()
    }

    /// Opens a WebSocket with a secret in the subprotocol. Returns the HTTP status if it is refused.
    pub(crate) async fn open(address: SocketAddr, path: &str, secret: &str) -> Result<Self, u16> {
        let mut request = format!("ws://{address}{path}")
            .into_client_request()
            .unwrap();
        let secret = URL_SAFE_NO_PAD.encode(secret);
        let protocols = format!("bowline.panel.v1, tok.{secret}");
        let headers = request.headers_mut();
        headers.insert("origin", HeaderValue::from_static(ORIGIN));
        let protocols = HeaderValue::try_from(protocols).unwrap();
        headers.insert("sec-websocket-protocol", protocols);
        let stream = TcpStream::connect(address).await.unwrap();
        let opened = tokio_tungstenite::client_async(request, stream);
        match within_limit("a WebSocket", opened).await {
            Ok((socket, response)) => {
                let echoed = response.headers().get("sec-websocket-protocol");
                assert_eq!(
                    echoed.unwrap(),
                    "bowline.panel.v1",
                    "the secret is never echoed"
                );
                let screen = TestScreen::new();
                Ok(Self { socket, screen })
            }
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Receives the next message, and shows it on the screen.
    pub(crate) async fn receive(&mut self) -> Received {
        let received = self.receive_raw().await;
        match &received {
            // Clears the screen before a replay: RIS.
            Received::Text(text) if text["type"] == "reattach-begin" => self.screen.feed(b"\x1bc"),
            Received::Bytes(bytes) => self.screen.feed(bytes),
            _ => {}
        }
        received
    }

    /// Returns the modes of the terminal.
    pub(crate) fn modes(&self) -> TermMode {
        self.screen.modes()
    }

    /// Returns the lines of the scrollback and of the screen.
    pub(crate) fn all_lines(&self) -> Vec<String> {
        self.screen.all_lines()
    }

    /// Receives the next message. The WebSocket answers pings itself.
    async fn receive_raw(&mut self) -> Received {
        loop {
            match within_limit("a message", self.socket.next()).await {
                Some(Ok(Message::Text(text))) => {
                    return Received::Text(serde_json::from_str(text.as_str()).unwrap());
                }
                Some(Ok(Message::Binary(bytes))) => return Received::Bytes(bytes.to_vec()),
                Some(Ok(Message::Close(frame))) => {
                    return Received::Closed(frame.map(|it| it.code.into()));
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Received::Closed(None),
            }
        }
    }

    /// Receives the next text message of a type, and skips others.
    pub(crate) async fn text(&mut self, kind: &str) -> Value {
        let mut skipped = Vec::new();
        loop {
            match self.receive().await {
                Received::Text(text) if text["type"] == kind => return text,
                Received::Text(text) => skipped.push(text),
                Received::Closed(code) => panic!("closed ({code:?}) before {kind}: {skipped:?}"),
                Received::Bytes(_) => {}
            }
        }
    }

    /// Receives until a text was written to the screen. Returns the output and the screen.
    pub(crate) async fn wait_for_screen(&mut self, what: &str) -> String {
        let mut shown = Vec::new();
        let started = Instant::now();
        loop {
            let text = String::from_utf8_lossy(&shown).into_owned() + &self.screen.text();
            if text.contains(what) {
                return text;
            }
            assert!(started.elapsed() < TIME_LIMIT, "no {what:?} in {text:?}");
            match self.receive().await {
                Received::Bytes(bytes) => shown.extend(bytes),
                Received::Text(_) => {}
                Received::Closed(code) => panic!("closed ({code:?}) before {what:?}"),
            }
        }
    }

    /// Receives the replay after a reconnect: its announcement and its bytes.
    pub(crate) async fn replay(&mut self) -> (Value, String) {
        let begin = self.text("reattach-begin").await;
        loop {
            match self.receive().await {
                Received::Bytes(bytes) => {
                    return (begin, String::from_utf8_lossy(&bytes).into_owned());
                }
                Received::Text(text) if text["type"] == "ping" => {}
                other => panic!("{other:?} instead of the replay"),
            }
        }
    }

    /// Receives until the connection is closed. Returns the close code.
    pub(crate) async fn closed(&mut self) -> Option<u16> {
        loop {
            if let Received::Closed(code) = self.receive().await {
                return code;
            }
        }
    }

    pub(crate) async fn input(&mut self, bytes: &str) {
        let bytes = Message::Binary(bytes.as_bytes().to_vec().into());
        within_limit("a send", self.socket.send(bytes))
            .await
            .unwrap();
    }

    pub(crate) async fn send(&mut self, text: Value) {
        let text = Message::Text(text.to_string().into());
        within_limit("a send", self.socket.send(text))
            .await
            .unwrap();
    }

    /// Sends a message that the runner may not read any more.
    pub(crate) async fn try_send(&mut self, text: Value) {
        let text = Message::Text(text.to_string().into());
        let _ = within_limit("a send", self.socket.send(text)).await;
    }

    /// Closes the connection, with a code if given.
    pub(crate) async fn close(&mut self, code: Option<u16>) {
        let frame = code.map(|code| CloseFrame {
            code: code.into(),
            reason: "".into(),
        });
        let _ = within_limit("a close", self.socket.close(frame)).await;
    }

    /// Drops the connection without a close frame.
    pub(crate) fn disconnect(self) {
        drop(self);
    }
}
