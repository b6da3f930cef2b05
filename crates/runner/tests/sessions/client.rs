//! A client that verifies what it receives.

use std::collections::BTreeMap;
use std::time::Duration;

use bowline_runner::SessionDir;
use bowline_transport::SessionId;
use bowline_transport::wire::{
    Attach, AttachMode, Attached, Decoder, Epoch, ExitNotice, Frame, Hello, Lease, Message,
    StreamId, VERSION, encode,
};
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// Timeout of any step, generous for a busy machine.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) trait Link: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Link for S {}

/// A host's state of a session, across its connections.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(crate) session: SessionId,
    pub(crate) lease: Lease,
    pub(crate) mode: AttachMode,
    pub(crate) credit: u64,
    pub(crate) epoch: Option<Epoch>,
    pub(crate) generation: Option<u64>,
    pub(crate) streams: BTreeMap<StreamId, Vec<u8>>,
    /// Bytes lost in gaps, which are not in the streams.
    pub(crate) missing: BTreeMap<StreamId, u64>,
    pub(crate) exit: Option<ExitNotice>,
    /// The last snapshot, and the number of gaps.
    pub(crate) screen: Vec<u8>,
    pub(crate) gaps: u32,
    pub(crate) acked: u64,
}

impl Memory {
    pub(crate) fn new(session: SessionId, lease: Lease, streams: &[StreamId]) -> Self {
        Self {
            session,
            lease,
            mode: AttachMode::Resume,
            credit: 1 << 20,
            epoch: None,
            generation: None,
            streams: streams.iter().map(|id| (*id, Vec::new())).collect(),
            missing: BTreeMap::new(),
            exit: None,
            screen: Vec::new(),
            gaps: 0,
            acked: 0,
        }
    }

    pub(crate) fn next(&self, id: StreamId) -> u64 {
        self.streams[&id].len() as u64 + self.missing.get(&id).copied().unwrap_or(0)
    }

    pub(crate) fn text(&self, id: StreamId) -> String {
        String::from_utf8_lossy(&self.streams[&id]).into_owned()
    }
}

/// A connection of a host.
pub(crate) struct Client {
    link: Box<dyn Link>,
    decoder: Decoder,
    buffer: BytesMut,
    pub(crate) memory: Memory,
    pub(crate) attached: Option<Attached>,
    /// Whether credit is returned for received bytes at once.
    pub(crate) consumes: bool,
}

impl Client {
    /// Connects to a shim and attaches.
    pub(crate) async fn join(folder: &SessionDir, memory: Memory) -> Self {
        let stream: UnixStream = folder.connect().await.unwrap();
        Self::over(stream, memory).await
    }

    /// Attaches over a connection.
    pub(crate) async fn over(link: impl Link + 'static, memory: Memory) -> Self {
        let mut client = Self::open(link, memory);
        client.greet().await;
        client.attach().await;
        client
    }

    pub(crate) fn open(link: impl Link + 'static, memory: Memory) -> Self {
        Self {
            link: Box::new(link),
            decoder: Decoder::new(),
            buffer: BytesMut::new(),
            memory,
            attached: None,
            consumes: true,
        }
    }

    pub(crate) async fn greet(&mut self) {
        let hello = Hello {
            versions: (VERSION, VERSION),
            features: Vec::new(),
        };
        self.send(Message::Hello(hello)).await;
    }

    pub(crate) async fn attach(&mut self) {
        let memory = &self.memory;
        let cursors = memory.streams.keys().map(|id| (*id, memory.next(*id)));
        let attach = Attach {
            session: memory.session,
            epoch: memory.epoch,
            cursors: cursors.collect(),
            mode: memory.mode,
            lease: memory.lease,
            resume_generation: memory.generation,
            size: None,
            credit: memory.credit,
            client: "test".into(),
        };
        self.send(Message::Attach(attach)).await;
        while self.attached.is_none() {
            match self.next().await {
                Some(Message::Welcome(_) | Message::Attached(_)) => {}
                other => panic!("not attached: {other:?}"),
            }
        }
    }

