//! A client of the frames endpoint.

use std::collections::{BTreeMap, VecDeque};

use bowline_runner::wire::{
    Attach, AttachMode, Attached, Decoder, Frame, Hello, Lease, Message, StreamId, VERSION, encode,
};
use bytes::BytesMut;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error, Message as WsMessage};

use super::{TestRunner, within_limit};

/// A client of the frames endpoint.
pub(crate) struct Frames {
    socket: WebSocketStream<TcpStream>,
    decoder: Decoder,
    received: VecDeque<Message>,
    pub(crate) generation: u64,
}

impl Frames {
    /// Opens a WebSocket with a secret. Returns the HTTP status if it is refused.
    pub(crate) async fn open(runner: &TestRunner, id: &str, secret: &str) -> Result<Self, u16> {
        let uri = format!("ws://{}/api/sessions/{id}/attach", runner.address());
        let mut request = uri.into_client_request().unwrap();
        let headers = request.headers_mut();
        let bearer = HeaderValue::try_from(format!("Bearer {secret}")).unwrap();
        headers.insert("authorization", bearer);
        let protocol = HeaderValue::from_static("bowline.frames.v1");
        headers.insert("sec-websocket-protocol", protocol);
        let stream = TcpStream::connect(runner.address()).await.unwrap();
        let opened = tokio_tungstenite::client_async(request, stream);
        match within_limit("a WebSocket", opened).await {
            Ok((socket, response)) => {
                assert_eq!(
                    response.headers()["sec-websocket-protocol"],
                    "bowline.frames.v1"
                );
                assert!(response.headers().contains_key("ratelimit"));
                Ok(Self {
                    socket,
                    decoder: Decoder::new(),
                    received: VecDeque::new(),
                    generation: 0,
                })
            }
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Attaches with the token.
    pub(crate) async fn attach(runner: &TestRunner, id: &str, lease: Lease) -> (Self, Attached) {
        let mut frames = Self::open(runner, id, runner.token()).await.unwrap();
        let attached = frames.join(id, lease).await.unwrap();
        (frames, attached)
    }

    /// Attaches. Returns the error code if it is refused.
    pub(crate) async fn join(&mut self, id: &str, lease: Lease) -> Result<Attached, String> {
        let cursors = BTreeMap::from([(StreamId::TTY, 0), (StreamId::STDOUT, 0)]);
        self.join_at(id, lease, cursors, Vec::new()).await
    }

    /// Attaches at cursors, with optional features.
    pub(crate) async fn join_at(
        &mut self,
        id: &str,
        lease: Lease,
        cursors: BTreeMap<StreamId, u64>,
        features: Vec<String>,
    ) -> Result<Attached, String> {
        self.send(Message::Hello(Hello {
            versions: (VERSION, VERSION),
            features,
        }))
        .await;
        self.send(Message::Attach(Attach {
            session: id.parse().unwrap(),
            epoch: None,
            cursors,
            mode: AttachMode::Resume,
            lease,
            resume_generation: None,
            size: None,
            credit: 1 << 30,
            client: "test client".to_owned(),
        }))
        .await;
        loop {
            match self.receive().await {
                Some(Message::Attached(attached)) => {
                    self.generation = attached.generation;
                    return Ok(attached);
                }
                Some(Message::Error { code, .. }) => return Err(code),
                Some(_) => {}
                None => return Err("closed".to_owned()),
            }
        }
    }

    pub(crate) async fn send(&mut self, message: Message) {
        let mut bytes = BytesMut::new();
        encode(&Frame::new(self.generation, message), &mut bytes);
        let sent = self.socket.send(WsMessage::Binary(bytes.freeze()));
        let _ = within_limit("a send", sent).await;
    }

    /// Receives the next message; `None` once the connection is closed.
    pub(crate) async fn receive(&mut self) -> Option<Message> {
        loop {
            if let Some(message) = self.received.pop_front() {
                return Some(message);
            }
            match within_limit("a frame", self.socket.next()).await? {
                Ok(WsMessage::Binary(bytes)) => {
                    self.decoder.push(bytes);
                    while let Some(frame) = self.decoder.next().unwrap() {
                        self.received.push_back(frame.message);
                    }
                    assert!(self.decoder.is_empty(), "a message holds whole frames");
                }
                Ok(WsMessage::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// Waits until the connection is closed. Returns the reason.
    pub(crate) async fn closed(&mut self) -> String {
        loop {
            match within_limit("a close frame", self.socket.next()).await {
                Some(Ok(WsMessage::Close(Some(frame)))) => return frame.reason.to_string(),
                Some(Ok(_)) => {}
                other => panic!("closed without a reason: {other:?}"),
            }
        }
    }

    /// Reads until the output contains a text. Returns the whole output.
    pub(crate) async fn wait_for_output(&mut self, what: &str) -> String {
        let mut read = Vec::new();
        loop {
            match self.receive().await {
                Some(Message::Data { bytes, .. }) => read.extend_from_slice(&bytes),
                Some(_) => {}
                None => panic!("closed before {what:?}"),
            }
            let text = String::from_utf8_lossy(&read);
            if text.contains(what) {
                return text.into_owned();
            }
        }
    }
}
