//! The header of a frame, 28 bytes.

use bytes::{BufMut as _, BytesMut};

use super::{HEADER_BYTES, MAX_PAYLOAD, StreamId, WireError};

/// Bits of the flags field. Unknown bits are ignored.
pub mod flags {
    /// The bytes were sent before, to this or another host.
    pub const REPLAY: u8 = 1;
    /// The message continues in the next frame.
    pub const MORE: u8 = 8;
    /// A receiver that does not know the type skips the frame.
    pub const OPTIONAL: u8 = 128;
}

/// Offset of the checksum, which covers the bytes before it and the payload.
const CHECKED: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: StreamId,
    pub(super) offset: u64,
    pub(super) generation: u64,
    pub(super) checksum: u32,
}

impl Header {
    /// Parses a header. Fails if the length exceeds the maximum.
    pub(super) fn read(bytes: &[u8; HEADER_BYTES]) -> Result<Self, WireError> {
        let length = u32::from_le_bytes(part(bytes, 0));
        if length as usize > MAX_PAYLOAD {
            return Err(WireError::Oversize { length });
        }
        Ok(Self {
            length: length as usize,
            kind: bytes[4],
            flags: bytes[5],
            stream: StreamId(u16::from_le_bytes(part(bytes, 6))),
            offset: u64::from_le_bytes(part(bytes, 8)),
            generation: u64::from_le_bytes(part(bytes, 16)),
            checksum: u32::from_le_bytes(part(bytes, CHECKED)),
        })
    }

    /// Appends a frame, with the length and checksum of the payload.
    pub(super) fn write(&self, payload: &[u8], into: &mut BytesMut) {
        let start = into.len();
        into.reserve(HEADER_BYTES + payload.len());
        into.put_u32_le(u32::try_from(payload.len()).expect("payloads are cut to their limit"));
        into.put_u8(self.kind);
        into.put_u8(self.flags);
        into.put_u16_le(self.stream.0);
        into.put_u64_le(self.offset);
        into.put_u64_le(self.generation);
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&into[start..]), payload);
        into.put_u32_le(checksum);
        into.extend_from_slice(payload);
    }

    /// Compares the checksum with the bytes of the frame.
    pub(super) fn check(&self, frame: &[u8]) -> Result<(), WireError> {
        let (header, payload) = frame.split_at(HEADER_BYTES);
        let found = crc32c::crc32c_append(crc32c::crc32c(&header[..CHECKED]), payload);
        if found == self.checksum {
            return Ok(());
        }
        let stated = self.checksum;
        Err(WireError::Checksum { stated, found })
    }

    /// Checks that the last byte has a valid offset.
    pub(super) fn check_end(&self) -> Result<(), WireError> {
        let (kind, offset) = (self.kind, self.offset);
        match offset.checked_add(self.length as u64) {
            Some(_) => Ok(()),
            None => Err(WireError::PastEnd { kind, offset }),
        }
    }
}

fn part<const N: usize>(bytes: &[u8; HEADER_BYTES], at: usize) -> [u8; N] {
    let part = bytes[at..].first_chunk::<N>();
    *part.expect("every field is within the header")
}
