//! Why a journal cannot be written.

use std::io;

use thiserror::Error;

/// The journal is not being written. The session continues, and the writer retries by itself.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("journal not written: {detail}{}", kind.advice())]
pub struct Degraded {
    /// The cause.
    pub kind: DegradedKind,
    /// The description by the system.
    pub detail: String,
}

/// Causes for a journal not being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DegradedKind {
    /// No space is left, or the quota or file size limit is reached (`ENOSPC`, `EDQUOT`, `EFBIG`).
    Full,
    /// fsync(2) failed, so that written bytes may be lost. The segment is abandoned, and its bytes that
    /// were not durable are written to a new one.
    Sync,
    /// Syncs take too long.
    Slow,
    /// Another error.
    Io,
}

impl DegradedKind {
    fn advice(self) -> &'static str {
        match self {
            Self::Full => "; free disk space, and writing resumes",
            Self::Sync => "; check the disk, which loses written data",
            Self::Slow => "; writing resumes when the disk catches up",
            Self::Io => "",
        }
    }
}

impl Degraded {
    pub(super) fn from_write(error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge
            | io::ErrorKind::WriteZero => DegradedKind::Full,
            _ => DegradedKind::Io,
        };
        let detail = error.to_string();
        Self { kind, detail }
    }

    /// Too many bytes wait for a sync.
    pub(super) fn too_slow() -> Self {
        let (kind, detail) = (DegradedKind::Slow, "the disk is too slow".to_owned());
        Self { kind, detail }
    }

    pub(super) fn from_sync(error: &io::Error) -> Self {
        let (kind, detail) = (DegradedKind::Sync, error.to_string());
        Self { kind, detail }
    }
}
