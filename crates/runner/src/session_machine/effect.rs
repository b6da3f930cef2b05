//! Effects: what the session machine asks its owner to do, and the values that answer them.

use bowline_transport::journal::Arrival;
use bowline_transport::{Signal, TerminationPolicy, WindowSize};
use bytes::Bytes;

use super::ClientId;
use crate::wire::{Lease, StreamId};

/// An action to perform outside of the machine.
#[derive(Debug, PartialEq, Eq)]
pub enum Effect {
    /// Write all of these bytes to the child's input. Answered with
    /// [`on_written`](super::SessionMachine::on_written); no other write is asked for before that.
    Write(Bytes),
    /// Close the child's input. Answered like a write.
    CloseInput,
    /// Resize the terminal.
    Resize(WindowSize),
    /// Send a signal to the child.
    Signal(Signal),
    /// Terminate the child's process tree. Answered with
    /// [`on_killed`](super::SessionMachine::on_killed).
    Kill(TerminationPolicy),
    /// Take a snapshot of the screen for a client. Answered with
    /// [`on_snapshot`](super::SessionMachine::on_snapshot).
    Snapshot {
        /// The client.
        client: ClientId,
        /// Whether it begins, so that it lacks the lines above the screen, too.
        with_scrollback: bool,
    },
    /// Read bytes from the journal that have left memory. Answered with
    /// [`on_journal_read`](super::SessionMachine::on_journal_read).
    ReadJournal {
        /// The client that needs them.
        client: ClientId,
        /// The stream.
        stream: StreamId,
        /// Offset of the first byte.
        offset: u64,
        /// Maximal number of bytes.
        max: usize,
    },
    /// Reply to a hook that waits.
    HookReply {
        /// Number of its event.
        id: u64,
        /// The reply.
        body: Bytes,
    },
    /// Record what was added to a stream, before it is acknowledged.
    Record(StreamId),
    /// Record that a client attached with a lease to append or to write.
    Attached {
        /// The name it gave itself.
        client: String,
        /// Its lease.
        lease: Lease,
        /// Its generation; 0 without the write lease.
        generation: u64,
    },
    /// Record that an HTTP request has led to a prompt.
    Requested {
        /// Id of the request.
        request_id: String,
        /// Id of the prompt.
        prompt: String,
    },
    /// Record that the holder of the write lease is gone.
    Detached {
        /// The name it gave itself.
        client: String,
        /// Its generation.
        generation: u64,
        /// Whether it sent `Detach`, rather than losing its connection.
        requested: bool,
    },
}

/// Result of [`Effect::ReadJournal`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalRead {
    /// Some of the requested bytes, at least one, that arrived together.
    Bytes(Bytes, Arrival),
    /// The bytes were not recorded.
    Gap {
        /// Offset at which recorded bytes continue.
        to: u64,
    },
    /// The journal cannot be read.
    Unreadable,
}

/// A screen at an offset of the output, as bytes that reproduce it on a terminal in any state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenSnapshot {
    /// Offset of the output that continues from the snapshot.
    pub at_offset: u64,
    /// The screen's size.
    pub size: WindowSize,
    /// Escape sequences and text that reproduce the screen.
    pub bytes: Bytes,
}
