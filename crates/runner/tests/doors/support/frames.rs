//! A host at the frames door.

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
use tokio_tungstenite::tungstenite::{Error, Message as Said};

use super::{Served, soon};

/// A host at the frames door.
pub(crate) struct Frames {
    socket: WebSocketStream<TcpStream>,
    decoder: Decoder,
    waiting: VecDeque<Message>,
    pub(crate) generation: u64,
}

impl Frames {
    /// Opens the door with a secret; the status if it stays shut.
    pub(crate) async fn open(served: &Served, id: &str, secret: &str) -> Result<Self, u16> {
        let uri = format!("ws://{}/api/sessions/{id}/attach", served.address());
        let mut request = uri.into_client_request().unwrap();
        let headers = request.headers_mut();
        let bearer = HeaderValue::try_from(format!("Bearer {secret}")).unwrap();
        headers.insert("authorization", bearer);
        let protocol = HeaderValue::from_static("bowline.frames.v1");
        headers.insert("sec-websocket-protocol", protocol);
        let stream = TcpStream::connect(served.address()).await.unwrap();
        let opened = tokio_tungstenite::client_async(request, stream);
        match soon("a WebSocket", opened).await {
            Ok((socket, response)) => {
                assert_eq!(
                    response.headers()["sec-websocket-protocol"],
                    "bowline.frames.v1"
                );
                Ok(Self {
                    socket,
                    decoder: Decoder::new(),
                    waiting: VecDeque::new(),
                    generation: 0,
                })
            }
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Opens the door with the token and attaches.
    pub(crate) async fn attach(served: &Served, id: &str, lease: Lease) -> (Self, Attached) {
        let mut frames = Self::open(served, id, served.token()).await.unwrap();
        let attached = frames.join(id, lease).await.unwrap();
        (frames, attached)
    }

    /// Attaches; the code of the refusal otherwise.
    pub(crate) async fn join(&mut self, id: &str, lease: Lease) -> Result<Attached, String> {
        self.says(Message::Hello(Hello {
            versions: (VERSION, VERSION),
            features: Vec::new(),
        }))
        .await;
        self.says(Message::Attach(Attach {
            session: id.parse().unwrap(),
            epoch: None,
            cursors: BTreeMap::from([(StreamId::TTY, 0), (StreamId::STDOUT, 0)]),
            mode: AttachMode::Resume,
            lease,
            resume_generation: None,
            size: None,
            credit: 1 << 30,
            client: "a test".to_owned(),
        }))
        .await;
        loop {
            match self.hear().await {
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

    pub(crate) async fn says(&mut self, message: Message) {
        let mut bytes = BytesMut::new();
        encode(&Frame::new(self.generation, message), &mut bytes);
        let sent = self.socket.send(Said::Binary(bytes.freeze()));
        let _ = soon("room", sent).await;
    }

    /// The next message; none when the door is shut.
    pub(crate) async fn hear(&mut self) -> Option<Message> {
        loop {
            if let Some(message) = self.waiting.pop_front() {
                return Some(message);
            }
            match soon("a frame", self.socket.next()).await? {
                Ok(Said::Binary(bytes)) => {
                    self.decoder.push(bytes);
                    while let Some(frame) = self.decoder.next().unwrap() {
                        self.waiting.push_back(frame.message);
                    }
                    assert!(self.decoder.is_empty(), "a message holds whole frames");
                }
                Ok(Said::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// Reads until the output has something; all of it.
    pub(crate) async fn reads(&mut self, what: &str) -> String {
        let mut read = Vec::new();
        loop {
            match self.hear().await {
                Some(Message::Data { bytes, .. }) => read.extend_from_slice(&bytes),
                Some(_) => {}
                None => panic!("shut before {what:?}"),
            }
            let text = String::from_utf8_lossy(&read);
            if text.contains(what) {
                return text.into_owned();
            }
        }
    }
}
