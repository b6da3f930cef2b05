//! What a reader of a dialogue needs beside the output: the agent's input, and when and where all of it
//! arrived at the runner.

use std::sync::Arc;

use bowline_journal::{Arrival, Arrivals, Arrived};
use bowline_process::log::SharedLog;
use bowline_process::{Overflow, Piece, Stream};
use bowline_wire::StreamId;
use parking_lot::Mutex;

/// The input and the control stream of a dialogue, and the arrivals of its output and input.
#[derive(Debug)]
pub(super) struct DialogueLog {
    pub(super) input: Arc<SharedLog>,
    /// `None` if it is not received.
    pub(super) control: Option<Arc<SharedLog>>,
    /// Offset at which the output begins.
    pub(super) output_start: u64,
    arrivals: Mutex<Both>,
}

#[derive(Debug, Default)]
struct Both {
    output: Arrivals,
    input: Arrivals,
    control: Arrivals,
}

impl DialogueLog {
    /// Creates an empty log that keeps `capacity` bytes of each stream for its reader, beside output that begins at an
    /// offset.
    pub(super) fn new(capacity: usize, output_start: u64, follows_control: bool) -> Self {
        let log = || SharedLog::with_limits(capacity, Overflow::Block, 0);
        Self {
            input: log(),
            control: follows_control.then(log),
            output_start,
            arrivals: Mutex::default(),
        }
    }

    /// Notes the arrival of the bytes of a stream from an offset on, before they are appended to its log.
    pub(super) fn arrived(&self, stream: StreamId, offset: u64, arrival: Arrival) {
        match stream {
            StreamId::INPUT => self.arrivals.lock().input.push(offset, arrival),
            StreamId::CONTROL => self.arrivals.lock().control.push(offset, arrival),
            _ if stream.output() == Some(Stream::Output) => {
                self.arrivals.lock().output.push(offset, arrival);
            }
            _ => {}
        }
    }

    /// Cuts a piece of the output that was taken from its log into parts of one arrival each.
    pub(super) fn cut_output(&self, piece: Piece, on_part: impl FnMut(Arrived)) {
        self.arrivals.lock().output.cut(piece, on_part);
    }

    /// Cuts a piece of the input like [`cut_output`](Self::cut_output).
    pub(super) fn cut_input(&self, piece: Piece, on_part: impl FnMut(Arrived)) {
        self.arrivals.lock().input.cut(piece, on_part);
    }

    /// Cuts a piece of the control stream like [`cut_output`](Self::cut_output).
    pub(super) fn cut_control(&self, piece: Piece, on_part: impl FnMut(Arrived)) {
        self.arrivals.lock().control.cut(piece, on_part);
    }
}
