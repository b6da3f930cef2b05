//! Reads a descriptor into a log: one read(2) per readiness, in chunks that are not copied again.

use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use rustix::io::Errno;
use tokio::io::unix::AsyncFdReadyGuard;

use super::fds::SharedFd;
use crate::log::SharedLog;
use crate::sys::{self, Filled};

/// Bytes requested per read: the default capacity of a pipe (pipe(7)).
pub(super) const READ_BYTES: usize = 64 * 1024;

/// A terminal returns a line or 4 KB per read(2). Reading continues until this many bytes have been
/// read or none is left.
const COALESCED_BYTES: usize = 16 * 1024;

enum ReadOutcome {
    Bytes,
    Nothing,
    /// The other side of the terminal is closed, and the line discipline was empty.
    HungUp,
    End,
}

/// Reads one stream of the child into its log, and closes the log when dropped.
#[derive(Debug)]
pub(super) struct StreamReader {
    fd: SharedFd,
    log: Arc<SharedLog>,
    console: bool,
}

impl StreamReader {
    pub(super) fn new(fd: SharedFd, log: Arc<SharedLog>, console: bool) -> Self {
        Self { fd, log, console }
    }

    pub(super) fn log(&self) -> &SharedLog {
        &self.log
    }

    /// Reads the next bytes into the empty `buffer`; `None` at the end of the stream. On a terminal
    /// the end is EIO (Linux) or 0 (elsewhere). A hang-up alone is not the end, since unread bytes
    /// may remain.
    pub(super) fn poll_bytes(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut BytesMut,
    ) -> Poll<Option<Bytes>> {
        loop {
            // The only place that applies backpressure to a child, and only if the log blocks.
            let Some(room) = ready!(self.log.poll_room(cx)) else {
                return Poll::Ready(None);
            };
            // Readiness consumes the task's cooperative budget, so that a child that writes
            // continuously does not starve other sessions on this thread.
            let Ok(mut ready) = ready!(self.fd.poll_read_ready(cx)) else {
                return Poll::Ready(None);
            };
            match read(&mut ready, buffer, room.min(READ_BYTES), self.console) {
                ReadOutcome::Bytes => {
                    if self.console {
                        read_on(&mut ready, buffer, room.min(COALESCED_BYTES));
                    }
                    return Poll::Ready(Some(buffer.split().freeze()));
                }
                ReadOutcome::Nothing => {}
                ReadOutcome::HungUp | ReadOutcome::End => return Poll::Ready(None),
            }
        }
    }

    /// Reads until the end of the stream.
    pub(super) async fn read_to_end(self) {
        let mut buffer = BytesMut::new();
        while let Some(bytes) = poll_fn(|cx| self.poll_bytes(cx, &mut buffer)).await {
            self.log.push(bytes);
        }
    }
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        self.log.close();
    }
}

/// Reads more bytes of a terminal, up to `most` in total. An end or an error is left to the next
/// read.
fn read_on(ready: &mut AsyncFdReadyGuard<'_, OwnedFd>, buffer: &mut BytesMut, most: usize) {
    while buffer.len() < most {
        let room = most - buffer.len();
        match ready.try_io(|fd| sys::read_into(fd.get_ref(), buffer, room)) {
            Ok(Ok(filled)) if filled.bytes > 0 => {}
            _ => return,
        }
    }
}

/// Reads once; on a terminal, a hang-up is confirmed by a second read. A kernel worker may move
/// bytes to the reader's side during the first read. Without the second, about one child in a
/// hundred thousand lost the end of its output.
fn read(
    ready: &mut AsyncFdReadyGuard<'_, OwnedFd>,
    buffer: &mut BytesMut,
    room: usize,
    console: bool,
) -> ReadOutcome {
    match read_once(ready, buffer, room, console) {
        ReadOutcome::HungUp => read_once(ready, buffer, room, console),
        got => got,
    }
}

fn read_once(
    ready: &mut AsyncFdReadyGuard<'_, OwnedFd>,
    buffer: &mut BytesMut,
    room: usize,
    console: bool,
) -> ReadOutcome {
    match ready.try_io(|fd| sys::read_into(fd.get_ref(), buffer, room)) {
        Ok(Ok(Filled { bytes: 0, .. })) => ReadOutcome::End,
        Ok(Ok(filled)) => {
            // A short read has emptied a pipe, so the read that would return EAGAIN is skipped. A
            // terminal returns a line or 4 KB at a time regardless of what remains.
            if filled.is_short && !console {
                ready.clear_ready();
            }
            ReadOutcome::Bytes
        }
        Ok(Err(error)) => match Errno::from_io_error(&error) {
            Some(Errno::INTR) => ReadOutcome::Nothing,
            Some(Errno::IO) if console => ReadOutcome::HungUp,
            _ => {
                tracing::warn!(%error, "cannot read stream");
                ReadOutcome::End
            }
        },
        Err(_would_block) => ReadOutcome::Nothing,
    }
}
