//! Copies the agent's output to a file while it comes.

use std::path::{Path, PathBuf};

use bowline_transport::{LogReader, Piece};
use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt as _;

use crate::error::StartError;

/// A recording in the making.
#[derive(Debug)]
pub(super) struct Recorder {
    file: File,
    path: PathBuf,
}

impl Recorder {
    /// Makes the file. One that is there is never written over.
    pub(super) async fn create(path: Option<&Path>) -> Result<Option<Self>, StartError> {
        let Some(path) = path else { return Ok(None) };
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)
            .await
        {
            Ok(file) => Ok(Some(Self {
                file,
                path: path.to_owned(),
            })),
            Err(source) => Err(StartError::Record {
                path: path.display().to_string(),
                source,
            }),
        }
    }

    /// Takes back a file that nothing was written to.
    pub(super) async fn discard(recorder: Option<Self>) {
        if let Some(recorder) = recorder {
            // The start has failed already, for a reason of its own.
            let _ = tokio::fs::remove_file(&recorder.path).await;
        }
    }

    /// Copies until the stream ends; gives why the copy is not whole. A disk that fails stops the
    /// recording and not the agent.
    pub(super) async fn copy(mut self, mut output: LogReader) -> Option<String> {
        while let Some(piece) = output.next().await {
            let written = match piece {
                Piece::Bytes { bytes, .. } => self.file.write_all(&bytes).await,
                Piece::Gap { from, to } => {
                    return Some(format!("bytes {from} to {to} are missing"));
                }
            };
            if let Err(error) = written {
                return Some(error.to_string());
            }
        }
        self.file.flush().await.err().map(|error| error.to_string())
    }
}
