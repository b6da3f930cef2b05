//! Standard output as the terminal that shows a session, written without blocking.

use std::io;
use std::os::fd::AsFd as _;

use bytes::{Buf as _, BytesMut};
use rustix::io::Errno;
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe::Sender;

use crate::failure::Failure;

/// Writes to standard output, which [`RawMode`](super::raw_mode::RawMode) has set not to block: a terminal
/// that takes nothing holds up neither the keys nor the connection.
#[derive(Debug, Default)]
pub(super) struct Display {
    /// Bytes that the terminal has not taken.
    pending: BytesMut,
    /// Registered for writability while bytes are pending, since a terminal reports it after each read of its
    /// other side.
    blocked_writer: Option<Sender>,
}

impl Display {
    /// Whether the terminal has not taken all bytes.
    pub(super) fn is_blocked(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Writes as many bytes as the terminal takes, and keeps the rest.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let taken = if self.is_blocked() {
            0
        } else {
            write_some(bytes).map_err(closed)?
        };
        self.pending.extend(bytes.get(taken..).unwrap_or_default());
        Ok(())
    }

    /// Writes bytes in place of the pending ones.
    pub(super) fn replace(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.pending.clear();
        self.write(bytes)
    }

    /// Writes the pending bytes. Cancel safe.
    pub(super) async fn drained(&mut self) -> Result<(), Failure> {
        while self.is_blocked() {
            let writer = match &mut self.blocked_writer {
                Some(writer) => writer,
                none => none.insert(register_writer()?),
            };
            let taken = writer.write(&self.pending).await.map_err(closed)?;
            self.pending.advance(taken);
        }
        self.pending = BytesMut::new();
        self.blocked_writer = None;
        Ok(())
    }
}

/// Writes until the terminal takes no more. Returns the number of bytes written.
fn write_some(bytes: &[u8]) -> io::Result<usize> {
    let mut taken = 0;
    while let Some(rest) = bytes.get(taken..).filter(|rest| !rest.is_empty()) {
        match rustix::io::write(io::stdout(), rest) {
            Ok(written) => taken += written,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(taken)
}

/// Registers for writability. A descriptor has one registration, so this duplicates it.
fn register_writer() -> Result<Sender, Failure> {
    let stdout = io::stdout().as_fd().try_clone_to_owned();
    let writer = stdout.and_then(Sender::from_owned_fd_unchecked);
    writer.map_err(|error| {
        Failure::failed(format!(
            "cannot wait for the terminal: {error}; attach without a redirection"
        ))
    })
}

fn closed(_: io::Error) -> Failure {
    Failure::broken_pipe()
}
