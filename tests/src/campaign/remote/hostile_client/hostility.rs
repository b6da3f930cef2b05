//! The kinds of hostile clients.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bowline_runner::wire::{
    Attach, AttachMode, Frame, Hello, Lease, Message, StreamId, VERSION, encode,
};
use bowline_transport::SessionId;
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::super::daemon::Daemon;

/// Connections that are held without a token; more than the runner has descriptors for.
const REFUSED: u64 = 275;

/// Clients of every other kind.
const CLIENTS: u64 = 8;

/// Time limit of a write. A runner that does not read is left alone for as long.
const WRITE: Duration = Duration::from_millis(100);

/// Pause between the pings of an idle reader.
const PING: Duration = Duration::from_millis(100);

/// The preface and the settings of an HTTP/2 client (RFC 9113, section 3.4).
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// Length of the header of an HTTP/2 frame.
const HTTP2_HEADER: usize = 9;

/// Opcodes of WebSocket messages, with the final bit (RFC 6455, section 5.2).
const TEXT: u8 = 0x81;
const BINARY: u8 = 0x82;

/// Kind of hostility.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hostility {
    /// HTTP/2 connections without a token, which answer pings.
    RefusedConnections,
    /// Invalid messages of a web terminal that reads nothing.
    InvalidMessages,
    /// Large pings of a web terminal that reads nothing.
    LargePings,
    /// Readers of the agent's output that ping and grant no credit.
    IdleReaders,
    /// Transcripts and logs at different offsets, requested at the same time.
    Transcripts,
    /// Kills, prompts and signals of a reader, which has no lease for them.
    ForbiddenRequests,
}

/// A runner and two of its sessions.
#[derive(Debug)]
pub(super) struct Target {
    address: SocketAddr,
    token: String,
    agent: SessionId,
    terminal: SessionId,
}

impl Target {
    pub(super) fn new(daemon: &Daemon, agent: SessionId, terminal: SessionId) -> Self {
        Self {
            address: daemon.address(),
            token: daemon.token().to_owned(),
            agent,
            terminal,
        }
    }

    fn request(&self, path: &str, headers: &str) -> String {
        let Self { address, token, .. } = self;
        format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n{headers}\r\n"
        )
    }

    /// Attaches to a session with a WebSocket. `None` if the runner refuses.
    async fn attach(&self, session: SessionId, protocol: &str) -> Option<TcpStream> {
        let headers = format!(
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: {protocol}\r\n"
        );
        let request = self.request(&format!("/api/sessions/{session}/attach"), &headers);
        let mut stream = TcpStream::connect(self.address).await.ok()?;
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut response = [0; 512];
        let length = stream.read(&mut response).await.ok()?;
        response[..length]
            .starts_with(b"HTTP/1.1 101")
            .then_some(stream)
    }
}

impl Hostility {
    pub(super) const ALL: [Self; 6] = [
        Self::RefusedConnections,
        Self::InvalidMessages,
        Self::LargePings,
        Self::IdleReaders,
        Self::Transcripts,
        Self::ForbiddenRequests,
    ];

    pub(super) const fn clients(self) -> u64 {
        match self {
            Self::RefusedConnections => REFUSED,
            _ => CLIENTS,
        }
    }

