//! Recording a session to a file while it runs: the agent's output alone, or all streams with their
//! offsets as a journal.

mod journal;

use std::path::{Path, PathBuf};

use bowline_transport::{Exit, LogReader, Piece, Stream, TerminalSession};
use bytes::Bytes;
use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::error::StartError;

use journal::JournalRecorder;
pub(super) use journal::output_stream;

/// Extension of a file that is written as a journal.
const JOURNAL_EXTENSION: &str = "bjl";

/// A recording that has not begun.
#[derive(Debug)]
pub(super) struct Recorder {
    format: Format,
    path: PathBuf,
    end: EndOffset,
}

#[derive(Debug)]
enum Format {
    /// The agent's output, byte for byte.
    Output(File),
    /// All streams.
    Journal(JournalRecorder),
}

/// End offset of the agent's output in the file; dropped when nothing more will be written.
type EndOffset = watch::Sender<u64>;

/// The agent's output in a recording, to be read again while the recording grows.
#[derive(Clone, Debug)]
pub(super) struct RecordedOutput {
    pub(super) path: PathBuf,
    pub(super) is_journal: bool,
    /// End offset of the output that can be read.
    pub(super) end: watch::Receiver<u64>,
}

/// A running recording.
#[derive(Debug)]
pub(super) struct Recording {
    task: JoinHandle<Option<String>>,
    notes: RecordingNotes,
}

/// Sends a recording what is in no output stream.
#[derive(Clone, Debug)]
pub(super) struct RecordingNotes(mpsc::UnboundedSender<Note>);

#[derive(Debug)]
enum Note {
    /// A line was written to the agent's input.
    Input(Bytes),
    /// The agent's process exited. The last note.
    Exit(Exit),
}

impl RecordingNotes {
    pub(super) fn input(&self, line: Bytes) {
        // A recording of the output alone has no receiver.
        let _ = self.0.send(Note::Input(line));
    }
}

impl Recorder {
    /// Creates the file. An existing file is an error.
    pub(super) async fn create(path: Option<&Path>) -> Result<Option<Self>, StartError> {
        let Some(path) = path else { return Ok(None) };
        let is_journal = path.extension().is_some_and(|it| it == JOURNAL_EXTENSION);
        let format = if is_journal {
            JournalRecorder::create(path).map(Format::Journal)
        } else {
            let mut options = OpenOptions::new();
            let file = options.write(true).create_new(true).open(path).await;
            file.map(Format::Output)
        };
        match format {
            Ok(format) => Ok(Some(Self {
                format,
                path: path.to_owned(),
                end: EndOffset::default(),
            })),
            Err(source) => Err(StartError::Record {
                path: path.display().to_string(),
                source,
            }),
        }
    }

    /// Removes the empty file after a failed start.
    pub(super) async fn discard(recorder: Option<Self>) {
        if let Some(recorder) = recorder {
            // The error of the start matters more than this one.
            let _ = tokio::fs::remove_file(&recorder.path).await;
        }
    }

    /// Returns where the output can be read.
    pub(super) fn recorded(&self) -> RecordedOutput {
        RecordedOutput {
            path: self.path.clone(),
            is_journal: matches!(self.format, Format::Journal(_)),
            end: self.end.subscribe(),
        }
    }

    /// Starts the task that records until the session's end.
    pub(super) fn start(self, terminal: &TerminalSession) -> Recording {
        let (notes, inbox) = mpsc::unbounded_channel();
        let output = terminal.reader(Stream::Output);
        let task = match self.format {
            Format::Output(file) => tokio::spawn(copy(file, output, self.end)),
            Format::Journal(journal) => {
                let errors = terminal.reader(Stream::Errors);
                let streams = [output, errors];
                tokio::spawn(journal.run(terminal.kind(), streams, inbox, self.end))
            }
        };
        Recording {
            task,
            notes: RecordingNotes(notes),
        }
    }
}

impl Recording {
    pub(super) fn notes(&self) -> RecordingNotes {
        self.notes.clone()
    }

    /// Closes the file. Returns why the recording is incomplete, if it is.
    pub(super) async fn finish(self, exit: Exit) -> Option<String> {
        let _ = self.notes.0.send(Note::Exit(exit));
        let result = self.task.await;
        result.unwrap_or_else(|error| Some(error.to_string()))
    }
}

/// Copies the output until it ends. Returns why the copy is incomplete, if it is. An I/O error stops
/// the recording and not the agent.
async fn copy(mut file: File, mut output: LogReader, end: EndOffset) -> Option<String> {
    while let Some(piece) = output.next().await {
        let (offset, bytes) = match piece {
            Piece::Bytes { offset, bytes } => (offset, bytes),
            Piece::Gap { from, to } => {
                return Some(format!("bytes {from} to {to} are missing"));
            }
        };
        let written = match file.write_all(&bytes).await {
            // Tokio writes on another thread until the flush.
            Ok(()) => file.flush().await,
            failed => failed,
        };
        if let Err(error) = written {
            return Some(error.to_string());
        }
        end.send_replace(offset + bytes.len() as u64);
    }
    None
}
