//! The frames door: frames in WebSocket messages, passed on to the session's shim and back.
//!
//! It keeps no state of a session. It reads what goes in only to hold every client to its lease.

mod cut;
pub(super) mod farewell;
mod rights;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use bowline_transport::SessionId;
use bowline_transport::wire::DEAD_AFTER;
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::time::timeout;
use tracing::debug;

use crate::doors::panel::pass_on;
use crate::quiet::QuietStream;
use crate::serve::Hall;
pub(super) use cut::Cutter;
pub(super) use rights::{Rights, Wrong};

/// Bytes that are read from a shim at a time.
const CHUNK: usize = 256 << 10;

/// RFC 6455, section 7.4.1: the runner ends.
const AWAY: u16 = 1001;
/// RFC 6455, section 7.4.1: what came is not allowed.
const MISUSE: u16 = 1008;

/// Passes frames on until one side is gone. The session stays, whatever happens here.
pub(super) async fn serve(socket: WebSocket, shim: QuietStream, rights: Rights, hall: Arc<Hall>) {
    let session = rights.session;
    let _open = hall.metrics.frames.open.hold();
    let (sink, stream) = socket.split();
    let (read, write) = tokio::io::split(shim);
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
            if let Some(frames) = farewell::killed(&hall, session).await {
                let _ = out.send(frames).await;
            }
            (AWAY, "the session's process is gone".to_owned())
        }
        () = life.ending() => {
            let _ = out.send(farewell::go_away()).await;
            (AWAY, "the runner ends".to_owned())
        }
    };
    debug!(%session, close, "a client of the frames door goes");
    out.close(close, text).await;
}

/// From the client to the shim. Gives what the client did wrong, or nothing when it is gone.
async fn inward(
    mut stream: SplitStream<WebSocket>,
    mut shim: WriteHalf<QuietStream>,
    mut rights: Rights,
    hall: &Hall,
) -> Option<Wrong> {
    // A client pings every 9 s at the least, so that silence means that it is gone.
    while let Ok(Some(Ok(message))) = timeout(DEAD_AFTER, stream.next()).await {
        match message {
            Message::Binary(bytes) => {
                hall.metrics.frames.taken.add(bytes.len() as u64);
                match rights.check(&bytes, Instant::now()) {
                    Ok(true) => pass_on(hall, rights.session).await,
                    Ok(false) => {}
                    Err(wrong) => return Some(wrong),
                }
                if shim.write_all(&bytes).await.is_err() {
                    // Who reads from it finds out what became of it.
                    std::future::pending::<()>().await;
                }
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
    async fn pass(&mut self, mut shim: ReadHalf<QuietStream>) {
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

    async fn close(mut self, code: u16, text: String) {
        let reason = text.into();
        let frame = Message::Close(Some(CloseFrame { code, reason }));
        let _ = timeout(Duration::from_secs(1), self.sink.send(frame)).await;
    }
}
