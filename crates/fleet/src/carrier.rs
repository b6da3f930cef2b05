//! Byte streams in messages of the broker, over which hosts reach a runner.
//!
//! A host sends a request to the runner's subject, and names an inbox. The runner replies with an inbox of its own.
//! Then each side sends to the other's inbox. A stream carries what a TCP connection to the runner would: HTTP, and
//! frames in a WebSocket. Messages may be lost: a stream ends at a missing message, as a connection that was cut, and
//! the host connects again. The sender has at most [`WINDOW`] unacknowledged bytes.

mod forward;
mod opening;
mod packet;

pub use opening::{LinkError, LinkGrant, LinkOpening, accept_link, open_link, refuse_link};
pub use packet::{BadPacket, Packet, WINDOW};
