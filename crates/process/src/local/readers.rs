//! Readers of a child's streams, polled by the caller's own task.

use std::cell::RefCell;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;

use super::stream_reader::{READ_BYTES, StreamReader};
use crate::log::Piece;
use crate::stream::Stream;

/// Every this many polls stderr is read before stdout, so that continuous output does not starve
/// it.
const ERRORS_FIRST: u8 = 16;

thread_local! {
    /// Read buffer shared by all readers of this thread. Usually the bytes of the previous read
    /// have been consumed and its memory is reused, so that an idle session holds no buffer.
    static BUFFER: RefCell<BytesMut> = RefCell::new(BytesMut::new());
}

/// Readers of the output and stderr streams. If dropped inside a tokio runtime, background tasks
/// read the streams into their logs.
#[derive(Debug)]
pub struct StreamReaders {
    output: Option<StreamReader>,
    errors: Option<StreamReader>,
    turn: u8,
}

impl StreamReaders {
    pub(super) fn new(output: StreamReader, errors: Option<StreamReader>) -> Self {
        Self {
            output: Some(output),
            errors,
            turn: 0,
        }
    }

    /// Polls for the next piece of a stream, or `None` in place of the piece at the end of that
    /// stream. Returns `None` after both streams have ended.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(Stream, Option<Piece>)>> {
        self.turn = (self.turn + 1) % ERRORS_FIRST;
        let order = match self.turn {
            0 => [Stream::Errors, Stream::Output],
            _ => [Stream::Output, Stream::Errors],
        };
        for stream in order {
            let reader = match stream {
                Stream::Output => &mut self.output,
                Stream::Errors => &mut self.errors,
            };
            if let Poll::Ready(piece) = poll_piece(reader, cx) {
                return Poll::Ready(Some((stream, piece)));
            }
        }
        if self.output.is_none() && self.errors.is_none() {
            return Poll::Ready(None);
        }
        Poll::Pending
    }
}

/// Polls for the next piece of a stream. The end is returned once.
fn poll_piece(from: &mut Option<StreamReader>, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
    let Some(reader) = from.as_ref() else {
        return Poll::Pending;
    };
    let read = BUFFER.with_borrow_mut(|buffer| {
        // Reuses the memory if no piece of it is referenced; otherwise the read allocates.
        let _ = buffer.try_reclaim(READ_BYTES);
        reader.poll_bytes(cx, buffer)
    });
    let piece = ready!(read).and_then(|bytes| {
        let offset = reader.log().pass(&bytes)?;
        Some(Piece::Bytes { offset, bytes })
    });
    if piece.is_none() {
        *from = None;
    }
    Poll::Ready(piece)
}

impl Drop for StreamReaders {
    fn drop(&mut self) {
        let left = [self.output.take(), self.errors.take()];
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            for reader in left.into_iter().flatten() {
                runtime.spawn(reader.read_to_end());
            }
        }
    }
}