    /// Acts until the end, whatever the runner does about it.
    pub(super) async fn act(self, target: &Target, number: u64, is_over: &AtomicBool) {
        while !is_over.load(Ordering::Relaxed) {
            let acted = match self {
                Self::RefusedConnections => hold_without_token(target, is_over).await,
                Self::InvalidMessages => {
                    let message = br#"{"type":"resize","cols":0,"rows":0}"#;
                    flood_web_terminal(target, message, is_over).await
                }
                Self::LargePings => {
                    let text = "x".repeat(1 << 20);
                    let message = format!(r#"{{"type":"ping","ts":"{text}"}}"#);
                    flood_web_terminal(target, message.as_bytes(), is_over).await
                }
                Self::IdleReaders => read_nothing(target, is_over).await,
                Self::Transcripts => request_output(target, number).await,
                Self::ForbiddenRequests => request_without_lease(target, is_over).await,
            };
            if acted.is_none() {
                sleep(WRITE).await;
            }
        }
    }
}

/// Sends a request without a token over HTTP/2, and answers pings until the runner closes.
async fn hold_without_token(target: &Target, is_over: &AtomicBool) -> Option<()> {
    let mut stream = TcpStream::connect(target.address).await.ok()?;
    stream.write_all(HTTP2_PREFACE).await.ok()?;
    let host = target.address.to_string();
    // GET, http, / and `:authority` from the static table (RFC 7541, appendix A).
    let mut block = vec![0x82, 0x86, 0x84, 0x41, host.len() as u8];
    block.extend_from_slice(host.as_bytes());
    let mut headers = vec![0, 0, block.len() as u8, 1, 5, 0, 0, 0, 1];
    headers.extend_from_slice(&block);
    stream.write_all(&headers).await.ok()?;
    let mut received = BytesMut::new();
    while !is_over.load(Ordering::Relaxed) {
        if let Ok(read) = timeout(WRITE, stream.read_buf(&mut received)).await
            && read.ok()? == 0
        {
            return None;
        }
        while let Some(answer) = http2_answer(&mut received) {
            stream.write_all(&answer).await.ok()?;
        }
    }
    Some(())
}

/// Takes a frame; returns the acknowledgement of settings or of a ping, or nothing for others.
fn http2_answer(received: &mut BytesMut) -> Option<Bytes> {
    let [_, high, low, kind, flags, ..] = *received.first_chunk::<HTTP2_HEADER>()?;
    let length = usize::from(u16::from_be_bytes([high, low]));
    if received.len() < HTTP2_HEADER + length {
        return None;
    }
    let frame = received.split_to(HTTP2_HEADER + length);
    let payload = match (kind, flags) {
        (4, 0) => &[][..],
        (6, 0) => &frame[HTTP2_HEADER..],
        _ => return Some(Bytes::new()),
    };
    let mut answer = vec![0, 0, payload.len() as u8, kind, 1, 0, 0, 0, 0];
    answer.extend_from_slice(payload);
    Some(answer.into())
}

/// Sends a message as fast as the runner reads, and reads nothing.
async fn flood_web_terminal(target: &Target, message: &[u8], is_over: &AtomicBool) -> Option<()> {
    let mut stream = target.attach(target.terminal, "bowline.panel.v1").await?;
    let message = websocket(TEXT, message);
    while !is_over.load(Ordering::Relaxed) {
        match timeout(WRITE, stream.write_all(&message)).await {
            Ok(written) => written.ok()?,
            // The rest of the message would be taken for another one.
            Err(_) => {
                while !is_over.load(Ordering::Relaxed) {
                    sleep(WRITE).await;
                }
            }
        }
        tokio::task::yield_now().await;
    }
    Some(())
}

/// Attaches to the agent as a reader without credit, and pings.
async fn read_nothing(target: &Target, is_over: &AtomicBool) -> Option<()> {
    let mut stream = attach_reader(target).await?;
    let mut received = vec![0; 64 << 10];
    while !is_over.load(Ordering::Relaxed) {
        let ping = frames([Message::Ping { nonce: 1 }]);
        stream.write_all(&ping).await.ok()?;
        if let Ok(read) = timeout(PING, stream.read(&mut received)).await {
            read.ok().filter(|length| *length > 0)?;
        }
        sleep(PING).await;
    }
    Some(())
}

async fn attach_reader(target: &Target) -> Option<TcpStream> {
    let mut stream = target.attach(target.agent, "bowline.frames.v1").await?;
    let hello = Message::Hello(Hello {
        versions: (VERSION, VERSION),
        features: Vec::new(),
    });
    let attach = Message::Attach(Attach {
        session: target.agent,
        epoch: None,
        cursors: BTreeMap::from([(StreamId::STDOUT, 0)]),
        mode: AttachMode::Tail,
        lease: Lease::Read,
        resume_generation: None,
        size: None,
        credit: 0,
        client: "hostile".to_owned(),
    });
    stream.write_all(&frames([hello, attach])).await.ok()?;
    Some(stream)
}

/// Requests a transcript, or a log from an offset of its own.
async fn request_output(target: &Target, number: u64) -> Option<()> {
    let agent = target.agent;
    let path = if number.is_multiple_of(2) {
        format!("/api/sessions/{agent}/transcript")
    } else {
        format!(
            "/api/sessions/{agent}/log?from={}&max=16777216",
            number << 12
        )
    };
    let request = target.request(&path, "Connection: close\r\n");
    let mut stream = TcpStream::connect(target.address).await.ok()?;
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut response = vec![0; 64 << 10];
    while stream.read(&mut response).await.ok()? > 0 {}
    Some(())
}

/// Sends requests that need a lease, as a reader that reads nothing.
async fn request_without_lease(target: &Target, is_over: &AtomicBool) -> Option<()> {
    let mut stream = attach_reader(target).await?;
    let end = Message::InputEnd { offset: 0 };
    let requests = frames(std::iter::repeat_n(end, 64));
    while !is_over.load(Ordering::Relaxed) {
        match timeout(WRITE, stream.write_all(&requests)).await {
            Ok(written) => written.ok()?,
            Err(_) => return None,
        }
        tokio::task::yield_now().await;
    }
    Some(())
}

/// Returns a WebSocket message with frames.
fn frames(messages: impl IntoIterator<Item = Message>) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    for message in messages {
        encode(&Frame::new(0, message), &mut bytes);
    }
    websocket(BINARY, &bytes)
}

/// Returns a WebSocket message with a zero mask, as RFC 6455, section 5.2 permits.
fn websocket(opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut message = vec![opcode];
    match payload.len() {
        length @ 0..126 => message.push(0x80 | length as u8),
        length @ 126..=0xffff => {
            message.push(0x80 | 126);
            message.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            message.push(0x80 | 127);
            message.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    message.extend_from_slice(&[0; 4]);
    message.extend_from_slice(payload);
    message
}
