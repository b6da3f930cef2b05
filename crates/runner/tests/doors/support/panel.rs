//! A panel: what a page with a terminal does.

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

use super::glass::Glass;
use super::{ORIGIN, PATIENCE, Served, soon};

/// What a panel hears.
#[derive(Debug, PartialEq)]
pub(crate) enum Heard {
    Text(Value),
    Bytes(Vec<u8>),
    /// The connection was closed, with a code if there was one.
    Closed(Option<u16>),
}

/// A panel.
pub(crate) struct Panel {
    socket: WebSocketStream<TcpStream>,
    glass: Glass,
}

impl Panel {
    /// Attaches to a session with the token, as a page does.
    pub(crate) async fn attach(served: &Served, id: &str) -> Self {
        let path = format!("/api/sessions/{id}/attach");
        Self::open(served.address(), &path, served.token())
            .await
            .unwrap()
    }

    /// Opens a session of its own.
    pub(crate) async fn alone(served: &Served) -> Self {
        Self::open(served.address(), "/api/panel", served.token())
            .await
            .unwrap()
    }

    /// Opens a WebSocket with a secret in the subprotocol; the status if there is none.
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
        match soon("a WebSocket", opened).await {
            Ok((socket, response)) => {
                let echoed = response.headers().get("sec-websocket-protocol");
                assert_eq!(
                    echoed.unwrap(),
                    "bowline.panel.v1",
                    "the secret is never echoed"
                );
                let glass = Glass::new();
                Ok(Self { socket, glass })
            }
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// The next thing that is heard, and shown.
    pub(crate) async fn hear(&mut self) -> Heard {
        let heard = self.listen().await;
        match &heard {
            // A panel clears its terminal before a replay: RIS.
            Heard::Text(text) if text["type"] == "reattach-begin" => self.glass.feed(b"\x1bc"),
            Heard::Bytes(bytes) => self.glass.feed(bytes),
            _ => {}
        }
        heard
    }

    /// What the terminal is set to.
    pub(crate) fn modes(&self) -> TermMode {
        self.glass.modes()
    }

    /// The next message. Pings of the WebSocket are answered below.
    async fn listen(&mut self) -> Heard {
        loop {
            match soon("a message", self.socket.next()).await {
                Some(Ok(Message::Text(text))) => {
                    return Heard::Text(serde_json::from_str(text.as_str()).unwrap());
                }
                Some(Ok(Message::Binary(bytes))) => return Heard::Bytes(bytes.to_vec()),
                Some(Ok(Message::Close(frame))) => {
                    return Heard::Closed(frame.map(|it| it.code.into()));
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Heard::Closed(None),
            }
        }
    }

    /// The next text of a type; everything before it is passed over.
    pub(crate) async fn text(&mut self, kind: &str) -> Value {
        let mut passed_over = Vec::new();
        loop {
            match self.hear().await {
                Heard::Text(text) if text["type"] == kind => return text,
                Heard::Text(text) => passed_over.push(text),
                Heard::Closed(code) => panic!("closed ({code:?}) before {kind}: {passed_over:?}"),
                Heard::Bytes(_) => {}
            }
        }
    }

    /// Reads until something stands on the screen, or has gone over it; the screen and all that
    /// went over it.
    pub(crate) async fn shows(&mut self, what: &str) -> String {
        let mut shown = Vec::new();
        let started = Instant::now();
        loop {
            let text = String::from_utf8_lossy(&shown).into_owned() + &self.glass.text();
            if text.contains(what) {
                return text;
            }
            assert!(started.elapsed() < PATIENCE, "no {what:?} in {text:?}");
            match self.hear().await {
                Heard::Bytes(bytes) => shown.extend(bytes),
                Heard::Text(_) => {}
                Heard::Closed(code) => panic!("closed ({code:?}) before {what:?}"),
            }
        }
    }

    /// The replay of a return: what announces it, and its one frame.
    pub(crate) async fn replay(&mut self) -> (Value, String) {
        let begin = self.text("reattach-begin").await;
        loop {
            match self.hear().await {
                Heard::Bytes(bytes) => {
                    return (begin, String::from_utf8_lossy(&bytes).into_owned());
                }
                Heard::Text(text) if text["type"] == "ping" => {}
                other => panic!("{other:?} instead of the replay"),
            }
        }
    }

    /// Reads until the connection is closed; the code.
    pub(crate) async fn closed(&mut self) -> Option<u16> {
        loop {
            if let Heard::Closed(code) = self.hear().await {
                return code;
            }
        }
    }

    pub(crate) async fn types(&mut self, bytes: &str) {
        let bytes = Message::Binary(bytes.as_bytes().to_vec().into());
        soon("room", self.socket.send(bytes)).await.unwrap();
    }

    pub(crate) async fn says(&mut self, text: Value) {
        let text = Message::Text(text.to_string().into());
        soon("room", self.socket.send(text)).await.unwrap();
    }

    /// Closes with a code, or without one.
    pub(crate) async fn close(&mut self, code: Option<u16>) {
        let frame = code.map(|code| CloseFrame {
            code: code.into(),
            reason: "".into(),
        });
        let _ = soon("a close", self.socket.close(frame)).await;
    }

    /// Cuts the connection without a word.
    pub(crate) fn cut(self) {
        drop(self);
    }
}
