//! A record: bytes of one stream, or a gap in it.
//!
//! ```text
//! magic u32 | stream u16 | flags u16 | offset u64 | length u32 | crc32c u32 | at_ms u64 | [output u64] | payload
//! ```
//! Little endian. The checksum covers everything but itself. `length` is that of the payload. `at_ms` is
//! the time of arrival in milliseconds since the Unix epoch, 0 if it is unknown; version 1 of the format
//! does not have it. `output` is there if the flag 2 is set, as for input: the offset in the session's
//! output at which the record arrived. The payload of a gap (flag 1) is the offset at which the stream
//! continues (u64) and the reason (UTF-8).

use bytes::{Buf, Bytes};

use super::header::Version;
use super::take;
use bowline_wire::{MAX_PAYLOAD, StreamId};

/// Length of the fields that every record begins with, in bytes.
const FIXED: usize = 24;

/// Length of the time and of the output offset, each, in bytes.
const FIELD: usize = 8;

/// Maximum length of a record before its payload, in bytes.
const MAX_HEAD: usize = FIXED + 2 * FIELD;

/// `BJR` and a byte that is not ASCII.
const MAGIC: u32 = u32::from_le_bytes(*b"BJR\xb1");

/// Flag: the payload describes a gap.
const GAP: u16 = 1;

/// Flag: the output offset is there.
const PLACED: u16 = 2;

/// Bytes of a stream, or a gap in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The stream.
    pub stream: StreamId,
    /// Offset of the first byte, present or missing.
    pub offset: u64,
    /// When and where it arrived.
    pub arrival: Arrival,
    /// The content.
    pub body: Body,
}

/// When a record arrived, and where in the session's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Milliseconds since the Unix epoch. `None` if unknown, as for every record of version 1.
    pub at_ms: Option<u64>,
    /// The end of the session's output at that time. Only records of input have it.
    pub output: Option<u64>,
}

impl Arrival {
    /// Returns the arrival at a time in milliseconds since the Unix epoch.
    #[must_use]
    pub const fn at(at_ms: u64) -> Self {
        Self {
            at_ms: Some(at_ms),
            output: None,
        }
    }

    /// Adds the end of the session's output at that time.
    #[must_use]
    pub const fn beside(self, output: u64) -> Self {
        Self {
            output: Some(output),
            ..self
        }
    }
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
    #[must_use]
    pub fn size(&self) -> u64 {
        let payload = match &self.body {
            Body::Bytes(bytes) => bytes.len(),
            Body::Gap { reason, .. } => size_of::<u64>() + reason.len(),
        };
        let place = if self.arrival.output.is_some() {
            FIELD
        } else {
            0
        };
        (FIXED + FIELD + place + payload) as u64
    }

    /// Returns the head and the payload separately, so that the payload is not copied.
    pub(super) fn encode(&self) -> (Head, Bytes) {
        let (kind, payload) = match &self.body {
            Body::Bytes(bytes) => (0, bytes.clone()),
            Body::Gap { to, reason } => (GAP, gap_payload(*to, reason)),
        };
        debug_assert!(
            payload.len() <= MAX_PAYLOAD,
            "the writer splits longer payloads"
        );
        let Arrival { at_ms, output } = self.arrival;
        let place = output.map_or(0, |_| PLACED);
        let mut head = Head {
            bytes: [0; MAX_HEAD],
            length: FIXED + FIELD,
        };
        let bytes = &mut head.bytes;
        bytes[0..4].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[4..6].copy_from_slice(&self.stream.0.to_le_bytes());
        bytes[6..8].copy_from_slice(&(kind | place).to_le_bytes());
        bytes[8..16].copy_from_slice(&self.offset.to_le_bytes());
        bytes[16..20].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        bytes[24..32].copy_from_slice(&at_ms.unwrap_or(0).to_le_bytes());
        if let Some(output) = output {
            bytes[32..40].copy_from_slice(&output.to_le_bytes());
            head.length += FIELD;
        }
        let crc = checksum(head.as_ref(), &payload);
        head.bytes[20..24].copy_from_slice(&crc.to_le_bytes());
        (head, payload)
    }
}

/// An encoded record before its payload.
pub(super) struct Head {
    bytes: [u8; MAX_HEAD],
    length: usize,
}

impl AsRef<[u8]> for Head {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

fn gap_payload(to: u64, reason: &str) -> Bytes {
    // A long reason is truncated.
    let reason = reason.as_bytes().iter().take(MAX_PAYLOAD / 2);
    to.to_le_bytes().iter().chain(reason).copied().collect()
}

/// Returns the checksum of a head without its checksum field, and of the payload.
fn checksum(head: &[u8], payload: &[u8]) -> u32 {
    let fixed = crc32c::crc32c(&head[..FIXED - 4]);
    crc32c::crc32c_append(crc32c::crc32c_append(fixed, &head[FIXED..]), payload)
}

/// Returns the length of a record's head, by its flags.
const fn head_length(flags: u16, version: Version) -> usize {
    match version {
        Version::Untimed => FIXED,
        Version::Timed if flags & PLACED == 0 => FIXED + FIELD,
        Version::Timed => MAX_HEAD,
    }
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
pub(super) fn look(bytes: &[u8], version: Version) -> Front {
    let magic = MAGIC.to_le_bytes();
    let known = bytes.len().min(magic.len());
    if bytes[..known] != magic[..known] {
        return Front::Bad;
    }
    let Some(fixed) = bytes.first_chunk::<FIXED>() else {
        return Front::Short;
    };
    let [.., a, b, c, d, e, f, g, h] = *fixed;
    let (length, crc) = (
        u32::from_le_bytes([a, b, c, d]),
        u32::from_le_bytes([e, f, g, h]),
    );
    let length = length as usize;
    if length > MAX_PAYLOAD {
        return Front::Bad;
    }
    let head = head_length(u16::from_le_bytes([fixed[6], fixed[7]]), version);
    match bytes.get(..head + length).map(|it| it.split_at(head)) {
        None => Front::Short,
        Some((head, payload)) if checksum(head, payload) == crc => {
            Front::Record(head.len() + payload.len())
        }
        Some(_) => Front::Bad,
    }
}

/// Parses a record that [`look`] has verified. `None` if this version does not write such records.
pub(super) fn read(mut record: Bytes, version: Version) -> Option<Record> {
    record.advance(size_of_val(&MAGIC));
    let (stream, flags, offset) = (
        StreamId(record.get_u16_le()),
        record.get_u16_le(),
        record.get_u64_le(),
    );
    // The length and the checksum.
    record.advance(FIELD);
    let known = match version {
        Version::Untimed => GAP,
        Version::Timed => GAP | PLACED,
    };
    if flags & !known != 0 {
        return None;
    }
    let mut arrival = Arrival::default();
    if version == Version::Timed {
        arrival.at_ms = Some(record.get_u64_le()).filter(|&at_ms| at_ms > 0);
    }
    if flags & PLACED != 0 {
        arrival.output = Some(record.get_u64_le());
    }
    let payload = record;
    let body = match flags & GAP {
        0 if payload.is_empty() => return None,
        // Exceeds the maximum offset.
        0 if offset.checked_add(payload.len() as u64).is_none() => return None,
        0 => Body::Bytes(payload),
        _ => gap(&payload)?,
    };
    let record = Record {
        stream,
        offset,
        arrival,
        body,
    };
    (record.end() > offset).then_some(record)
}

fn gap(mut payload: &[u8]) -> Option<Body> {
    let to = take!(payload, u64);
    let reason = String::from_utf8_lossy(payload).into_owned();
    Some(Body::Gap { to, reason })
}
