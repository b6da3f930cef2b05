//! The frames door: frames in WebSocket messages, passed on to the session's shim and back.
//!
//! It keeps no state of a session. It reads what goes in only to hold every client to its lease.

mod cut;
mod rights;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use bowline_transport::SessionId;
use bowline_transport::wire::{DEAD_AFTER, Frame, Message as Said, code, encode};
use bytes::{Bytes, BytesMut};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;
use tracing::debug;

use super::admission::is_gone;
use super::problem::Problem;
use crate::serve::{Hall, State};
pub(super) use cut::Cutter;
pub(super) use rights::{Rights, Wrong};

/// How long a client should wait before it connects again when the runner ends.
const COME_BACK: Duration = Duration::from_millis(100);

/// Bytes that are read from a shim at a time.
const CHUNK: usize = 256 << 10;

/// RFC 6455, section 7.4.1: the runner ends.
const AWAY: u16 = 1001;
/// RFC 6455, section 7.4.1: what came is not allowed.
const MISUSE: u16 = 1008;

/// Passes frames on until one side is gone. The session stays, whatever happens here.
pub(super) async fn serve(socket: WebSocket, shim: UnixStream, rights: Rights, hall: Arc<Hall>) {
    let session = rights.session;
    let _open = hall.metrics.frames.open.hold();
    let (sink, stream) = socket.split();
    let (read, write) = shim.into_split();
    let mut life = hall.life.clone();
    let mut out = Outward {
        sink,
        hall: &hall,
        session,
    };
    let (close, text) = tokio::select! {
        wrong = inward(stream, write, rights, &hall) => match wrong {
            Some(wrong) => (MISUSE, wrong.to_string()),
            None => return,
        },
        () = out.pass(read) => {
            out.tell_of_a_kill().await;
            (AWAY, "the session's process is gone".to_owned())
        }
        () = life.ending() => {
            out.go_away().await;
            (AWAY, "the runner ends".to_owned())
        }
    };
    debug!(%session, close, "a client of the frames door goes");
    out.close(close, text).await;
}

/// From the client to the shim. Gives what the client did wrong, or nothing when it is gone.
async fn inward(
    mut stream: SplitStream<WebSocket>,
    mut shim: OwnedWriteHalf,
    mut rights: Rights,
    hall: &Hall,
) -> Option<Wrong> {
    // A client pings every 5 s, so that silence means that it is gone.
    while let Ok(Some(Ok(message))) = timeout(DEAD_AFTER, stream.next()).await {
        match message {
            Message::Binary(bytes) => {
                hall.metrics.frames.taken.add(bytes.len() as u64);
                if let Err(wrong) = rights.check(&bytes, Instant::now()) {
                    return Some(wrong);
                }
                shim.write_all(&bytes).await.ok()?;
            }
            Message::Ping(_) => {
                if let Err(wrong) = rights.pinged(Instant::now()) {
                    return Some(wrong);
                }
            }
            Message::Pong(_) => {}
            Message::Text(_) => return Some(Wrong::Text),
            Message::Close(_) => return None,
        }
    }
    None
}

/// From the shim to the client.
struct Outward<'a> {
    sink: SplitSink<WebSocket, Message>,
    hall: &'a Hall,
    session: SessionId,
}

impl Outward<'_> {
    async fn pass(&mut self, mut shim: OwnedReadHalf) {
        let mut cutter = Cutter::default();
        loop {
            cutter.buffer().reserve(CHUNK);
            match shim.read_buf(cutter.buffer()).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            while let Some(cut) = cutter.next() {
                if cut.has_attached {
                    self.hall.parked.cancel(self.session);
                }
                if self.send(cut.frames).await.is_err() {
                    return;
                }
            }
        }
    }

    /// A client that takes nothing for so long is gone.
    async fn send(&mut self, frames: Bytes) -> Result<(), ()> {
        self.hall.metrics.frames.given.add(frames.len() as u64);
        let sent = timeout(DEAD_AFTER, self.sink.send(Message::Binary(frames))).await;
        sent.map_err(drop)?.map_err(drop)
    }

    /// A client of a shim that was killed need not come back to hear of it.
    async fn tell_of_a_kill(&mut self) {
        if !self.is_killed().await {
            return;
        }
        let problem = Problem::killed();
        let killed = Said::Error {
            code: code::UNKNOWN_SESSION.to_owned(),
            retryable: false,
            after_ms: None,
            detail: format!("{}; {}", problem.detail, problem.next),
        };
        let mut frames = BytesMut::new();
        encode(&Frame::new(0, killed), &mut frames);
        let _ = self.send(frames.freeze()).await;
    }

    /// Whether the shim is gone without an end. One that cannot be reached just now, for want of
    /// descriptors or because it is busy, is none of these.
    async fn is_killed(&self) -> bool {
        let Some(session) = self.hall.directory.find(self.session) else {
            return false;
        };
        let gone = session.connect().await.err();
        if !gone.is_some_and(|error| is_gone(&error)) {
            return false;
        }
        let record = self.hall.directory.record(self.session).await;
        record.is_some_and(|it| it.state() == State::Lost)
    }

    async fn go_away(&mut self) {
        let after_ms = COME_BACK.as_millis() as u64;
        let mut frames = BytesMut::new();
        encode(&Frame::new(0, Said::GoAway { after_ms }), &mut frames);
        let _ = self.send(frames.freeze()).await;
    }

    async fn close(mut self, code: u16, text: String) {
        let reason = text.into();
        let frame = Message::Close(Some(CloseFrame { code, reason }));
        let _ = timeout(Duration::from_secs(1), self.sink.send(frame)).await;
    }
}
