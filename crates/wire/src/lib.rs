//! Encodes and decodes the frames between a host and the owner of a session, its shim.
//!
//! An internal crate of Bowline; its interface may change in any release.
//!
//! Pure: no clock, socket or `async`. The same bytes are sent over a Unix socket (frame after frame), in
//! WebSocket messages and in gRPC messages (one or more whole frames each). Invariants: a frame that was
//! damaged in transit is never decoded; no memory is allocated for bytes that have not arrived; the
//! decoder does not panic on any input.
//!
//! # Frame format
//!
//! Little endian; a header of 28 bytes, then the payload.
//!
//! | at | field | meaning |
//! |---|---|---|
//! | 0 | `u32` length | payload length in bytes, at most [`MAX_PAYLOAD`] |
//! | 4 | `u8` type | see below |
//! | 5 | `u8` flags | [`flags`] |
//! | 6 | `u16` stream | a [`StreamId`] if the message has one, else 0 |
//! | 8 | `u64` offset | of the first byte if the message has one, else 0 |
//! | 16 | `u64` generation | the sender's lease; 0 without one |
//! | 24 | `u32` checksum | CRC-32C (Castagnoli, RFC 3720) of bytes 0..24 and the payload |
//! | 28 | payload | raw bytes, or one JSON value: `{"<message>": {…}}` |
//!
//! A message that exceeds one payload is split into parts: each part but the last has the flag `MORE`,
//! and no other frame may come between them. All parts together have at most [`MAX_MESSAGE`] bytes. Raw
//! messages ([`Data`](Message::Data), [`Input`](Message::Input),
//! [`SnapshotChunk`](Message::SnapshotChunk)) are split into several messages instead.
//!
//! # Messages
//!
//! `→` is from the host to the session, `←` from the session to the host.
//!
//! | type | message | direction | payload |
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
//! | 30 | `Arrival` | ← | JSON |
//!
//! Later versions may add fields, which are ignored, and messages: an unknown message with the flag
//! `OPTIONAL` is skipped, any other ends the connection.
//!
//! # Rules
//!
//! * Frames are processed in order: a `Pong` means that everything before its `Ping` was processed.
//! * Input is a stream with offsets. The owner drops bytes that it already has and refuses bytes that
//!   would leave a gap ([`code::INPUT_GAP`]). A host has at most [`INPUT_WINDOW`] unacknowledged bytes.
//! * After `Attached` the owner repeats its last `InputAck`, which covers what was accepted while the
//!   host was disconnected. A host that names a lease it has lost receives `Fenced`.
//! * The receiver of `Data` drops bytes that it already has and attaches again when bytes are missing:
//!   only a `Gap` or a `Snapshot` skips bytes.
//! * A host with the feature [`ARRIVALS`] receives an `Arrival` before the `Data` that it describes. If it also
//!   follows [`StreamId::INPUT`], output and input are sent in one order: input where the output ended when it
//!   was written to the child, before the output that follows. It has to grant credit for both.
//! * A session that serves the hooks of its agent has the stream [`StreamId::HOOKS`]: a JSON line for each event, and
//!   for each hook that waits no more. A host replies with a `Prompt` of the mode [`PromptMode::Hook`] and the id
//!   `hook:` and the number of the event; the first reply counts.
//! * Credit is granted for consumed bytes and counts the bytes of `Data`, repeated ones included.
//! * `Exit` follows all `Data`, and is repeated on each attach until `ExitAck`.
//! * `Resize`, `Signal`, `Kill` and `Prompt` carry an id or a sequence number and may be repeated.
//! * A connection without received bytes for 14 s ([`DEAD_AFTER`]) is dead. A host sends a `Ping` every
//!   5 s ([`PING_EVERY`]), or every 9 s on an idle connection ([`PING_AT_REST`]); it is answered at once.
//!   An owner sends one only to a host that has never sent one itself and is silent.

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

/// Version of the wire format.
pub const VERSION: u16 = 1;

/// Feature of a host that receives [`Message::Arrival`].
pub const ARRIVALS: &str = "arrivals";

/// Length of a frame header, in bytes.
pub const HEADER_BYTES: usize = 28;

/// Maximum length of a frame's payload, in bytes.
pub const MAX_PAYLOAD: usize = 256 << 10;

/// Maximum length of a message that is assembled from parts, in bytes: the default limit of queued input,
/// which exceeds the largest prompt (10 MiB) in base64.
pub const MAX_MESSAGE: usize = 32 << 20;

/// Default number of bytes of a stream that may be in transit without further credit.
pub const DEFAULT_CREDIT: u64 = 1 << 20;

/// Number of input bytes that a host may have in transit without an acknowledgement.
pub const INPUT_WINDOW: u64 = 1 << 20;

/// Interval between keep-alive pings of a host.
pub const PING_EVERY: Duration = Duration::from_secs(5);

/// Interval between pings on an idle connection, which halves the cost of many idle sessions. A reply has
/// five seconds until [`DEAD_AFTER`].
pub const PING_AT_REST: Duration = Duration::from_secs(9);

/// Silence after which a connection is dead. A dead link is detected within 15 s; the last second is for
/// a machine that is too busy to check in time.
pub const DEAD_AFTER: Duration = Duration::from_secs(14);

/// One message and the lease under which it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The sender's lease. A frame with an older lease than the session's is ignored. 0 without a lease.
    pub generation: u64,
    /// The message.
    pub message: Message,
}

impl Frame {
    /// Returns a frame with a message and a lease.
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
