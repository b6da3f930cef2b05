//! The frames that a host and the owner of a session say to each other, as bytes and back.
//!
//! Pure: no clock, no socket, no `async`. The same bytes go over a Unix socket (frame after frame),
//! in a WebSocket message (one or more whole frames) and in a gRPC message (the same). Invariants:
//! nothing that was damaged on the way comes out as a message; nothing is allocated for bytes that
//! have not arrived; the decoder never panics, whatever it is fed.
//!
//! # A frame
//!
//! Little endian; 28 bytes, then the payload.
//!
//! | at | field | what it is |
//! |---|---|---|
//! | 0 | `u32` length | bytes of payload, at most [`MAX_PAYLOAD`] |
//! | 4 | `u8` type | see below |
//! | 5 | `u8` flags | [`flags`] |
//! | 6 | `u16` stream | a [`StreamId`] where the message has one, else 0 |
//! | 8 | `u64` offset | of the first byte, where the message has one, else 0 |
//! | 16 | `u64` generation | the sender's lease; 0 while it has none |
//! | 24 | `u32` checksum | CRC-32C (Castagnoli) of bytes 0..24 and of the payload |
//! | 28 | payload | raw bytes, or one JSON value: `{"<message>": {…}}` |
//!
//! A message that does not fit into one payload is cut: every part but the last has the flag
//! `MORE`, and no other frame stands between them. Together they have at most [`MAX_MESSAGE`].
//! Raw messages ([`Data`](Message::Data), [`Input`](Message::Input),
//! [`SnapshotChunk`](Message::SnapshotChunk)) become several messages instead, one behind the other.
//!
//! # Messages
//!
//! `→` goes from the host to the session, `←` back.
//!
//! | type | message | way | payload |
//! |---|---|---|---|
//! | 1 | `Hello` | → | JSON |
//! | 2 | `Welcome` | ← | JSON |
//! | 3 | `Attach` | → | JSON |
//! | 4 | `Attached` | ← | JSON |
//! | 5 | `Gap` | ← | JSON |
//! | 6 | `Snapshot` | ← | JSON |
//! | 7 | `SnapshotChunk` | ← | raw |
//! | 8 | `Data` | ← | raw |
//! | 9 | `Ack` | → | JSON |
//! | 10 | `Credit` | → | JSON |
//! | 11 | `Input` | → | raw |
//! | 12 | `InputEnd` | → | JSON |
//! | 13 | `InputAck` | ← | JSON |
//! | 14 | `InputRefused` | ← | JSON |
//! | 15 | `Prompt` | → | JSON |
//! | 16 | `PromptState` | ← | JSON |
//! | 17 | `Resize` | → | JSON |
//! | 18 | `Signal` | → | JSON |
//! | 19 | `Kill` | → | JSON |
//! | 20 | `Killed` | ← | JSON |
//! | 21 | `Exit` | ← | JSON |
//! | 22 | `ExitAck` | → | none |
//! | 23 | `Ping` | ⇄ | JSON |
//! | 24 | `Pong` | ⇄ | JSON |
//! | 25 | `Fenced` | ← | JSON |
//! | 26 | `Degraded` | ← | JSON |
//! | 27 | `Error` | ← | JSON |
//! | 28 | `Detach` | → | none |
//! | 29 | `GoAway` | ← | JSON |
//!
//! Later versions may add fields, which are ignored here, and messages: one with the flag
//! `OPTIONAL` is skipped by who does not know it, any other ends the connection.
//!
//! # What holds between them
//!
//! * Frames are handled in their order, so that a `Pong` says that all that stood before its `Ping`
//!   was done.
//! * Input is a stream with offsets: what the owner has already is cut off, what would leave a hole
//!   is refused ([`code::INPUT_GAP`]). A host has at most [`INPUT_WINDOW`] bytes of it unacknowledged.
//! * Behind `Attached` the owner repeats its last `InputAck`, so that a host hears what was done
//!   while nobody listened. A host that says which lease it had, and has lost it, is `Fenced`.
//! * Who receives `Data` drops what it has, cuts off what it has of the beginning, and attaches
//!   again if something is missing before it: only a `Gap` or a `Snapshot` skips bytes.
//! * Credit is given for what was consumed, and counts the bytes of `Data`, repeated ones included.
//! * `Exit` comes behind all `Data`, and again at each attach until `ExitAck`.
//! * `Resize`, `Signal`, `Kill` and `Prompt` carry an id or a number and may be repeated.
//! * Whoever hears nothing for 14 s ([`DEAD_AFTER`]) takes the connection for dead. A host sends a
//!   `Ping` every 5 s ([`PING_EVERY`]), or 9 s where nothing else is heard ([`PING_AT_REST`]), which is
//!   answered at once; an owner asks only a host that has never asked by itself and is silent.

mod decode;
mod encode;
mod error;
mod header;
mod ids;
mod json;
mod message;
mod terms;

use std::time::Duration;

pub use bowline_process::ParseIdError;
pub use decode::Decoder;
pub use encode::encode;
pub use error::WireError;
pub use header::flags;
pub use ids::{Epoch, StreamId};
pub use message::{
    Attach, Attached, ExitNotice, Hello, KillReport, Message, Prompt, Welcome, WireLimits,
};
pub use terms::{
    AttachMode, Durability, Extent, GapReason, InputRefusal, Lease, PromptMode, PromptStatus,
    SessionFacts, SessionKind, SessionState, StdioKind, code,
};

/// The version of this wire.
pub const VERSION: u16 = 1;

/// Bytes in front of each payload.
pub const HEADER_BYTES: usize = 28;

/// The longest payload of a frame, in bytes (terminal notes, section 5.3).
pub const MAX_PAYLOAD: usize = 256 << 10;

/// The longest message that is put together from parts, in bytes: as much as input may wait for a
/// child by default, which is over the largest prompt (10 MiB) as base64.
pub const MAX_MESSAGE: usize = 32 << 20;

/// Bytes of a stream that may be under way without further credit, unless said otherwise
/// (terminal notes, section 5.3).
pub const DEFAULT_CREDIT: u64 = 1 << 20;

/// Bytes of input that a host may have under way without an acknowledgement.
pub const INPUT_WINDOW: u64 = 1 << 20;

/// How often each side asks whether the other is there (terminal notes, section 5.3).
pub const PING_EVERY: Duration = Duration::from_secs(5);

/// How often a host asks while nothing happens: a thousand sessions at rest cost half as much. An
/// answer has five seconds until [`DEAD_AFTER`].
pub const PING_AT_REST: Duration = Duration::from_secs(9);

/// A connection that has been silent for so long is dead. A dead link is to be noticed within 15 s
/// (terminal notes, section 5.3): the last second is for a machine that is too busy to look in time.
pub const DEAD_AFTER: Duration = Duration::from_secs(14);

/// One message and the lease that it was sent under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The sender's lease: what has an older one than the session's counts for nothing. 0 while
    /// there is none.
    pub generation: u64,
    /// What is said.
    pub message: Message,
}

impl Frame {
    /// A message under a lease.
    #[must_use]
    pub const fn new(generation: u64, message: Message) -> Self {
        Self {
            generation,
            message,
        }
    }
}

#[cfg(test)]
mod tests;
