//! Reads the streams of a dialogue at a runner, output and input in the order of the session.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bowline_journal::{Arrived, Merge, Merged};
use bowline_process::{LogReader, Piece, Stream};

use super::dialogue_log::DialogueLog;
use super::terminal::Logs;
use crate::received::Received;

/// A reader of the logs of a session.
#[derive(Debug)]
pub(crate) struct DialogueReader {
    output: StreamRead,
    errors: StreamRead,
    input: StreamRead,
    control: StreamRead,
    /// `None` if the input is not received.
    log: Option<Arc<DialogueLog>>,
    merge: Merge,
    /// What was read of the control stream, until the output before it is.
    held: VecDeque<Arrived>,
    /// Whether the end of the output was returned.
    has_ended: bool,
}

impl DialogueReader {
    pub(super) fn new(logs: &Logs) -> Self {
        let log = logs.dialogue.clone();
        let input = log.as_ref().map(|log| log.input.reader());
        let control = logs.control().map(|log| log.reader());
        let output_start = log.as_ref().map_or(0, |log| log.output_start);
        Self {
            output: StreamRead::begin(logs.output.reader()),
            errors: StreamRead::begin(logs.errors.reader()),
            input: input.map_or(StreamRead(None), StreamRead::begin),
            control: control.map_or(StreamRead(None), StreamRead::begin),
            log,
            merge: Merge::at(output_start),
            held: VecDeque::new(),
            has_ended: false,
        }
    }

    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Received>> {
        // Standard error first: it is short and may explain the output.
        if let Poll::Ready(piece) = self.errors.poll(cx) {
            let ended = Received::Ended(Stream::Errors);
            return Poll::Ready(Some(piece.map_or(ended, Received::Errors)));
        }
        // What a host wanted comes before what it led to, if both are there.
        if let Some(piece) = self.poll_control(cx) {
            return Poll::Ready(Some(Received::Control(piece)));
        }
        if let Some(piece) = self.poll_merged(cx) {
            return Poll::Ready(Some(match piece {
                Merged::Output(piece) => Received::Output(piece),
                Merged::Input(piece) => Received::Input(piece),
            }));
        }
        // The end of the output is in its place only now.
        if let Some(piece) = self.poll_control(cx) {
            return Poll::Ready(Some(Received::Control(piece)));
        }
        let streams = [&self.output, &self.input, &self.control];
        if !streams.into_iter().all(StreamRead::is_ended) {
            return Poll::Pending;
        }
        if !std::mem::replace(&mut self.has_ended, true) {
            return Poll::Ready(Some(Received::Ended(Stream::Output)));
        }
        if self.errors.is_ended() {
            Poll::Ready(None)
        } else {
            Poll::Pending
        }
    }

    /// Returns the next piece of the control stream whose place was reached.
    fn poll_control(&mut self, cx: &mut Context<'_>) -> Option<Arrived> {
        while self.held.is_empty()
            && let Some(log) = &self.log
            && let Poll::Ready(Some(piece)) = self.control.poll(cx)
        {
            let held = &mut self.held;
            log.cut_control(piece, |part| held.push_back(part));
        }
        let place = self.held.front()?.arrival.output.unwrap_or(0);
        let is_reached = place <= self.merge.output_end() || self.output.is_ended();
        is_reached.then(|| self.held.pop_front()).flatten()
    }

    /// Returns the next piece of output or input that is there.
    fn poll_merged(&mut self, cx: &mut Context<'_>) -> Option<Merged> {
        // Output first: the runner sends input before the output that follows it, so that the input before
        // a piece of output that was read is in its log.
        if self.merge.needs_output()
            && let Poll::Ready(Some(piece)) = self.output.poll(cx)
        {
            let merge = &mut self.merge;
            match &self.log {
                Some(log) => log.cut_output(piece, |part| merge.push_output(part)),
                None => merge.push_output(piece.into()),
            }
        }
        if self.merge.needs_input()
            && let Some(log) = &self.log
            && let Poll::Ready(Some(piece)) = self.input.poll(cx)
        {
            let merge = &mut self.merge;
            log.cut_input(piece, |part| merge.push_input(part));
        }
        if self.output.is_ended() {
            self.merge.rest()
        } else {
            self.merge.next_piece()
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
