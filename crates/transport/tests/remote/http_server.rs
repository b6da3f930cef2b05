//! A simulated runner with one session: HTTP, WebSocket, TLS, tokens.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bowline_transport::wire::{Decoder, encode};
use bytes::{Bytes, BytesMut};
use futures_util::{SinkExt as _, StreamExt as _};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::owner::{AsyncStream, Owner};

/// What the server accepts, its responses, and the requests it has received.
#[derive(Debug, Default)]
pub(crate) struct HttpServer {
    /// The accepted token.
    pub(crate) token: Mutex<Option<&'static str>>,
    /// The status of all responses, if set.
    pub(crate) answer: Mutex<Option<StatusCode>>,
    /// The status of all responses once a session was created, if set.
    pub(crate) answer_once_created: Mutex<Option<StatusCode>>,
    /// The parts of the response in place of any other, sent one after the other.
    pub(crate) raw: Mutex<Option<Vec<Bytes>>>,
    /// How many requests for a session are disconnected, before or after it is created.
    pub(crate) losses: Mutex<VecDeque<Loss>>,
    /// The received requests, including tokens.
    pub(crate) requests: Mutex<Vec<String>>,
    /// The requests that created sessions.
    pub(crate) orders: Mutex<Vec<serde_json::Value>>,
    pub(crate) tls: Option<Tls>,
}

/// When the server disconnects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    Order,
    Answer,
    /// It does not disconnect, but has not finished with an earlier request.
    InProgress,
}

/// The error that makes the server disconnect.
#[derive(Debug, thiserror::Error)]
#[error("hung up")]
struct HungUp;

/// A self-signed certificate.
pub(crate) struct Tls {
    pub(crate) acceptor: TlsAcceptor,
    pub(crate) der: Vec<u8>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl HttpServer {
    pub(crate) fn serve(self: &Arc<Self>, owner: &Owner, stream: DuplexStream) {
        let (server, owner) = (Arc::clone(self), owner.clone());
        tokio::spawn(async move {
            match &server.tls {
                None => server.speak(owner, stream).await,
                // A host that does not trust the certificate goes.
                Some(tls) => {
                    if let Ok(stream) = tls.acceptor.accept(stream).await {
                        server.speak(owner, stream).await;
                    }
                }
            }
        });
    }

    async fn speak(self: &Arc<Self>, owner: Owner, mut stream: impl AsyncStream) {
        let raw = self.raw.lock().expect("alone").clone();
        if let Some(parts) = raw {
            // The beginning of the request is enough: it need not be HTTP.
            let _ = stream.read_buf(&mut BytesMut::new()).await;
            for part in parts {
                // A host that has understood the first part may be gone.
                let _ = stream.write_all(&part).await;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            // The rest never arrives.
            return std::future::pending().await;
        }
        let server = Arc::clone(self);
        let service = service_fn(move |request| {
            let (server, owner) = (Arc::clone(&server), owner.clone());
            async move { server.answer(owner, request).await }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        // The network breaks when it likes.
        let _ = connection.await;
    }

    async fn answer(
        &self,
        owner: Owner,
        mut request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, HungUp> {
        let header = |name: &str| {
            let value = request.headers().get(name);
            value.map(|value| value.to_str().expect("ASCII").to_owned())
        };
        let shown = header("authorization").unwrap_or_default();
        let line = format!("{} {} {shown}", request.method(), request.uri().path());
        self.requests.lock().expect("alone").push(line);
        if let Some(status) = *self.answer.lock().expect("alone") {
            let body = r#"{"code":"NO","detail":"no","next":"go"}"#;
            return Ok(reply(status, body.into()));
        }
        let token = *self.token.lock().expect("alone");
        if token.is_some_and(|token| shown != format!("Bearer {token}")) {
            return Ok(reply(StatusCode::UNAUTHORIZED, "{}".into()));
        }
        if request.method() == "POST" {
            let body = request.body_mut().collect().await;
            let body = body.expect("a whole order").to_bytes();
            let order = serde_json::from_slice(&body).expect("JSON");
            return self.make(&owner, order);
        }
        assert_eq!(
            request.uri().path(),
            format!("/api/sessions/{}/attach", owner.session)
        );
        assert_eq!(
            header("sec-websocket-protocol").as_deref(),
            Some("bowline.frames.v1")
        );
        let key = header("sec-websocket-key").expect("a key");
        let upgrade = hyper::upgrade::on(&mut request);
        tokio::spawn(async move {
            if let Ok(upgraded) = upgrade.await {
                bridge(owner, TokioIo::new(upgraded)).await;
            }
        });
        Ok(Response::builder()
            .status(StatusCode::SWITCHING_PROTOCOLS)
            .header("connection", "Upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-accept", derive_accept_key(key.as_bytes()))
            .header("sec-websocket-protocol", "bowline.frames.v1")
            .body(Full::default())
            .expect("an answer"))
    }

    /// Creates at most one session per id.
    fn make(
        &self,
        owner: &Owner,
        order: serde_json::Value,
    ) -> Result<Response<Full<Bytes>>, HungUp> {
        let loss = self.losses.lock().expect("alone").pop_front();
        if loss == Some(Loss::Order) {
            return Err(HungUp);
        }
        if loss == Some(Loss::InProgress) {
            let body = r#"{"code":"REQUEST_IN_PROGRESS","detail":"not yet","next":"retry"}"#;
            return Ok(reply(StatusCode::CONFLICT, body.into()));
        }
        let mut orders = self.orders.lock().expect("alone");
        let answer = if orders.iter().any(|it| it["id"] == order["id"]) {
            let body = r#"{"code":"SESSION_EXISTS","detail":"it is there","next":"attach"}"#;
            reply(StatusCode::CONFLICT, body.into())
        } else {
            orders.push(order);
            *self.answer.lock().expect("alone") =
                self.answer_once_created.lock().expect("alone").take();
            let epoch = owner.with(|state| state.epoch);
            let made = serde_json::json!({"id": owner.session, "epoch": epoch, "more": 1});
            reply(StatusCode::CREATED, made.to_string())
        };
        match loss {
            Some(_) => Err(HungUp),
            None => Ok(answer),
        }
    }
}

fn reply(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut reply = Response::new(Full::new(body.into()));
    *reply.status_mut() = status;
    reply
}

/// Passes frames between a WebSocket and the session, and checks that messages have whole frames.
async fn bridge(owner: Owner, stream: impl AsyncStream) {
    let mut socket = WebSocketStream::from_raw_socket(stream, Role::Server, None).await;
    let (mut ours, theirs) = duplex(64 << 10);
    owner.serve(theirs);
    let (mut decoder, mut read) = (Decoder::new(), BytesMut::new());
    loop {
        tokio::select! {
            message = socket.next() => match message {
                Some(Ok(Message::Binary(bytes))) => {
                    let mut whole = Decoder::new();
                    whole.push(bytes.clone());
                    while whole.next().expect("frames").is_some() {}
                    assert!(whole.is_empty(), "a message has whole frames");
                    if ours.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return,
            },
            count = ours.read_buf(&mut read) => {
                if count.unwrap_or(0) == 0 {
                    return;
                }
                decoder.push(read.split().freeze());
                let mut out = BytesMut::new();
                while let Some(frame) = decoder.next().expect("owners speak frames") {
                    encode(&frame, &mut out);
                }
                if !out.is_empty() {
                    let message = Message::Binary(out.freeze());
                    if socket.send(message).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}
