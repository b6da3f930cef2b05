//! Why a shim cannot be talked to.

use std::io;

use bowline_transport::wire::{Message, WireError};

/// Why a shim cannot be talked to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    /// Nobody listens, or nobody does any more.
    #[error("the session's process is out of reach: {0}")]
    Gone(#[source] io::Error),
    /// It has not said anything for too long.
    #[error("the session's process was silent for too long")]
    Silent,
    /// What it says is no frame.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// It does not do what was asked.
    #[error("{detail}")]
    Refused {
        /// One of the wire's codes.
        code: String,
        /// What is wrong.
        detail: String,
    },
    /// It says something that has no place there.
    #[error("the session's process said something unexpected: {0}")]
    Unexpected(&'static str),
}

impl LinkError {
    pub(super) fn unexpected(message: Message) -> Self {
        match message {
            Message::Error { code, detail, .. } => Self::Refused { code, detail },
            Message::GoAway { .. } => Self::Gone(io::ErrorKind::ConnectionReset.into()),
            Message::Exit(_) => Self::Unexpected("an exit"),
            Message::Data { .. } => Self::Unexpected("data"),
            _ => Self::Unexpected("another message"),
        }
    }
}
