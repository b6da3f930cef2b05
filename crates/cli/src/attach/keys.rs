//! What is typed at our terminal, on its way to the session.

use std::future::{Future, pending};
use std::io::{self, Read as _};
use std::pin::Pin;
use std::time::Duration;

use bowline_lifecycle::TerminalSession;
use bytes::{Bytes, BytesMut};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::timeout;

/// Leaves the session: `^]`, as in telnet(1).
const LEAVE: u8 = 0x1d;

/// Keys that wait for the session, in bytes: more than anybody types. What is pasted beyond that
/// stays with our terminal until there is room.
const WAITING: usize = 1 << 20;

/// Most bytes of one write.
const WRITE: usize = 64 << 10;

/// How long keys that were typed before the session was left may take to get there.
const LAST_KEYS: Duration = Duration::from_secs(1);

type Writing = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Passes keys on. The session takes them when it likes, and nobody else waits for that.
pub(super) struct Keys<'a> {
    session: &'a TerminalSession,
    typed: Receiver<Bytes>,
    waiting: BytesMut,
    writing: Option<Writing>,
}

impl<'a> Keys<'a> {
    pub(super) fn new(session: &'a TerminalSession) -> Self {
        Self {
            session,
            typed: typed(),
            waiting: BytesMut::new(),
            writing: None,
        }
    }

    /// Passes keys on until the session is to be left. Loses nothing when it is dropped.
    pub(super) async fn until_left(&mut self) {
        loop {
            let is_room = self.waiting.len() < WAITING;
            tokio::select! {
                keys = self.typed.recv(), if is_room => {
                    if self.take(keys) {
                        return;
                    }
                }
                () = done(&mut self.writing) => self.writing = None,
            }
            self.write();
        }
    }

    /// Lets keys that wait go, unless nothing takes them.
    pub(super) async fn flush(&mut self) {
        if !self.session.connection().borrow().is_up() {
            return;
        }
        let written = async {
            self.write();
            while self.writing.is_some() {
                done(&mut self.writing).await;
                self.writing = None;
                self.write();
            }
        };
        // Whoever leaves a session that does not read has no use for what it has not read.
        let _ = timeout(LAST_KEYS, written).await;
    }

    /// Whether the session is to be left. It is when nobody can type any more.
    fn take(&mut self, keys: Option<Bytes>) -> bool {
        let Some(keys) = keys else { return true };
        let leave = keys.iter().position(|key| *key == LEAVE);
        let until = leave.unwrap_or(keys.len());
        self.waiting.extend_from_slice(&keys[..until]);
        leave.is_some()
    }

    /// Begins the next write, if there is one and none is on its way.
    fn write(&mut self) {
        if self.writing.is_some() || self.waiting.is_empty() {
            return;
        }
        let length = self.waiting.len().min(WRITE);
        let keys = self.waiting.split_to(length).freeze();
        let session = self.session.clone();
        self.writing = Some(Box::pin(async move {
            // A session that takes nothing any more is about to be told as ended.
            let _ = session.write(keys).await;
        }));
    }
}

async fn done(writing: &mut Option<Writing>) {
    match writing {
        Some(writing) => writing.await,
        None => pending().await,
    }
}

/// What our terminal gives. A thread reads it and ends with the program: a runtime would wait for a
/// read of its own, and so for the next key.
fn typed() -> Receiver<Bytes> {
    let (send, typed) = channel(1);
    std::thread::spawn(move || {
        let (mut stdin, mut keys) = (io::stdin().lock(), [0; 4096]);
        loop {
            let read = match stdin.read(&mut keys) {
                Ok(0) => break,
                Ok(length) => Bytes::copy_from_slice(&keys[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            if send.blocking_send(read).is_err() {
                break;
            }
        }
    });
    typed
}
