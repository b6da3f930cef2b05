//! The copy of a session's journal in a stream of the fleet, without I/O.
//!
//! The journal is authoritative; the stream is a copy that lags. A session's epoch has one subject, to which one
//! runner publishes [`LogMessage`]s: runs of whole journal records. The [`Publisher`] decides what to publish
//! next, and the [`Replica`] puts messages together again.

mod message;
mod positions;
mod publisher;
mod replica;

pub use message::{LogMessage, MESSAGE_BYTES, MessageError};
pub use positions::{BadPositions, Positions};
pub use publisher::{
    Attempt, FLUSH_AFTER, LastMessage, PublishReply, PublishRequest, PublishStep, Publisher,
};
pub use replica::{Replica, ReplicaDamage};
