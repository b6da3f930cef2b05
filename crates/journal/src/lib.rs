//! Stores the byte streams of a session on disk, so that they survive its memory and its process.
//!
//! An internal crate of Bowline; its interface may change in any release.
//!
//! A journal is a sequence of segments: files in a folder of their own, or a single file, a recording.
//! A segment is a [`Header`] followed by the records of all streams in order of arrival. Each record
//! carries its offset, its time of arrival and a checksum, so that a journal is readable up to its last
//! intact record after any crash. A record of input also carries the end of the output at that time, so
//! that both streams can be read in the order in which they occurred: [`Merge`].
//!
//! Version 2 of the format is written. Version 1, whose records have no time, can be read.
//!
//! [`Scan`] and [`recover`] are pure: bytes in, records out. [`JournalWriter`] and [`JournalReader`] work
//! on a [`Disk`], such as a [`Folder`] or [`OneFile`]. Their calls block as long as the disk does.
//!
//! Invariants: acknowledged bytes were written; bytes that are missing between two records are an
//! explicit gap; a record that is read is one that was written.
//!
//! # Example
//!
//! ```
//! use std::time::{Duration, Instant};
//!
//! use bowline_journal::{Arrival, Folder, JournalLimits, JournalReader, JournalWriter};
//! use bowline_process::Piece;
//! use bowline_wire::{Epoch, StreamId};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let scratch = tempfile::tempdir()?;
//! # let path = scratch.path().join("journal");
//! let disk = Folder::make(&path)?;
//! let mut writer = JournalWriter::create(disk, JournalLimits::default(), Epoch::random(), 0)?;
//! let arrival = Arrival::at(1_700_000_000_000);
//! writer.append(StreamId::STDOUT, 0, b"ahoy".as_slice().into(), arrival, Instant::now())?;
//!
//! let mut reader = JournalReader::open(Folder::at(&path))?;
//! let piece = reader.read(StreamId::STDOUT, 0, 1024)?;
//! assert_eq!(piece, Some(Piece::Bytes { offset: 0, bytes: b"ahoy".as_slice().into() }));
//! # Ok(())
//! # }
//! ```

mod arrivals;
mod damage;
mod disk;
mod encode;
mod fault;
mod header;
mod merge;
mod reader;
mod record;
mod scan;
mod tail;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::BTreeMap;

pub use self::arrivals::Arrivals;
pub use self::damage::{Damage, DamageKind, UnsupportedVersion};
pub use self::disk::{Disk, Folder, OneFile};
pub use self::encode::{encode_records, encode_segment};
pub use self::fault::{Degraded, DegradedKind};
pub use self::header::{Begin, Header, SIGNATURE};
pub use self::merge::{Arrived, InputLines, Merge, Merged};
pub use self::reader::JournalReader;
pub use self::record::{Arrival, Body, Record};
pub use self::scan::{Recovered, Scan, Stop, recover};
pub use self::tail::JournalTail;
pub use self::writer::{JournalEvent, JournalLimits, JournalWriter, SyncDone, SyncJob};

use bowline_wire::StreamId;

/// The part of a stream that a journal holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The oldest available offset.
    pub start: u64,
    /// The offset past the last byte written.
    pub end: u64,
    /// The offset up to which the bytes survive a power failure. Later bytes survive the exit of the
    /// process only.
    pub durable: u64,
}

/// The non-empty streams of a journal.
pub type KeptStreams = BTreeMap<StreamId, Kept>;

/// Reads an integer from the front of `bytes`; returns `None` from the caller if they are too short.
macro_rules! take {
    ($bytes:ident, $number:ty) => {{
        let (number, rest) = $bytes.split_first_chunk()?;
        $bytes = rest;
        <$number>::from_le_bytes(*number)
    }};
}
use take;
