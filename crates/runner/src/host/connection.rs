//! One connection: a task that reads frames and one that writes them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{
    AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf,
};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::core::ClientId;
use crate::wire::{Decoder, Frame};

/// Frames of one client that wait for the session's owner. Beyond them nothing is read from it.
const FRAMES: usize = 8;

/// Bytes that are read at a time.
const READ_BYTES: usize = 64 * 1024;

/// How long a connection that is to be closed has for its last batch.
const LAST_BATCH: Duration = Duration::from_secs(2);

/// Anything that bytes go over.
pub(super) trait Link: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Link for S {}

impl fmt::Debug for dyn Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Link")
    }
}

/// What happened on a connection.
#[derive(Debug)]
pub(super) enum Heard {
    Frame(Frame),
    /// What came was no frame.
    Garbled(String),
    /// A batch has gone out.
    Sent,
    Closed,
}

/// The owner's end of a connection.
#[derive(Debug)]
pub(super) struct Connection {
    batches: Option<mpsc::Sender<Bytes>>,
    /// Whether a batch is on its way out.
    busy: bool,
    /// Frames that may be read.
    allowed: Arc<Semaphore>,
    /// Frames that were taken in, and have not been allowed anew.
    owed: usize,
    /// When it is given up though its last batch is still on its way.
    expires: Option<Instant>,
    reader: JoinHandle<()>,
    writer: Option<JoinHandle<()>>,
}

impl Connection {
    /// Begins to read and write. What is heard goes to `heard`.
    pub(super) fn open(
        client: ClientId,
        link: Box<dyn Link>,
        heard: mpsc::UnboundedSender<(ClientId, Heard)>,
    ) -> Self {
        let (read, write) = tokio::io::split(link);
        let (batches, queue) = mpsc::channel(1);
        let allowed = Arc::new(Semaphore::new(FRAMES));
        let writer = tokio::spawn(write_out(client, write, queue, heard.clone()));
        let reader = tokio::spawn(read_in(client, read, Arc::clone(&allowed), heard));
        Self {
            batches: Some(batches),
            busy: false,
            allowed,
            owed: 0,
            expires: None,
            reader,
            writer: Some(writer),
        }
    }

    /// Whether a batch can be sent.
    pub(super) fn is_idle(&self) -> bool {
        !self.busy && self.batches.is_some()
    }

    pub(super) fn send(&mut self, batch: Bytes) {
        if let Some(batches) = &self.batches {
            self.busy = batches.try_send(batch).is_ok();
        }
    }

    pub(super) fn sent(&mut self) {
        self.busy = false;
    }

    /// One frame was taken in.
    pub(super) fn took(&mut self) {
        self.owed += 1;
    }

    /// Lets the client send as much again as was taken in.
    pub(super) fn allow(&mut self) {
        self.allowed.add_permits(std::mem::take(&mut self.owed));
    }

    /// No batch follows: the connection closes behind the last one, or soon.
    pub(super) fn finish(&mut self) {
        self.batches = None;
        self.expires
            .get_or_insert_with(|| Instant::now() + LAST_BATCH);
    }

    /// When it is to be given up, if it is to be closed.
    pub(super) fn expires(&self) -> Option<Instant> {
        self.expires
    }
}

/// What was sent may still go out; a peer that takes nothing is not waited for.
impl Drop for Connection {
    fn drop(&mut self) {
        self.reader.abort();
        self.batches = None;
        let Some(mut writer) = self.writer.take() else {
            return;
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(async move {
                if timeout(LAST_BATCH, &mut writer).await.is_err() {
                    writer.abort();
                }
            })),
            Err(_) => writer.abort(),
        }
    }
}

async fn read_in(
    client: ClientId,
    mut from: ReadHalf<Box<dyn Link>>,
    allowed: Arc<Semaphore>,
    heard: mpsc::UnboundedSender<(ClientId, Heard)>,
) {
    let mut decoder = Decoder::new();
    let mut buffer = BytesMut::new();
    loop {
        loop {
            match decoder.next() {
                Ok(None) => break,
                Ok(Some(frame)) => {
                    let Ok(permit) = allowed.acquire().await else {
                        return;
                    };
                    permit.forget();
                    let _ = heard.send((client, Heard::Frame(frame)));
                }
                Err(error) => {
                    let _ = heard.send((client, Heard::Garbled(error.to_string())));
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
    let _ = heard.send((client, Heard::Closed));
}

async fn write_out(
    client: ClientId,
    mut to: WriteHalf<Box<dyn Link>>,
    mut queue: mpsc::Receiver<Bytes>,
    heard: mpsc::UnboundedSender<(ClientId, Heard)>,
) {
    while let Some(batch) = queue.recv().await {
        if to.write_all(&batch).await.is_err() {
            break;
        }
        let _ = heard.send((client, Heard::Sent));
    }
    let _ = to.shutdown().await;
    let _ = heard.send((client, Heard::Closed));
}
