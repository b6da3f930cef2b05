//! What keeps a journal from being written.

use std::io;

use thiserror::Error;

/// The journal is not written for now. The session is not touched by it, and the writer tries again
/// by itself.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("keep a journal: {detail}{}", kind.advice())]
pub struct Degraded {
    /// What kind of trouble it is.
    pub kind: DegradedKind,
    /// The system's words.
    pub detail: String,
}

/// What kind of trouble keeps a journal from being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DegradedKind {
    /// No space is left, or none that this user may have (ENOSPC, EDQUOT, EFBIG).
    Full,
    /// The disk said that what it had taken may be lost (fsync(2) failed). The segment is given up;
    /// what was not yet safe is written again to a new one.
    Sync,
    /// It takes too long to make safe what it has taken.
    Slow,
    /// Anything else.
    Io,
}

impl DegradedKind {
    fn advice(self) -> &'static str {
        match self {
            Self::Full => "; free some space, and it goes on",
            Self::Sync => "; look after the disk: it loses what it has taken",
            Self::Slow => "; it goes on once that is safe",
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

    /// The disk takes so long that too much waits for it.
    pub(super) fn behind() -> Self {
        let (kind, detail) = (DegradedKind::Slow, "the disk does not keep up".to_owned());
        Self { kind, detail }
    }

    pub(super) fn from_sync(error: &io::Error) -> Self {
        let (kind, detail) = (DegradedKind::Sync, error.to_string());
        Self { kind, detail }
    }
}
