//! A session's streams, read by its owner's own task.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use bowline_process::LogReader;
use bowline_process::Piece;
use bowline_process::Stream;
use bowline_process::StreamReaders;

/// The streams of a session for an owner that reads them in its own task. On this machine bytes go
/// from the descriptor to whoever polls, without a task, a buffer or a copy in between. Readers of
/// the same streams get them from the logs as always.
///
/// Nothing is read while nobody polls, so that the owner must go on to; dropped, the session reads
/// its streams by itself.
#[derive(Debug)]
pub struct OutputReader {
    source: Source,
}

#[derive(Debug)]
enum Source {
    Descriptors(StreamReaders),
    Readers([Reading; 2]),
}

impl OutputReader {
    pub(crate) fn of_descriptors(readers: StreamReaders) -> Self {
        let source = Source::Descriptors(readers);
        Self { source }
    }

    /// Returns a reader of a session whose streams another task appends to: its output, its errors.
    pub fn of_readers(readers: [LogReader; 2]) -> Self {
        let source = Source::Readers(readers.map(Reading::begin));
        Self { source }
    }

    /// What comes next: a piece of a stream, or its end; `None` after all ends. Waits while there
    /// is nothing new, and while a reader holds the child back. Cancel safe: a dropped call takes
    /// nothing.
    pub async fn next(&mut self) -> Option<(Stream, Option<Piece>)> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// As [`next`](Self::next), for futures written by hand.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(Stream, Option<Piece>)>> {
        match &mut self.source {
            Source::Descriptors(readers) => readers.poll_next(cx),
            Source::Readers([output, errors]) => {
                // What is on standard error is little, and may say what the rest means.
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

/// A reader on its way to the next piece; it comes back with it.
type Next = Pin<Box<dyn Future<Output = (LogReader, Option<Piece>)> + Send>>;

/// A stream that is read, until its end was told.
struct Reading(Option<Next>);

impl Reading {
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

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading")
            .field("is_ended", &self.is_ended())
            .finish()
    }
}
