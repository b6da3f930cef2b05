//! Copies what a session says to a file while it comes: the agent's output alone, or, as a journal,
//! everything with its offsets.

mod journal;

use std::path::{Path, PathBuf};

use bowline_transport::{Exit, LogReader, Piece, Stream, TerminalSession};
use bytes::Bytes;
use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::error::StartError;

use journal::Journal;
pub(super) use journal::said_on;

/// The suffix of a file that is to be a journal.
const JOURNAL: &str = "bjl";

/// A recording that is about to begin.
#[derive(Debug)]
pub(super) struct Recorder {
    form: Form,
    path: PathBuf,
    written: Written,
}

#[derive(Debug)]
enum Form {
    /// The agent's output, byte for byte.
    Output(File),
    /// Every stream.
    Journal(Journal),
}

/// How much of the agent's output can be read from the file; gone when no more will come.
type Written = watch::Sender<u64>;

/// Where what was recorded can be read again, while more of it comes.
#[derive(Clone, Debug)]
pub(super) struct Copied {
    pub(super) path: PathBuf,
    pub(super) is_journal: bool,
    /// Behind the last byte of the agent's output that is there.
    pub(super) written: watch::Receiver<u64>,
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
            Journal::create(path).map(Form::Journal)
        } else {
            let mut new = OpenOptions::new();
            let file = new.write(true).create_new(true).open(path).await;
            file.map(Form::Output)
        };
        let recorder = |form| Self {
            form,
            path: path.to_owned(),
            written: Written::default(),
        };
        made.map(recorder)
            .map(Some)
            .map_err(|source| StartError::Record {
                path: path.display().to_string(),
                source,
            })
    }

    /// Takes back a file that nothing was written to.
    pub(super) async fn discard(recorder: Option<Self>) {
        if let Some(recorder) = recorder {
            // The start has failed already, for a reason of its own.
            let _ = tokio::fs::remove_file(&recorder.path).await;
        }
    }

    /// Where it can be read again.
    pub(super) fn copied(&self) -> Copied {
        Copied {
            path: self.path.clone(),
            is_journal: matches!(self.form, Form::Journal(_)),
            written: self.written.subscribe(),
        }
    }

    /// Copies from now on until the session's end.
    pub(super) fn start(self, terminal: &TerminalSession) -> Recording {
        let (notes, inbox) = mpsc::unbounded_channel();
        let output = terminal.reader(Stream::Output);
        let written = self.written;
        let task = match self.form {
            Form::Output(file) => tokio::spawn(copy(file, output, written)),
            Form::Journal(journal) => {
                let errors = terminal.reader(Stream::Errors);
                let copy = journal.copy(terminal.kind(), [output, errors], inbox, written);
                tokio::spawn(copy)
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
async fn copy(mut file: File, mut output: LogReader, told: Written) -> Option<String> {
    while let Some(piece) = output.next().await {
        let (offset, bytes) = match piece {
            Piece::Bytes { offset, bytes } => (offset, bytes),
            Piece::Gap { from, to } => {
                return Some(format!("bytes {from} to {to} are missing"));
            }
        };
        let written = match file.write_all(&bytes).await {
            // What was written is with another thread until it is flushed.
            Ok(()) => file.flush().await,
            failed => failed,
        };
        if let Err(error) = written {
            return Some(error.to_string());
        }
        told.send_replace(offset + bytes.len() as u64);
    }
    None
}
