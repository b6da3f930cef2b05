//! Reads a session's streams in the task of its owner.

use std::future::poll_fn;
use std::task::{Context, Poll};

use bowline_process::Stream;
use bowline_process::StreamReaders;

use crate::received::Received;
#[cfg(feature = "remote")]
use crate::remote::DialogueReader;

/// Reads the streams of a session in the task of its owner. For a local session the bytes come directly
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
    #[cfg(feature = "remote")]
    Dialogue(Box<DialogueReader>),
}

impl OutputReader {
    pub(crate) fn of_descriptors(readers: StreamReaders) -> Self {
        let source = OutputSource::Descriptors(readers);
        Self { source }
    }

    #[cfg(feature = "remote")]
    pub(crate) fn of_dialogue(reader: DialogueReader) -> Self {
        let source = OutputSource::Dialogue(Box::new(reader));
        Self { source }
    }

    /// Waits for the next piece of a stream, or the end of one. Returns `None` after the ends of the output
    /// and of standard error. Waits as well while a slow reader blocks the child.
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<Received> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Polls for [`next`](Self::next).
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Received>> {
        match &mut self.source {
            OutputSource::Descriptors(readers) => readers.poll_next(cx).map(|read| {
                let (stream, piece) = read?;
                Some(match (stream, piece) {
                    (Stream::Output, Some(piece)) => Received::Output(piece.into()),
                    (Stream::Errors, Some(piece)) => Received::Errors(piece),
                    (stream, None) => Received::Ended(stream),
                })
            }),
            #[cfg(feature = "remote")]
            OutputSource::Dialogue(reader) => reader.poll_next(cx),
        }
    }
}
