//! Writes the recording of a session.

use std::io;
use std::path::{Path, PathBuf};

use bowline_transport::{Exit, LogReader, Piece, Stream, TerminalSession};
use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::journal::JournalRecorder;
use super::note::{EndOffset, Note, RecordedOutput, RecordingNotes};
use crate::error::StartError;

/// Extension of a file that is written as a journal.
const JOURNAL_EXTENSION: &str = "bjl";

/// A recording that has not begun.
#[derive(Debug)]
pub(in crate::session) struct Recorder {
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

/// A running recording.
#[derive(Debug)]
pub(in crate::session) struct Recording {
    task: JoinHandle<Option<String>>,
    notes: RecordingNotes,
}

impl Recorder {
    /// Creates the file. An existing file is an error.
    pub(in crate::session) async fn create(
        path: Option<&Path>,
    ) -> Result<Option<Self>, StartError> {
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
                source: with_remedy(source),
            }),
        }
    }

    /// Removes the empty file after a failed start.
    pub(in crate::session) async fn discard(recorder: Option<Self>) {
        if let Some(recorder) = recorder {
            // The error of the start matters more than this one.
            let _ = tokio::fs::remove_file(&recorder.path).await;
        }
    }

    /// Removes the recording of an agent that exited without a word. A journal has what was written to the
    /// agent, and is kept.
    pub(in crate::session) async fn discard_empty(path: &Path) {
        if let Ok(file) = tokio::fs::metadata(path).await
            && file.len() == 0
        {
            // The error of the start matters more than this one.
            let _ = tokio::fs::remove_file(path).await;
        }
    }

    /// Returns where the output can be read.
    pub(in crate::session) fn recorded(&self) -> RecordedOutput {
        RecordedOutput {
            path: self.path.clone(),
            is_journal: matches!(self.format, Format::Journal(_)),
            end: self.end.subscribe(),
        }
    }

    /// Starts the task that records until the session's end.
    pub(in crate::session) fn start(self, terminal: &TerminalSession) -> Recording {
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

/// Adds what to do about a file that exists, which the system's text does not say.
fn with_remedy(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::AlreadyExists => io::Error::new(
            io::ErrorKind::AlreadyExists,
            "the file exists; name another one, or remove it",
        ),
        _ => error,
    }
}

impl Recording {
    pub(in crate::session) fn notes(&self) -> RecordingNotes {
        self.notes.clone()
    }

    /// Closes the file. Returns why the recording is incomplete, if it is.
    pub(in crate::session) async fn finish(self, exit: Exit) -> Option<String> {
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
