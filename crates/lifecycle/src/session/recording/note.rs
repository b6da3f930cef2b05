//! The inputs of a recording besides the output, and the progress that its readers see.

use std::path::PathBuf;

use bowline_reducer::dialect::DialectName;
use bowline_transport::Exit;
use bytes::Bytes;
use tokio::sync::{mpsc, watch};

/// End offset of the agent's output in the file; dropped when nothing more will be written.
pub(super) type EndOffset = watch::Sender<u64>;

/// The agent's output in a recording, to be read again while the recording grows.
#[derive(Clone, Debug)]
pub(in crate::session) struct RecordedOutput {
    pub(in crate::session) path: PathBuf,
    pub(in crate::session) is_journal: bool,
    /// End offset of the output that can be read.
    pub(in crate::session) end: watch::Receiver<u64>,
}

/// Where output that the transcript does not keep is read again.
#[derive(Clone, Debug)]
pub(in crate::session) struct OutputSources {
    /// The recording, if there is one.
    pub(in crate::session) recorded: Option<RecordedOutput>,
    /// The past conversation, which is the first run of the transcript.
    pub(in crate::session) history: Option<Bytes>,
    /// The protocol of both.
    pub(in crate::session) dialect: DialectName,
}

/// Sends a recording what is in no output stream.
#[derive(Clone, Debug)]
pub(in crate::session) struct RecordingNotes(pub(super) mpsc::UnboundedSender<Note>);

#[derive(Debug)]
pub(super) enum Note {
    /// A line that is about to be written to the agent's input.
    Input {
        line: Bytes,
        /// End of the output so far.
        output_end: u64,
    },
    /// The agent's process exited. The last note.
    Exit(Exit),
}

impl RecordingNotes {
    /// Records a line of input. To be called before it is written, so that its answer is recorded after it.
    pub(in crate::session) fn input(&self, line: Bytes, output_end: u64) {
        // A recording of the output alone has no receiver.
        let _ = self.0.send(Note::Input { line, output_end });
    }
}
