//! The journal: a session's streams on disk, so that they outlive the session's memory and process.
//!
//! A journal is a row of segments: files in a folder of its own, or one file that is a recording. A
//! segment is a [`Header`] and then records, one behind the other, of all streams in the order in
//! which they came. Each record carries its offset and a checksum, so that whatever a crash leaves
//! behind is read up to its last whole record and not one byte further.
//!
//! [`Scan`] and [`recover`] are pure: bytes in, records out. [`JournalWriter`] and [`JournalReader`]
//! work on a [`Disk`], which is a [`Folder`], an [`OneFile`], or whatever a test makes of it. Their
//! calls block for as long as the disk does.
//!
//! Invariants: what is acknowledged was written; what is missing between two records is a gap that
//! says so; a record that is given out is one that was put in.

mod disk;
mod fault;
mod header;
mod reader;
mod record;
mod scan;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::BTreeMap;

pub use self::disk::{Disk, Folder, OneFile};
pub use self::fault::{Degraded, DegradedKind};
pub use self::header::{Begin, Header, SIGNATURE};
pub use self::reader::JournalReader;
pub use self::record::{Body, Record};
pub use self::scan::{Recovered, Scan, Stop, recover};
pub use self::writer::{JournalEvent, JournalLimits, JournalWriter, SyncDone, SyncJob};

use bowline_wire::StreamId;

/// Which part of a stream there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The oldest offset that is still there.
    pub start: u64,
    /// The offset behind the last byte that was written.
    pub end: u64,
    /// The offset up to which the bytes survive a power failure. Those behind it survive the end of
    /// the process, not that of the machine.
    pub durable: u64,
}

/// The streams of a journal that hold anything.
pub type KeptStreams = BTreeMap<StreamId, Kept>;

/// Takes an integer off the front of `bytes`, which must be long enough.
macro_rules! take {
    ($bytes:ident, $number:ty) => {{
        let (number, rest) = $bytes.split_first_chunk()?;
        $bytes = rest;
        <$number>::from_le_bytes(*number)
    }};
}
use take;