    fn generation(&self) -> u64 {
        self.attached.as_ref().map_or(0, |it| it.generation)
    }

    /// Sends a message; ignores a closed connection.
    pub(crate) async fn send(&mut self, message: Message) {
        let mut bytes = BytesMut::new();
        encode(&Frame::new(self.generation(), message), &mut bytes);
        let _ = self.link.write_all(&bytes).await;
    }

    pub(crate) async fn type_in(&mut self, offset: u64, bytes: impl Into<Bytes>) {
        let bytes = bytes.into();
        self.send(Message::Input { offset, bytes }).await;
    }

    /// Receives the next message, verifies and applies it; `None` once the connection is closed.
    pub(crate) async fn next(&mut self) -> Option<Message> {
        let message = timeout(TIMEOUT, self.receive())
            .await
            .expect("a message in time")?;
        self.remember(&message).await;
        Some(message)
    }

    async fn receive(&mut self) -> Option<Message> {
        loop {
            if let Some(frame) = self.decoder.next().unwrap() {
                return Some(frame.message);
            }
            self.buffer.reserve(64 * 1024);
            match self.link.read_buf(&mut self.buffer).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => self.decoder.push(self.buffer.split().freeze()),
            }
        }
    }

    async fn remember(&mut self, message: &Message) {
        match message {
            Message::Attached(attached) => {
                self.memory.epoch = Some(attached.epoch);
                self.memory.generation = (attached.generation > 0).then_some(attached.generation);
                self.attached = Some(attached.clone());
            }
            Message::Data {
                stream,
                offset,
                bytes,
                ..
            } => {
                assert_eq!(*offset, self.memory.next(*stream), "{stream} is contiguous");
                let whole = self.memory.streams.get_mut(stream).unwrap();
                whole.extend_from_slice(bytes);
                if self.consumes {
                    let (stream, n) = (*stream, bytes.len() as u64);
                    self.send(Message::Credit { stream, n }).await;
                }
            }
            Message::Gap {
                stream, from, to, ..
            } => {
                assert_eq!(*from, self.memory.next(*stream));
                *self.memory.missing.entry(*stream).or_default() += to - from;
                self.memory.gaps += 1;
            }
            Message::Snapshot { at_offset, .. } => {
                let missing = at_offset - self.memory.next(StreamId::TTY);
                *self.memory.missing.entry(StreamId::TTY).or_default() += missing;
                self.memory.screen.clear();
            }
            Message::SnapshotChunk { offset, bytes, .. } => {
                assert_eq!(*offset, self.memory.screen.len() as u64);
                self.memory.screen.extend_from_slice(bytes);
            }
            Message::InputAck { offset, .. } => {
                self.memory.acked = self.memory.acked.max(*offset);
            }
            Message::Exit(notice) => self.memory.exit = Some(notice.clone()),
            Message::Ping { nonce } => self.send(Message::Pong { nonce: *nonce }).await,
            _ => {}
        }
    }

    /// Receives until a condition holds.
    pub(crate) async fn until(&mut self, holds: impl Fn(&Memory) -> bool) {
        while !holds(&self.memory) {
            let next = self.next().await;
            assert!(next.is_some(), "closed too early: {:?}", self.memory.exit);
        }
    }

    /// Receives until a message matches.
    pub(crate) async fn find<T>(&mut self, mut wanted: impl FnMut(&Message) -> Option<T>) -> T {
        loop {
            let message = self.next().await.expect("the connection is open");
            if let Some(found) = wanted(&message) {
                return found;
            }
        }
    }

    /// Receives up to the exit, and acknowledges it.
    pub(crate) async fn finish(mut self) -> Memory {
        self.until(|memory| memory.exit.is_some()).await;
        self.send(Message::ExitAck).await;
        while self.next().await.is_some() {}
        self.memory
    }

    /// Drops the connection without detaching.
    pub(crate) fn cut(self) -> Memory {
        self.memory
    }
}
