//! The handshake between a shim and the process that starts it: one [`StartRequest`], one
//! [`StartReply`], each as its length (`u32`, little endian) and JSON, over a socket that is the
//! shim's standard input.

use std::io;
use std::path::PathBuf;

use bowline_transport::SpawnError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::SessionSpec;
use crate::wire::{Epoch, MAX_MESSAGE};

/// Request to start a session.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StartRequest {
    pub(super) spec: SessionSpec,
    /// The session's directory, which exists.
    pub(super) folder: PathBuf,
}

/// Result of a request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StartReply {
    Ready { pid: Option<u32>, epoch: Epoch },
    Failed { fault: SpawnFault, reason: String },
}

/// Category of what prevented a session from starting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SpawnFault {
    /// The program is missing or cannot be executed.
    Program,
    /// The working directory.
    Directory,
    /// The arguments or the environment.
    Arguments,
    /// The system lacks processes, descriptors, terminals or memory.
    Resources,
    /// The session's own directory.
    Folder,
    /// The hooks of the agent.
    Hooks,
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

/// Sends a message.
pub(super) async fn send<T: Serialize>(to: &mut UnixStream, what: &T) -> io::Result<()> {
    let text = serde_json::to_vec(what)?;
    let length = u32::try_from(text.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    to.write_all(&length.to_le_bytes()).await?;
    to.write_all(&text).await
}

/// Receives a message of at most [`MAX_MESSAGE`] bytes.
pub(super) async fn receive<T: DeserializeOwned>(from: &mut UnixStream) -> io::Result<T> {
    let length = from.read_u32_le().await? as usize;
    if length > MAX_MESSAGE {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = vec![0; length];
    from.read_exact(&mut text).await?;
    Ok(serde_json::from_slice(&text)?)
}
