//! What a host says about the session that it joins.

use std::collections::BTreeMap;
use std::time::Duration;

use super::machine::Joining;
use super::target::Remote;
use bowline_process::SessionId;
use bowline_process::{InputLimits, LogLimits, WindowSize};
use bowline_wire::{AttachMode, DEFAULT_CREDIT, Epoch, Lease, StreamId};

/// How a host joins a session.
#[derive(Clone, Debug)]
pub struct Attachment {
    /// What it may do there. One host at a time holds [`Lease::Write`], and a new one fences the one
    /// before.
    pub lease: Lease,
    /// Where its output begins.
    pub beginning: Beginning,
    /// The incarnation of the child that it knows. A session that has another one is gone.
    pub epoch: Option<Epoch>,
    /// The size of its window, if it shows one.
    pub size: Option<WindowSize>,
    /// How much of each stream is kept here. A full log stops the bytes at the runner.
    pub limits: LogLimits,
    /// How much input may wait here. [`InputLimits::deadline`] is not looked at: the runner's is.
    pub input: InputLimits,
    /// How long the first connection is tried for; with zero it is tried once.
    pub patience: Duration,
}

/// Where a host's output begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beginning {
    /// With the first byte. What is gone of it is a [`Gap`](crate::Piece::Gap).
    #[default]
    Start,
    /// Behind what this host has already, in bytes.
    At {
        /// Offset of the next byte of output.
        output: u64,
        /// Offset of the next byte of errors.
        errors: u64,
    },
    /// With the screen as it is ([`TerminalSession::screen`](crate::TerminalSession::screen)).
    /// Terminals only.
    Screen,
    /// With what comes from now on.
    Now,
}

impl Default for Attachment {
    fn default() -> Self {
        Self {
            lease: Lease::Write,
            beginning: Beginning::Start,
            epoch: None,
            size: None,
            limits: LogLimits::default(),
            input: InputLimits::default(),
            patience: Duration::ZERO,
        }
    }
}

impl Attachment {
    pub(super) fn joining(&self, remote: &Remote, session: SessionId) -> Joining {
        let room = self.limits.output_bytes.min(self.limits.errors_bytes) as u64;
        Joining {
            session,
            epoch: self.epoch,
            lease: self.lease,
            mode: match self.beginning {
                Beginning::Start | Beginning::At { .. } => AttachMode::Resume,
                Beginning::Screen => AttachMode::Snapshot,
                Beginning::Now => AttachMode::Tail,
            },
            cursors: self.cursors(),
            size: self.size,
            window: room.clamp(1, DEFAULT_CREDIT),
            join_patience: self.patience,
            patience: remote.patience,
            client: remote.client.clone(),
        }
    }

    /// Those of a terminal and of pipes; the owner says which of them there are.
    fn cursors(&self) -> BTreeMap<StreamId, Option<u64>> {
        let (output, errors) = match self.beginning {
            Beginning::Start => (Some(0), Some(0)),
            Beginning::At { output, errors } => (Some(output), Some(errors)),
            Beginning::Screen | Beginning::Now => (None, None),
        };
        let streams = [
            (StreamId::TTY, output),
            (StreamId::STDOUT, output),
            (StreamId::STDERR, errors),
        ];
        streams.into()
    }
}
