//! Copies what a session says to a file while it comes: the agent's output alone, or, as a journal,
//! everything with its offsets.

mod journal;

use std::path::{Path, PathBuf};

use bowline_transport::{Exit, LogReader, Piece, Stream, TerminalSession};
use bytes::Bytes;
use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::error::StartError;

use journal::Journal;

/// The suffix of a file that is to be a journal.
const JOURNAL: &str = "bjl";

/// A recording that is about to begin.
#[derive(Debug)]
pub(super) enum Recorder {
    /// The agent's output, byte for byte.
    Output(File, PathBuf),
    /// Every stream.
    Journal(Journal, PathBuf),
}

/// A recording in the making.
#[derive(Debug)]
pub(super) struct Recording {
    task: JoinHandle<Option<String>>,
    notebook: Notebook,
}

/// Where what no log holds is written down, for the recordings that want it.
#[derive(Clone, Debug)]
pub(super) struct Notebook(mpsc::UnboundedSender<Note>);

#[derive(Debug)]
enum Note {
    /// The agent was sent this.
    Input(Bytes),
    /// The agent's process ended: the last note.
    Exit(Exit),
}

impl Notebook {
    /// The agent was sent this. Nobody listens if the recording is of the output alone.
    pub(super) fn sent(&self, bytes: Bytes) {
        let _ = self.0.send(Note::Input(bytes));
    }
}

impl Recorder {
    /// Makes the file. One that is there is never written over.
    pub(super) async fn create(path: Option<&Path>) -> Result<Option<Self>, StartError> {
        let Some(path) = path else { return Ok(None) };
        let is_journal = path.extension().is_some_and(|suffix| suffix == JOURNAL);
        let made = if is_journal {
            Journal::create(path).map(|journal| Self::Journal(journal, path.to_owned()))
        } else {
            let mut new = OpenOptions::new();
            let file = new.write(true).create_new(true).open(path).await;
            file.map(|file| Self::Output(file, path.to_owned()))
        };
        made.map(Some).map_err(|source| StartError::Record {
            path: path.display().to_string(),
            source,
        })
    }

    /// Takes back a file that nothing was written to.
    pub(super) async fn discard(recorder: Option<Self>) {
        if let Some(Self::Output(_, path) | Self::Journal(_, path)) = recorder {
            // The start has failed already, for a reason of its own.
            let _ = tokio::fs::remove_file(&path).await;
        }
    }

    /// Copies from now on until the session's end.
    pub(super) fn start(self, terminal: &TerminalSession) -> Recording {
        let (notes, inbox) = mpsc::unbounded_channel();
        let output = terminal.reader(Stream::Output);
        let task = match self {
            Self::Output(file, _) => tokio::spawn(copy(file, output)),
            Self::Journal(journal, _) => {
                let errors = terminal.reader(Stream::Errors);
                tokio::spawn(journal.copy(terminal.kind(), output, errors, inbox))
            }
        };
        let notebook = Notebook(notes);
        Recording { task, notebook }
    }
}

impl Recording {
    /// A notebook to take along.
    pub(super) fn notebook(&self) -> Notebook {
        self.notebook.clone()
    }

    /// Closes the file; gives why the copy is not whole.
    pub(super) async fn finish(self, exit: Exit) -> Option<String> {
        let _ = self.notebook.0.send(Note::Exit(exit));
        let ended = self.task.await;
        ended.unwrap_or_else(|error| Some(error.to_string()))
    }
}

/// Copies until the stream ends; gives why the copy is not whole. A disk that fails stops the
/// recording and not the agent.
async fn copy(mut file: File, mut output: LogReader) -> Option<String> {
    while let Some(piece) = output.next().await {
        let written = match piece {
            Piece::Bytes { bytes, .. } => file.write_all(&bytes).await,
            Piece::Gap { from, to } => {
                return Some(format!("bytes {from} to {to} are missing"));
            }
        };
        if let Err(error) = written {
            return Some(error.to_string());
        }
    }
    file.flush().await.err().map(|error| error.to_string())
}
