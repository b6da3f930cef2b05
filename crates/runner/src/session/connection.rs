//! A client's connection: one task that reads frames and one that writes batches of them.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{
    AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf,
};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::session_machine::ClientId;
use crate::wire::{DEAD_AFTER, Decoder, Frame};

/// Frames of one client that are queued for the actor; reading pauses beyond them.
const MAX_QUEUED_FRAMES: usize = 8;

/// Bytes per read(2).
const READ_BYTES: usize = 64 * 1024;

/// How long a closing connection may take for its last batch.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A bidirectional byte stream.
pub(super) trait ByteLink: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> ByteLink for S {}

impl fmt::Debug for dyn ByteLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ByteLink")
    }
}

/// An event of a connection.
#[derive(Debug)]
pub(super) enum ConnectionEvent {
    Frame(Frame),
    /// The bytes received are not a frame, for this reason.
    DecodeError(String),
    /// A batch was written.
    Sent,
    Closed,
}

/// The sender of connection events to the actor.
pub(super) type EventSender = mpsc::UnboundedSender<(ClientId, ConnectionEvent)>;

/// The actor's side of a connection.
#[derive(Debug)]
pub(super) struct Connection {
    batches: Option<mpsc::Sender<Bytes>>,
    /// Whether a batch is being written.
    is_sending: bool,
    /// Permits to read frames.
    permits: Arc<Semaphore>,
    /// Frames received since permits were last returned.
    received: usize,
    /// When the connection is dropped even if its last batch is unsent.
    expires: Option<Instant>,
    reader: JoinHandle<()>,
    writer: Option<JoinHandle<()>>,
}

impl Connection {
    /// Spawns the reader and the writer, which report to `events`.
    pub(super) fn open(client: ClientId, link: Box<dyn ByteLink>, events: EventSender) -> Self {
        let (read, write) = tokio::io::split(link);
        let (batches, queue) = mpsc::channel(1);
        let permits = Arc::new(Semaphore::new(MAX_QUEUED_FRAMES));
        let writer = tokio::spawn(write_batches(client, write, queue, events.clone()));
        let reader = tokio::spawn(read_frames(client, read, Arc::clone(&permits), events));
        Self {
            batches: Some(batches),
            is_sending: false,
            permits,
            received: 0,
            expires: None,
            reader,
            writer: Some(writer),
        }
    }

    /// Whether a batch can be sent.
    pub(super) fn is_idle(&self) -> bool {
        !self.is_sending && self.batches.is_some()
    }

    pub(super) fn send(&mut self, batch: Bytes) {
        if let Some(batches) = &self.batches {
            self.is_sending = batches.try_send(batch).is_ok();
        }
    }

    pub(super) fn on_sent(&mut self) {
        self.is_sending = false;
    }

    /// Counts a frame that was received.
    pub(super) fn on_frame(&mut self) {
        self.received += 1;
    }

    /// Permits as many frames as were received since the last call.
    pub(super) fn permit_frames(&mut self) {
        self.permits.add_permits(std::mem::take(&mut self.received));
    }

    /// Closes the connection after the last batch, or after [`CLOSE_TIMEOUT`].
    pub(super) fn finish(&mut self) {
        self.batches = None;
        self.expires
            .get_or_insert_with(|| Instant::now() + CLOSE_TIMEOUT);
    }

    /// When the connection is to be dropped, if it is closing.
    pub(super) fn expires(&self) -> Option<Instant> {
        self.expires
    }
}

/// Leaves the writer [`CLOSE_TIMEOUT`] for the last batch.
impl Drop for Connection {
    fn drop(&mut self) {
        self.reader.abort();
        self.batches = None;
        let Some(mut writer) = self.writer.take() else {
            return;
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(async move {
                if timeout(CLOSE_TIMEOUT, &mut writer).await.is_err() {
                    writer.abort();
                }
            })),
            Err(_) => writer.abort(),
        }
    }
}

async fn read_frames(
    client: ClientId,
    mut from: ReadHalf<Box<dyn ByteLink>>,
    permits: Arc<Semaphore>,
    events: EventSender,
) {
    let mut decoder = Decoder::new();
    let mut buffer = BytesMut::new();
    loop {
        loop {
            match decoder.next() {
                Ok(None) => break,
                Ok(Some(frame)) => {
                    let Ok(permit) = permits.acquire().await else {
                        return;
                    };
                    permit.forget();
                    let _ = events.send((client, ConnectionEvent::Frame(frame)));
                }
                Err(error) => {
                    let _ = events.send((client, ConnectionEvent::DecodeError(error.to_string())));
                    return;
                }
            }
        }
        if !buffer.try_reclaim(READ_BYTES) {
            buffer = BytesMut::with_capacity(READ_BYTES);
        }
        match from.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(_) => decoder.push(buffer.split().freeze()),
        }
    }
    let _ = events.send((client, ConnectionEvent::Closed));
}

/// Writes a batch. Fails if the client takes nothing for [`DEAD_AFTER`], even if it pings.
async fn write_all(to: &mut WriteHalf<Box<dyn ByteLink>>, mut batch: Bytes) -> io::Result<()> {
    while !batch.is_empty() {
        if timeout(DEAD_AFTER, to.write_buf(&mut batch)).await?? == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
    }
    Ok(())
}

async fn write_batches(
    client: ClientId,
    mut to: WriteHalf<Box<dyn ByteLink>>,
    mut queue: mpsc::Receiver<Bytes>,
    events: EventSender,
) {
    while let Some(batch) = queue.recv().await {
        if write_all(&mut to, batch).await.is_err() {
            break;
        }
        let _ = events.send((client, ConnectionEvent::Sent));
    }
    let _ = to.shutdown().await;
    let _ = events.send((client, ConnectionEvent::Closed));
}
