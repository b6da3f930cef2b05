//! What a shim is told by who starts it, and what it answers: each one length (`u32`, little
//! endian) and so many bytes of JSON, over the shim's standard input, which is a socket.

use std::io;
use std::path::PathBuf;

use bowline_transport::SpawnError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::SessionSpec;
use crate::wire::{Epoch, MAX_MESSAGE};

/// What a shim is to do.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) spec: SessionSpec,
    /// The session's folder, which is there.
    pub(super) folder: PathBuf,
}

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Ready { pid: Option<u32>, epoch: Epoch },
    Failed { fault: SpawnFault, reason: String },
}

/// What kind of thing kept a session from being started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SpawnFault {
    /// The program: it is not there, or it cannot be run.
    Program,
    /// The working directory.
    Directory,
    /// The arguments or the environment.
    Arguments,
    /// The system has too little of something: processes, descriptors, terminals, memory.
    Resources,
    /// The session's own folder.
    Folder,
    /// Anything else.
    Other,
}

impl From<&SpawnError> for SpawnFault {
    fn from(error: &SpawnError) -> Self {
        match error {
            SpawnError::NoProgram
            | SpawnError::NotFound { .. }
            | SpawnError::NotExecutable { .. }
            | SpawnError::MissingInterpreter { .. }
            | SpawnError::BadFormat { .. }
            | SpawnError::Busy { .. }
            | SpawnError::TooManyLinks { .. }
            | SpawnError::NameTooLong { .. } => Self::Program,
            SpawnError::CwdMissing { .. }
            | SpawnError::CwdNotADirectory { .. }
            | SpawnError::CwdDenied { .. } => Self::Directory,
            SpawnError::ArgumentsTooLong | SpawnError::NulByte => Self::Arguments,
            SpawnError::OutOfMemory
            | SpawnError::TooManyDescriptors
            | SpawnError::TooManyProcesses
            | SpawnError::TooManyTerminals => Self::Resources,
            _ => Self::Other,
        }
    }
}

/// Says something.
pub(super) async fn say<T: Serialize>(to: &mut UnixStream, what: &T) -> io::Result<()> {
    let text = serde_json::to_vec(what)?;
    let length = u32::try_from(text.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    to.write_all(&length.to_le_bytes()).await?;
    to.write_all(&text).await
}

/// Hears something.
pub(super) async fn hear<T: DeserializeOwned>(from: &mut UnixStream) -> io::Result<T> {
    let length = from.read_u32_le().await? as usize;
    if length > MAX_MESSAGE {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = vec![0; length];
    from.read_exact(&mut text).await?;
    Ok(serde_json::from_slice(&text)?)
}
