//! From a descriptor into a log: one read per readiness, in chunks that nobody copies again.

use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use rustix::io::Errno;
use tokio::io::unix::AsyncFdReadyGuard;

use super::Wire;
use crate::log::SharedLog;
use crate::sys::{self, Filled};

/// Bytes asked for per read: the usual size of a pipe.
pub(super) const READ_BYTES: usize = 64 * 1024;

/// A terminal gives a line or 4 KB a read: it is read on until so much is there, or nothing is left.
const COALESCED_BYTES: usize = 16 * 1024;

enum Got {
    Bytes,
    Nothing,
    /// The other side of the terminal is closed, and the line discipline was empty.
    HungUp,
    End,
}

/// Where one stream of the child comes out. Who has it fills the stream's log, and closes it.
#[derive(Debug)]
pub(super) struct Mouth {
    wire: Wire,
    log: Arc<SharedLog>,
    console: bool,
}

impl Mouth {
    pub(super) fn new(wire: Wire, log: Arc<SharedLog>, console: bool) -> Self {
        Self { wire, log, console }
    }

    pub(super) fn log(&self) -> &SharedLog {
        &self.log
    }

    /// What has come, read into the empty `buffer`; `None` at the end. On a terminal that is EIO
    /// (Linux) or 0 (elsewhere), never a hang-up by itself: bytes may be left behind it.
    pub(super) fn poll_bytes(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut BytesMut,
    ) -> Poll<Option<Bytes>> {
        loop {
            // The one place where a child is held back, and only by a log that blocks.
            let Some(room) = ready!(self.log.poll_room(cx)) else {
                return Poll::Ready(None);
            };
            // It takes from the task's budget: a child that writes without rest does not keep
            // other sessions off this thread.
            let Ok(mut ready) = ready!(self.wire.poll_read_ready(cx)) else {
                return Poll::Ready(None);
            };
            match read(&mut ready, buffer, room.min(READ_BYTES), self.console) {
                Got::Bytes => {
                    if self.console {
                        read_on(&mut ready, buffer, room.min(COALESCED_BYTES));
                    }
                    return Poll::Ready(Some(buffer.split().freeze()));
                }
                Got::Nothing => {}
                Got::HungUp | Got::End => return Poll::Ready(None),
            }
        }
    }

    /// Reads until the end, for nobody but the readers of the log.
    pub(super) async fn pump(self) {
        let mut buffer = BytesMut::new();
        while let Some(bytes) = poll_fn(|cx| self.poll_bytes(cx, &mut buffer)).await {
            self.log.push(bytes);
        }
    }
}

impl Drop for Mouth {
    fn drop(&mut self) {
        self.log.close();
    }
}

/// What more a terminal has, up to `most` bytes in all. Its end and its errors are met again by the
/// next read.
fn read_on(ready: &mut AsyncFdReadyGuard<'_, OwnedFd>, buffer: &mut BytesMut, most: usize) {
    while buffer.len() < most {
        let room = most - buffer.len();
        match ready.try_io(|wire| sys::read_into(wire.get_ref(), buffer, room)) {
            Ok(Ok(filled)) if filled.bytes > 0 => {}
            _ => return,
        }
    }
}

/// One read; on a terminal, a second one before its end is believed. Bytes that a worker of the
/// kernel was about to move up while the first one looked come to light then: one child in a
/// hundred thousand lost the end of its output without.
fn read(
    ready: &mut AsyncFdReadyGuard<'_, OwnedFd>,
    buffer: &mut BytesMut,
    room: usize,
    console: bool,
) -> Got {
    match read_once(ready, buffer, room, console) {
        Got::HungUp => read_once(ready, buffer, room, console),
        got => got,
    }
}

fn read_once(
    ready: &mut AsyncFdReadyGuard<'_, OwnedFd>,
    buffer: &mut BytesMut,
    room: usize,
    console: bool,
) -> Got {
    match ready.try_io(|wire| sys::read_into(wire.get_ref(), buffer, room)) {
        Ok(Ok(Filled { bytes: 0, .. })) => Got::End,
        Ok(Ok(filled)) => {
            // A short read has emptied a pipe, which saves the read that would say so. A terminal
            // gives a line or 4 KB at a time, whatever it has.
            if filled.is_short && !console {
                ready.clear_ready();
            }
            Got::Bytes
        }
        Ok(Err(error)) => match Errno::from_io_error(&error) {
            Some(Errno::INTR) => Got::Nothing,
            Some(Errno::IO) if console => Got::HungUp,
            _ => {
                tracing::warn!(%error, "stream cannot be read any more");
                Got::End
            }
        },
        Err(_would_block) => Got::Nothing,
    }
}
