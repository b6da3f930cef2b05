//! Reads a session's streams in the task of its owner.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use bowline_process::LogReader;
use bowline_process::Piece;
use bowline_process::Stream;
use bowline_process::StreamReaders;

/// Reads both streams of a session in the task of its owner. For a local session the bytes come directly
/// from the descriptors, without a task, buffer or copy in between; other readers of the same streams get
/// them from the logs.
///
/// Nothing is read while this is not polled. Once dropped, the session reads its streams itself.
#[derive(Debug)]
pub struct OutputReader {
    source: OutputSource,
}

#[derive(Debug)]
enum OutputSource {
    Descriptors(StreamReaders),
    Readers([StreamRead; 2]),
}

impl OutputReader {
    pub(crate) fn of_descriptors(readers: StreamReaders) -> Self {
        let source = OutputSource::Descriptors(readers);
        Self { source }
    }

    /// Returns a reader of a session whose streams another task appends to: its output, its errors.
    pub fn of_readers(readers: [LogReader; 2]) -> Self {
        let source = OutputSource::Readers(readers.map(StreamRead::begin));
        Self { source }
    }

    /// Waits for the next piece of a stream, or its end (`None` as the piece). Returns `None` after both
    /// ends. Waits as well while a slow reader blocks the child.
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<(Stream, Option<Piece>)> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Polls for [`next`](Self::next).
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(Stream, Option<Piece>)>> {
        match &mut self.source {
            OutputSource::Descriptors(readers) => readers.poll_next(cx),
            OutputSource::Readers([output, errors]) => {
                // Standard error first: it is short and may explain the output.
                let sources = [(Stream::Errors, errors), (Stream::Output, output)];
                let mut is_ended = true;
                for (stream, reading) in sources {
                    if let Poll::Ready(piece) = reading.poll(cx) {
                        return Poll::Ready(Some((stream, piece)));
                    }
                    is_ended &= reading.is_ended();
                }
                if is_ended {
                    Poll::Ready(None)
                } else {
                    Poll::Pending
                }
            }
        }
    }
}

/// A read in progress, which returns the reader with the piece.
type NextPiece = Pin<Box<dyn Future<Output = (LogReader, Option<Piece>)> + Send>>;

/// A stream that is read until its end was returned.
struct StreamRead(Option<NextPiece>);

impl StreamRead {
    fn begin(mut reader: LogReader) -> Self {
        Self(Some(Box::pin(async move {
            let piece = reader.next().await;
            (reader, piece)
        })))
    }

    fn is_ended(&self) -> bool {
        self.0.is_none()
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        let Some(next) = &mut self.0 else {
            return Poll::Pending;
        };
        next.as_mut().poll(cx).map(|(reader, piece)| {
            *self = if piece.is_some() {
                Self::begin(reader)
            } else {
                Self(None)
            };
            piece
        })
    }
}

impl fmt::Debug for StreamRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamRead")
            .field("is_ended", &self.is_ended())
            .finish()
    }
}
