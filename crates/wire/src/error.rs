//! What is wrong with bytes that should be frames.

/// Why bytes are no frames. The connection that they came from is of no more use: make a new one
/// and attach again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// A frame says that it is longer than any may be.
    #[error(
        "read a frame: its payload of {length} bytes is over {}, connect again",
        super::MAX_PAYLOAD
    )]
    Oversize {
        /// The length that it says, in bytes.
        length: u32,
    },
    /// The bytes are not those that were sent.
    #[error("read a frame: its checksum is {found:#010x} and not {stated:#010x}, connect again")]
    Checksum {
        /// What the frame says.
        stated: u32,
        /// What its bytes have.
        found: u32,
    },
    /// A message that this version does not know and may not skip.
    #[error("read a frame: its type {kind} is not known, use a newer version")]
    UnknownType {
        /// The type.
        kind: u8,
    },
    /// The payload is not what its type has.
    #[error("read a frame of type {kind}: {reason}, use the same version on both sides")]
    Payload {
        /// The type.
        kind: u8,
        /// What is wrong with it.
        reason: String,
    },
    /// A piece of a stream that would end behind the last offset that there is.
    #[error("read a frame of type {kind}: its bytes at {offset} end past 2^64, connect again")]
    PastEnd {
        /// The type.
        kind: u8,
        /// Where its bytes begin.
        offset: u64,
    },
    /// A message in parts was broken off by another one.
    #[error("read a frame: one of type {kind} stands between the parts of another, connect again")]
    Interrupted {
        /// The type of what stands there.
        kind: u8,
    },
    /// A message in parts is longer than any may be.
    #[error(
        "read a message: its parts are over {} bytes, connect again",
        super::MAX_MESSAGE
    )]
    TooLong,
}
