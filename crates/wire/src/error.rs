//! Decoding errors.

/// Why received bytes are not valid frames. The connection is unusable afterwards: reconnect and attach
/// again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The stated payload length exceeds the maximum.
    #[error(
        "payload of {length} bytes exceeds the limit of {}; reconnect",
        super::MAX_PAYLOAD
    )]
    Oversize {
        /// The stated length in bytes.
        length: u32,
    },
    /// The checksum does not match.
    #[error("checksum mismatch: computed {found:#010x}, stated {stated:#010x}; reconnect")]
    Checksum {
        /// The checksum in the frame.
        stated: u32,
        /// The checksum of the bytes.
        found: u32,
    },
    /// The message type is unknown and not optional.
    #[error("unknown message type {kind}; upgrade this side")]
    UnknownType {
        /// The type.
        kind: u8,
    },
    /// The payload does not match its type.
    #[error("invalid payload of message type {kind}: {reason}; use the same version on both sides")]
    Payload {
        /// The type.
        kind: u8,
        /// What is wrong with it.
        reason: String,
    },
    /// Bytes of a stream end past the maximum offset.
    #[error("message of type {kind} at offset {offset} ends past 2^64; reconnect")]
    PastEnd {
        /// The type.
        kind: u8,
        /// Offset of its first byte.
        offset: u64,
    },
    /// Another message came between the parts of a message.
    #[error("message of type {kind} between the parts of another; reconnect")]
    Interrupted {
        /// The type of the other message.
        kind: u8,
    },
    /// The parts of a message exceed the maximum length.
    #[error("message exceeds the limit of {} bytes; reconnect", super::MAX_MESSAGE)]
    TooLong,
}
