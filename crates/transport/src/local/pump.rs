//! From a descriptor into a log: one read per readiness, in chunks that nobody copies again.

use std::sync::Arc;

use bytes::BytesMut;
use rustix::io::Errno;
use tokio::io::unix::AsyncFdReadyGuard;

use super::Wire;
use crate::log::shared::SharedLog;
use crate::sys::{self, Filled};

/// Bytes asked for per read: the usual size of a pipe, and what a terminal gives at most.
const READ_BYTES: usize = 64 * 1024;

enum Got {
    Bytes,
    Nothing,
    End,
}

/// Reads until the end. On a terminal that is EIO (Linux) or 0 (elsewhere), never a hang-up by
/// itself: bytes may be left behind it.
pub(super) async fn run(wire: Wire, log: Arc<SharedLog>, console: bool) {
    let mut buffer = BytesMut::new();
    loop {
        // The one place where a child is held back, and only by a log that blocks.
        let room = log.room().await.min(READ_BYTES);
        let Ok(mut ready) = wire.readable().await else {
            break;
        };
        match read(&mut ready, &mut buffer, room, console) {
            Got::Bytes => log.push(buffer.split().freeze()),
            Got::Nothing => {}
            Got::End => break,
        }
        // A child that writes without rest must not keep other sessions off this thread.
        tokio::task::coop::consume_budget().await;
    }
    log.close();
}

fn read(
    ready: &mut AsyncFdReadyGuard<'_, std::os::fd::OwnedFd>,
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
            Some(Errno::IO) if console => Got::End,
            _ => {
                tracing::warn!(%error, "stream cannot be read any more");
                Got::End
            }
        },
        Err(_would_block) => Got::Nothing,
    }
}
