//! Forwards keys from this terminal to the session.

use std::future::{Future, pending};
use std::io::{self, Read as _};
use std::pin::Pin;
use std::time::Duration;

use bowline_lifecycle::TerminalSession;
use bytes::{Bytes, BytesMut};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::timeout;

/// The key that detaches: `^]`, as in telnet(1).
const DETACH_KEY: u8 = 0x1d;

/// Bytes that are buffered for a slow session, more than is ever pasted. The rest of a longer paste
/// stays in this terminal's own buffer, and the detach key after it.
const MAX_PENDING: usize = 64 << 20;

/// Largest write, in bytes.
const MAX_WRITE: usize = 64 << 10;

/// Largest read, in bytes: what a terminal buffers (termios(3)).
const READ_BYTES: usize = 4096;

/// How long keys typed before a detach may take to reach the session.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

type Write = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Forwards keys without blocking the output while the session takes them slowly.
pub(super) struct Keyboard<'a> {
    session: &'a TerminalSession,
    /// Whether only the detach key has an effect.
    is_read_only: bool,
    keys: Keys,
    pending: BytesMut,
    write: Option<Write>,
}

impl<'a> Keyboard<'a> {
    pub(super) fn new(session: &'a TerminalSession, is_read_only: bool, keys: Keys) -> Self {
        Self {
            session,
            is_read_only,
            keys,
            pending: BytesMut::new(),
            write: None,
        }
    }

    /// Forwards keys until the detach key or the end of input. Cancel safe.
    pub(super) async fn until_detach(&mut self) {
        loop {
            let has_room = self.pending.len() < MAX_PENDING;
            tokio::select! {
                keys = self.keys.next(), if has_room => {
                    if self.push(keys) {
                        return;
                    }
                }
                () = finished(&mut self.write) => self.write = None,
            }
            self.start_write();
        }
    }

    /// Writes the pending keys, for at most [`FLUSH_TIMEOUT`]. Drops them if the connection is down.
    pub(super) async fn flush(&mut self) {
        if !self.session.connection().borrow().is_up() {
            return;
        }
        let flushed = async {
            self.start_write();
            while self.write.is_some() {
                finished(&mut self.write).await;
                self.write = None;
                self.start_write();
            }
        };
        // A session that does not read its input does not hold up the detach.
        let _ = timeout(FLUSH_TIMEOUT, flushed).await;
    }

    /// Buffers keys. Returns whether to detach: on the detach key, or if input has ended (`None`).
    fn push(&mut self, keys: Option<Bytes>) -> bool {
        let Some(keys) = keys else { return true };
        let detach = keys.iter().position(|key| *key == DETACH_KEY);
        let end = detach.unwrap_or(keys.len());
        if !self.is_read_only {
            self.pending.extend_from_slice(&keys[..end]);
        }
        detach.is_some()
    }

    /// Starts the next write if keys are pending and no write is in progress.
    fn start_write(&mut self) {
        if self.write.is_some() || self.pending.is_empty() {
            return;
        }
        let length = self.pending.len().min(MAX_WRITE);
        let keys = self.pending.split_to(length).freeze();
        let session = self.session.clone();
        self.write = Some(Box::pin(async move {
            // Fails if the session has ended, which its output reports.
            let _ = session.write(keys).await;
        }));
    }
}

async fn finished(write: &mut Option<Write>) {
    match write {
        Some(write) => write.await,
        None => pending().await,
    }
}

/// The keys of this terminal.
pub(super) enum Keys {
    /// The terminal, which does not block.
    Terminal(pipe::Receiver),
    /// A thread that reads a terminal that the reactor cannot watch, such as `/dev/tty` on macOS.
    Thread(Receiver<Bytes>),
}

impl Keys {
    /// Waits for keys; `None` at the end of input. Cancel safe.
    async fn next(&mut self) -> Option<Bytes> {
        let terminal = match self {
            Self::Terminal(terminal) => terminal,
            Self::Thread(keys) => return keys.recv().await,
        };
        let mut keys = BytesMut::with_capacity(READ_BYTES);
        loop {
            match terminal.read_buf(&mut keys).await {
                Ok(0) => return None,
                Ok(_) => return Some(keys.freeze()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
    }

    /// Reads this terminal on a thread that ends with the program. The runtime would wait for a read of
    /// its own at shutdown, and so for the next key.
    pub(super) fn on_thread() -> Self {
        let (sender, typed) = channel(1);
        std::thread::spawn(move || {
            let (mut stdin, mut keys) = (io::stdin().lock(), [0; READ_BYTES]);
            loop {
                let read = match stdin.read(&mut keys) {
                    Ok(0) => break,
                    Ok(length) => Bytes::copy_from_slice(&keys[..length]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => break,
                };
                if sender.blocking_send(read).is_err() {
                    break;
                }
            }
        });
        Self::Thread(typed)
    }
}
