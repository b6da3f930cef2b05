//! The messages of a byte stream.
//!
//! ```text
//! kind u8 | offset u64 | bytes
//! ```
//! Little endian.

use bytes::{BufMut as _, Bytes, BytesMut};

/// Bytes that a sender may have sent without an acknowledgement.
pub const WINDOW: u64 = 1 << 20;

/// Length of the fields before the bytes.
const HEAD: usize = 9;

/// A message of a byte stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packet {
    /// Bytes from an offset on.
    Data {
        /// Offset of the first byte.
        offset: u64,
        /// The bytes.
        bytes: Bytes,
    },
    /// The receiver has passed on all bytes before an offset.
    Ack {
        /// The offset.
        offset: u64,
    },
    /// The stream ends at an offset.
    End {
        /// The offset.
        offset: u64,
    },
    /// A sign of life.
    Ping,
}

/// Bytes that are not a [`Packet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a message of a link")]
pub struct BadPacket;

impl Packet {
    /// Encodes the message.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let (kind, offset, bytes) = match self {
            Self::Data { offset, bytes } => (1, *offset, Some(bytes)),
            Self::Ack { offset } => (2, *offset, None),
            Self::End { offset } => (3, *offset, None),
            Self::Ping => (4, 0, None),
        };
        let mut encoded = BytesMut::with_capacity(HEAD + bytes.map_or(0, Bytes::len));
        encoded.put_u8(kind);
        encoded.put_u64_le(offset);
        encoded.extend_from_slice(bytes.map_or(&[][..], |it| it));
        encoded.freeze()
    }

    /// Decodes a message.
    ///
    /// # Errors
    ///
    /// The bytes are not one.
    pub fn decode(mut packet: Bytes) -> Result<Self, BadPacket> {
        let (kind, rest) = packet.split_first().ok_or(BadPacket)?;
        let (offset, rest) = rest.split_first_chunk().ok_or(BadPacket)?;
        let offset = u64::from_le_bytes(*offset);
        let is_empty = rest.is_empty();
        match kind {
            1 if offset.checked_add(rest.len() as u64).is_none() => Err(BadPacket),
            1 => Ok(Self::Data {
                offset,
                bytes: packet.split_off(HEAD),
            }),
            2 if is_empty => Ok(Self::Ack { offset }),
            3 if is_empty => Ok(Self::End { offset }),
            4 if is_empty => Ok(Self::Ping),
            _ => Err(BadPacket),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packets_round_trip(offset in 0..u64::MAX / 2, bytes in prop::collection::vec(any::<u8>(), 0..50)) {
            let bytes = Bytes::from(bytes);
            for packet in [
                Packet::Data { offset, bytes: bytes.clone() },
                Packet::Ack { offset },
                Packet::End { offset },
                Packet::Ping,
            ] {
                prop_assert_eq!(Packet::decode(packet.encode()), Ok(packet));
            }
            // Any bytes are a packet or an error.
            let _ = Packet::decode(bytes);
        }
    }
}
