//! The inputs of a recording besides the output, and the progress that its readers see.

use std::path::PathBuf;

use bowline_transport::Exit;
use tokio::sync::{mpsc, watch};

use super::kept_input::InputLine;

/// End offset of the agent's output in the file; dropped when nothing more will be written.
pub(super) type EndOffset = watch::Sender<u64>;

/// The agent's output in a recording, to be read again while the recording grows.
#[derive(Clone, Debug)]
pub(in crate::session) struct RecordedOutput {
    pub(in crate::session) path: PathBuf,
    pub(in crate::session) is_journal: bool,
    /// Offset of the first byte of a file with the output alone.
    pub(in crate::session) begin: u64,
    /// End offset of the output that can be read.
    pub(in crate::session) end: watch::Receiver<u64>,
}

/// Sends a recording what is in no output stream.
#[derive(Clone, Debug)]
pub(in crate::session) struct RecordingNotes(pub(super) mpsc::UnboundedSender<Note>);

#[derive(Debug)]
pub(super) enum Note {
    /// A line that is about to be written to the agent's input.
    Input(InputLine),
    /// The agent's process exited. The last note.
    Exit(Exit),
}

impl RecordingNotes {
    /// Records a line of input. To be called before it is written, so that its answer is recorded after it.
    pub(in crate::session) fn input(&self, line: InputLine) {
        // A recording of the output alone has no receiver.
        let _ = self.0.send(Note::Input(line));
    }
}
