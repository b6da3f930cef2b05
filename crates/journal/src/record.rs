//! One record: some bytes of one stream, or the news that some are missing.
//!
//! ```text
//! magic u32 | stream u16 | flags u16 | offset u64 | length u32 | crc32c u32 | payload
//! ```
//! Little endian. The checksum is over everything but itself. The payload of a gap is the offset at
//! which the stream goes on (u64) and the reason (UTF-8).

use bytes::{Buf, Bytes};

use super::take;
use bowline_wire::{MAX_PAYLOAD, StreamId};

/// Bytes of a record before its payload.
pub(super) const HEAD: usize = 24;

/// `BJR` and a byte that no text has.
const MAGIC: u32 = u32::from_le_bytes(*b"BJR\xb1");

/// The payload is not bytes of the stream but tells of missing ones.
const GAP: u16 = 1;

/// Some bytes of a stream, or the news that some are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Whose they are.
    pub stream: StreamId,
    /// Offset of the first byte, there or missing.
    pub offset: u64,
    /// What there is.
    pub body: Body,
}

/// What a record holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// The bytes, one at least and [`MAX_PAYLOAD`] at most, so that a frame can hold them.
    Bytes(Bytes),
    /// Nothing is known of the stream from the record's offset on.
    Gap {
        /// First offset that is there again.
        to: u64,
        /// Why, for people.
        reason: String,
    },
}

impl Record {
    /// Offset behind the last byte, there or missing.
    #[must_use]
    pub fn end(&self) -> u64 {
        match &self.body {
            Body::Bytes(bytes) => self.offset.saturating_add(bytes.len() as u64),
            Body::Gap { to, .. } => *to,
        }
    }

    /// Bytes of the record on the disk.
    pub(super) fn size(&self) -> u64 {
        let payload = match &self.body {
            Body::Bytes(bytes) => bytes.len(),
            Body::Gap { reason, .. } => size_of::<u64>() + reason.len(),
        };
        (HEAD + payload) as u64
    }

    /// The head and the payload, apart, so that bytes need not be copied to be written.
    pub(super) fn encode(&self) -> ([u8; HEAD], Bytes) {
        let (flags, payload) = match &self.body {
            Body::Bytes(bytes) => (0, bytes.clone()),
            Body::Gap { to, reason } => (GAP, gap_payload(*to, reason)),
        };
        debug_assert!(
            payload.len() <= MAX_PAYLOAD,
            "the writer cuts what is longer"
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
    // A reason is for people: a long one may lose its end.
    let reason = reason.as_bytes().iter().take(MAX_PAYLOAD / 2);
    to.to_le_bytes().iter().chain(reason).copied().collect()
}

/// Over the head without its checksum, and the payload.
fn checksum(head: &[u8; HEAD], payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&head[..HEAD - 4]), payload)
}

/// What the front of a buffer is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Front {
    /// A record of so many bytes, whole and unharmed.
    Record(usize),
    /// May become one when more bytes come.
    Short,
    /// Never a record.
    Bad,
}

/// Looks at the front of a buffer. Nothing is trusted before the checksum was compared.
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

/// Reads what [`look`] has found to be a record. `None` if its writer was not one of this version.
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
        // No stream is so long.
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
