//! The header of a segment: its journal, and the position of each stream.
//!
//! ```text
//! signature 8 | version u16 | streams u16 | segment u32 | epoch u128 | started u64 |
//! streams × { stream u16, start u64, begin u64, carried u64 } | crc32c u32
//! ```
//! Little endian. The checksum covers everything before it.

use std::collections::BTreeMap;

use super::{Kept, KeptStreams, take};
use bowline_wire::{Epoch, StreamId};

/// The first bytes of every segment. As in PNG (RFC 2083, section 3.1), a byte over 127 and line ends
/// reveal a transfer as text.
pub const SIGNATURE: [u8; 8] = *b"\x89BJL\r\n\x1a\n";

/// Version of the format that is written, and the newest that is read. Version 1 has the same header.
pub(super) const VERSION: u16 = 2;

/// A version that can be read: the layout of its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// Version 1: records without a time.
    Untimed,
    /// Version 2.
    Timed,
}

impl Version {
    const fn of(version: u16) -> Option<Self> {
        match version {
            1 => Some(Self::Untimed),
            VERSION => Some(Self::Timed),
            _ => None,
        }
    }
}

/// Length of the fields before the streams, in bytes.
const FIXED: usize = 40;

/// Length of the fields of each stream, in bytes.
const EACH: usize = 26;

/// The header of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of the segment in its journal, from 0.
    pub segment: u32,
    /// The child's epoch. Journals of different epochs are unrelated.
    pub epoch: Epoch,
    /// Creation time of the journal, in milliseconds since the Unix epoch. For display only.
    pub started_ms: u64,
    /// The position of each stream.
    pub streams: BTreeMap<StreamId, Begin>,
}

/// The position of a stream at the beginning of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begin {
    /// The oldest offset in the journal.
    pub start: u64,
    /// The offset at which the stream continues in this segment.
    pub begin: u64,
    /// The offset up to which the segment repeats bytes that an earlier one could not make durable. The
    /// segment is valid once it has reached this offset.
    pub carried: u64,
}

impl Header {
    /// Returns the offset at which a stream continues in this segment.
    #[must_use]
    pub fn begin(&self, stream: StreamId) -> u64 {
        self.streams.get(&stream).map_or(0, |stream| stream.begin)
    }

    /// Returns whether a scan at `kept` has read everything that the segment repeats.
    pub(super) fn covers_carried(&self, kept: &KeptStreams) -> bool {
        let reached = |stream| kept.get(stream).map_or(0, |kept| kept.end);
        self.streams
            .iter()
            .all(|(stream, begin)| reached(stream) >= begin.carried)
    }

    pub(super) fn kept(&self) -> KeptStreams {
        let kept = |(&stream, &Begin { start, begin, .. }): (&StreamId, &Begin)| {
            let (end, durable) = (begin, begin);
            (
                stream,
                Kept {
                    start,
                    end,
                    durable,
                },
            )
        };
        self.streams.iter().map(kept).collect()
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FIXED + self.streams.len() * EACH + 4);
        bytes.extend(SIGNATURE);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((self.streams.len() as u16).to_le_bytes());
        bytes.extend(self.segment.to_le_bytes());
        bytes.extend(self.epoch.0.to_le_bytes());
        bytes.extend(self.started_ms.to_le_bytes());
        for (
            stream,
            Begin {
                start,
                begin,
                carried,
            },
        ) in &self.streams
        {
            bytes.extend(stream.0.to_le_bytes());
            bytes.extend(start.to_le_bytes());
            bytes.extend(begin.to_le_bytes());
            bytes.extend(carried.to_le_bytes());
        }
        let crc = crc32c::crc32c(&bytes);
        bytes.extend(crc.to_le_bytes());
        bytes
    }
}

/// What the front of a buffer holds.
#[derive(Debug)]
pub(super) enum Front {
    /// A header, its length in bytes, and the version of the records that follow.
    Header(Header, usize, Version),
    /// An incomplete header.
    Short,
    /// Not a header, or a damaged one.
    Bad,
    /// A header of another version of the format.
    Version(u16),
}

pub(super) fn look(bytes: &[u8]) -> Front {
    let known = bytes.len().min(SIGNATURE.len());
    if bytes[..known] != SIGNATURE[..known] {
        return Front::Bad;
    }
    let Some((fixed, _)) = bytes.split_first_chunk::<FIXED>() else {
        return Front::Short;
    };
    let version = u16::from_le_bytes([fixed[8], fixed[9]]);
    let Some(records) = Version::of(version) else {
        return Front::Version(version);
    };
    let streams = usize::from(u16::from_le_bytes([fixed[10], fixed[11]]));
    let body = FIXED + streams * EACH;
    match (bytes.get(..body), bytes.get(body..body + 4)) {
        (Some(body), Some(crc)) if crc32c::crc32c(body).to_le_bytes() == *crc => read(body)
            .map_or(Front::Bad, |header| {
                Front::Header(header, body.len() + 4, records)
            }),
        (Some(_), Some(_)) => Front::Bad,
        _ => Front::Short,
    }
}

fn read(bytes: &[u8]) -> Option<Header> {
    let mut rest = bytes.get(SIGNATURE.len() + 4..)?;
    let segment = take!(rest, u32);
    let epoch = Epoch(take!(rest, u128));
    let started_ms = take!(rest, u64);
    let mut streams = BTreeMap::new();
    while !rest.is_empty() {
        let stream = StreamId(take!(rest, u16));
        let (start, begin, carried) = (take!(rest, u64), take!(rest, u64), take!(rest, u64));
        if start > begin || begin > carried {
            return None;
        }
        streams.insert(
            stream,
            Begin {
                start,
                begin,
                carried,
            },
        );
    }
    let header = Header {
        segment,
        epoch,
        started_ms,
        streams,
    };
    Some(header)
}
