//! What is to be done outside of a core, and the answers.

use bowline_transport::{Ladder, Signal, WindowSize};
use bytes::Bytes;

use super::ClientId;
use crate::wire::{Lease, StreamId};

/// What is to be done outside of the core.
#[derive(Debug, PartialEq, Eq)]
pub enum Effect {
    /// Write to the child, whole. Answered by [`Core::written`]; until then there is no other.
    Write(Bytes),
    /// End the child's input. Answered as a write is.
    CloseInput,
    /// Change the terminal's size.
    Resize(WindowSize),
    /// Send a signal.
    Signal(Signal),
    /// End the child's tree. Answered by [`Core::killed`].
    Kill(Ladder),
    /// A client needs the screen. Answered by [`Core::snapshot`].
    Snapshot {
        /// The client.
        client: ClientId,
    },
    /// A client needs bytes that only the journal has. Answered by [`Core::read_back`].
    ReadBack {
        /// The client.
        client: ClientId,
        /// The stream.
        stream: StreamId,
        /// Offset of the first byte wanted.
        offset: u64,
        /// Bytes that may be answered, at most.
        max: usize,
    },
    /// A client that may write has joined. For the record.
    Joined {
        /// What it calls itself.
        client: String,
        /// What it may do.
        lease: Lease,
        /// Its generation; 0 without the write lease.
        generation: u64,
    },
    /// The client that had the write lease has gone. For the record.
    Left {
        /// What it calls itself.
        client: String,
        /// Its generation.
        generation: u64,
        /// Whether it said so, and was not cut off.
        detached: bool,
    },
}

/// What the journal has where a client lacks something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadBack {
    /// Some of the bytes that were asked for, at least one.
    Bytes(Bytes),
    /// It was not recorded; the journal goes on there.
    Gap {
        /// The first offset that is there again.
        to: u64,
    },
    /// The journal cannot be read.
    Lost,
}

/// A screen, as the bytes that make it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Screen {
    /// The offset of the output that goes on from here.
    pub at_offset: u64,
    /// Its size.
    pub size: WindowSize,
    /// The bytes.
    pub bytes: Bytes,
}
