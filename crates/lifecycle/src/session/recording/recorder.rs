//! Writes the recording of a session.

use std::io;
use std::path::{Path, PathBuf};

use bowline_transport::{Exit, LogReader, Piece, Stream, TerminalSession};
use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::journal::JournalRecorder;
use super::kept_input::KeptInput;
use super::note::{EndOffset, Note, RecordedOutput, RecordingNotes};
use crate::error::{RecordError, StartError};

/// Extension of a file that is written as a journal.
const JOURNAL_EXTENSION: &str = "bjl";

/// A recording that has not begun.
#[derive(Debug)]
pub(in crate::session) struct Recorder {
    format: Format,
    path: PathBuf,
    end: EndOffset,
    /// Whether the session may have output that is not kept.
    is_late: bool,
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
    /// Bytes of output that were not kept when it began.
    missing: u64,
}

impl Recorder {
    /// Creates the file of a session that has not started. An existing file is an error.
    pub(in crate::session) async fn create(
        path: Option<&Path>,
    ) -> Result<Option<Self>, StartError> {
        let Some(path) = path else { return Ok(None) };
        let created = Self::create_file(path, false).await;
        created.map(Some).map_err(|source| StartError::Record {
            path: path.display().to_string(),
            source,
        })
    }

    /// Creates the file of a session that runs. An existing file is an error.
    pub(in crate::session) async fn create_late(path: &Path) -> Result<Self, RecordError> {
        let created = Self::create_file(path, true).await;
        created.map_err(|source| RecordError::Create {
            path: path.to_owned(),
            source,
        })
    }

    async fn create_file(path: &Path, is_late: bool) -> io::Result<Self> {
        let is_journal = path.extension().is_some_and(|it| it == JOURNAL_EXTENSION);
        let format = if is_journal {
            JournalRecorder::create(path).map(Format::Journal)
        } else {
            let mut options = OpenOptions::new();
            let file = options.write(true).create_new(true).open(path).await;
            file.map(Format::Output)
        };
        Ok(Self {
            format: format.map_err(with_remedy)?,
            path: path.to_owned(),
            end: EndOffset::default(),
            is_late,
        })
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

    /// Starts the task that records from the oldest byte that is kept until the session's end. `input` is
    /// what was written until now. Returns where the output can be read.
    pub(in crate::session) fn start(
        self,
        terminal: &TerminalSession,
        input: &KeptInput,
    ) -> (Recording, RecordedOutput) {
        let (notes, inbox) = mpsc::unbounded_channel();
        let notes = RecordingNotes(notes);
        input.lines().for_each(|line| notes.input(line.clone()));
        let output = terminal.reader(Stream::Output);
        let recorded = RecordedOutput {
            path: self.path,
            is_journal: matches!(self.format, Format::Journal(_)),
            begin: output.offset(),
            end: self.end.subscribe(),
        };
        let task = match self.format {
            Format::Output(file) => tokio::spawn(copy(file, output, self.end)),
            Format::Journal(journal) => {
                let errors = terminal.reader(Stream::Errors);
                let streams = [output, errors];
                tokio::spawn(journal.run(terminal.kind(), streams, inbox, self.end))
            }
        };
        let missing = if self.is_late { recorded.begin } else { 0 };
        let recording = Recording {
            task,
            notes,
            missing,
        };
        (recording, recorded)
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
        let failed = result.unwrap_or_else(|error| Some(error.to_string()));
        let missing = || {
            format!(
                "bytes 0 to {} of the output were no longer kept when it began",
                self.missing
            )
        };
        failed.or_else(|| (self.missing > 0).then(missing))
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
