//! Why a journal, or a part of it, cannot be read.

use std::io;

use thiserror::Error;

use super::header::VERSION;

/// A part of a journal that cannot be read: a segment, from an offset of its file to its end.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("segment {segment} {kind} at byte {offset}")]
pub struct Damage {
    /// Number of the segment.
    pub segment: u32,
    /// Offset in the segment's file of the first byte that is not part of an intact record.
    pub offset: u64,
    /// What is wrong there.
    pub kind: DamageKind,
}

/// Kinds of [`Damage`].
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum DamageKind {
    /// The file ends within a record or within its header. In the last segment of a journal that is being
    /// written, the record may still become complete.
    #[error("is cut")]
    Cut,
    /// The bytes are not a record, do not have its checksum, or do not continue their stream.
    #[error("is corrupt")]
    Corrupt,
}

/// A journal has a version of the format that this crate cannot read.
///
/// [`JournalReader::open`](super::JournalReader::open) returns it inside an [`io::Error`] of the kind
/// [`Unsupported`](io::ErrorKind::Unsupported).
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the journal has format version {found}, and only versions up to {supported} can be read")]
#[non_exhaustive]
pub struct UnsupportedVersion {
    /// Version of the journal.
    pub found: u16,
    /// Version that this crate writes, and the newest that it reads.
    pub supported: u16,
}

impl UnsupportedVersion {
    /// Returns the error for a journal of the version `found`.
    #[must_use]
    pub const fn new(found: u16) -> Self {
        let supported = VERSION;
        Self { found, supported }
    }
}

impl From<UnsupportedVersion> for io::Error {
    fn from(error: UnsupportedVersion) -> Self {
        Self::new(io::ErrorKind::Unsupported, error)
    }
}
