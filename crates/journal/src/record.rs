//! A record: bytes of one stream, or a gap in it.
//!
//! ```text
//! magic u32 | stream u16 | flags u16 | offset u64 | length u32 | crc32c u32 | payload
//! ```
//! Little endian. The checksum covers everything but itself. The payload of a gap is the offset at which
//! the stream continues (u64) and the reason (UTF-8).

use bytes::{Buf, Bytes};

use super::take;
use bowline_wire::{MAX_PAYLOAD, StreamId};

/// Length of a record before its payload, in bytes.
pub(super) const HEAD: usize = 24;

/// `BJR` and a byte that is not ASCII.
const MAGIC: u32 = u32::from_le_bytes(*b"BJR\xb1");

/// Flag: the payload describes a gap.
const GAP: u16 = 1;

/// Bytes of a stream, or a gap in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The stream.
    pub stream: StreamId,
    /// Offset of the first byte, present or missing.
    pub offset: u64,
    /// The content.
    pub body: Body,
}

/// The content of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// 1 to [`MAX_PAYLOAD`] bytes, so that they fit in a frame.
    Bytes(Bytes),
    /// The bytes from the record's offset are missing.
    Gap {
        /// First available offset after the gap.
        to: u64,
        /// The reason, for display.
        reason: String,
    },
}

impl Record {
    /// Returns the offset past the last byte, present or missing.
    #[must_use]
    pub fn end(&self) -> u64 {
        match &self.body {
            Body::Bytes(bytes) => self.offset.saturating_add(bytes.len() as u64),
            Body::Gap { to, .. } => *to,
        }
    }

    /// Returns the length of the record on disk, in bytes.
    pub(super) fn size(&self) -> u64 {
        let payload = match &self.body {
            Body::Bytes(bytes) => bytes.len(),
            Body::Gap { reason, .. } => size_of::<u64>() + reason.len(),
        };
        (HEAD + payload) as u64
    }

    /// Returns the head and the payload separately, so that the payload is not copied.
    pub(super) fn encode(&self) -> ([u8; HEAD], Bytes) {
        let (flags, payload) = match &self.body {
            Body::Bytes(bytes) => (0, bytes.clone()),
            Body::Gap { to, reason } => (GAP, gap_payload(*to, reason)),
        };
        debug_assert!(
            payload.len() <= MAX_PAYLOAD,
            "the writer splits longer payloads"
        );
        let mut head = [0; HEAD];
        head[0..4].copy_from_slice(&MAGIC.to_le_bytes());
        head[4..6].copy_from_slice(&self.stream.0.to_le_bytes());
        head[6..8].copy_from_slice(&flags.to_le_bytes());
        head[8..16].copy_from_slice(&self.offset.to_le_bytes());
        head[16..20].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        let crc = checksum(&head, &payload);
        head[20..24].copy_from_slice(&crc.to_le_bytes());
        (head, payload)
    }
}

fn gap_payload(to: u64, reason: &str) -> Bytes {
    // A long reason is truncated.
    let reason = reason.as_bytes().iter().take(MAX_PAYLOAD / 2);
    to.to_le_bytes().iter().chain(reason).copied().collect()
}

/// Returns the checksum of the head without its checksum field, and of the payload.
fn checksum(head: &[u8; HEAD], payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&head[..HEAD - 4]), payload)
}

/// What the front of a buffer holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Front {
    /// An intact record, and its length in bytes.
    Record(usize),
    /// An incomplete record.
    Short,
    /// Not a record.
    Bad,
}

/// Examines the front of a buffer, and verifies the checksum.
pub(super) fn look(bytes: &[u8]) -> Front {
    let magic = MAGIC.to_le_bytes();
    let known = bytes.len().min(magic.len());
    if bytes[..known] != magic[..known] {
        return Front::Bad;
    }
    let Some((head, rest)) = bytes.split_first_chunk::<HEAD>() else {
        return Front::Short;
    };
    let [.., a, b, c, d, e, f, g, h] = *head;
    let (length, crc) = (
        u32::from_le_bytes([a, b, c, d]),
        u32::from_le_bytes([e, f, g, h]),
    );
    let length = length as usize;
    if length > MAX_PAYLOAD {
        return Front::Bad;
    }
    match rest.get(..length) {
        None => Front::Short,
        Some(payload) if checksum(head, payload) == crc => Front::Record(HEAD + length),
        Some(_) => Front::Bad,
    }
}

/// Parses a record that [`look`] has verified. `None` if this version does not write such records.
pub(super) fn read(mut record: Bytes) -> Option<Record> {
    let payload = record.split_off(HEAD);
    record.advance(size_of_val(&MAGIC));
    let (stream, flags, offset) = (
        StreamId(record.get_u16_le()),
        record.get_u16_le(),
        record.get_u64_le(),
    );
    let body = match flags {
        0 if payload.is_empty() => return None,
        // Exceeds the maximum offset.
        0 if offset.checked_add(payload.len() as u64).is_none() => return None,
        0 => Body::Bytes(payload),
        GAP => gap(&payload)?,
        _ => return None,
    };
    let record = Record {
        stream,
        offset,
        body,
    };
    (record.end() > offset).then_some(record)
}

fn gap(mut payload: &[u8]) -> Option<Body> {
    let to = take!(payload, u64);
    let reason = String::from_utf8_lossy(payload).into_owned();
    Some(Body::Gap { to, reason })
}
