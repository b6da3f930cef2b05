//! The streams of a session on this machine, read from their descriptors by its owner's own task.

use std::cell::RefCell;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;

use super::pump::{Mouth, READ_BYTES};
use crate::log::Piece;
use crate::stream::Stream;

/// One turn in so many, errors are looked for before output, so that output that never ends does
/// not keep them back.
const ERRORS_FIRST: u8 = 16;

thread_local! {
    /// Where every tap of this thread reads into. What was read is folded before the next read, as
    /// a rule, and then the buffer begins at its beginning again: a session that rests has none.
    static BUFFER: RefCell<BytesMut> = RefCell::new(BytesMut::new());
}

/// The descriptors of a session. Dropped, the session reads its streams by itself.
#[derive(Debug)]
pub struct StreamReaders {
    output: Option<Mouth>,
    errors: Option<Mouth>,
    turn: u8,
}

impl StreamReaders {
    pub(super) fn new(output: Mouth, errors: Option<Mouth>) -> Self {
        Self {
            output: Some(output),
            errors,
            turn: 0,
        }
    }

    /// A piece of a stream, or its end; `None` after all ends.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(Stream, Option<Piece>)>> {
        self.turn = (self.turn + 1) % ERRORS_FIRST;
        let order = match self.turn {
            0 => [Stream::Errors, Stream::Output],
            _ => [Stream::Output, Stream::Errors],
        };
        for stream in order {
            let mouth = match stream {
                Stream::Output => &mut self.output,
                Stream::Errors => &mut self.errors,
            };
            if let Poll::Ready(piece) = poll_piece(mouth, cx) {
                return Poll::Ready(Some((stream, piece)));
            }
        }
        if self.output.is_none() && self.errors.is_none() {
            return Poll::Ready(None);
        }
        Poll::Pending
    }
}

/// The next piece of a stream. Its end is told once.
fn poll_piece(from: &mut Option<Mouth>, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
    let Some(mouth) = from.as_ref() else {
        return Poll::Pending;
    };
    let read = BUFFER.with_borrow_mut(|buffer| {
        // From its beginning, if nobody holds a piece of it; otherwise the read finds room.
        let _ = buffer.try_reclaim(READ_BYTES);
        mouth.poll_bytes(cx, buffer)
    });
    let piece = ready!(read).and_then(|bytes| {
        let offset = mouth.log().pass(&bytes)?;
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
            for mouth in left.into_iter().flatten() {
                runtime.spawn(mouth.pump());
            }
        }
    }
}
