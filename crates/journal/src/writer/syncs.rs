//! Deferred syncs, which run on another thread so that a slow disk does not block the writer.

use std::fmt;
use std::io;
use std::sync::Arc;

use super::super::{Disk, KeptStreams};

/// A sync of everything written so far. [Run](Self::run) it on a thread that may block, and pass the result
/// to [`JournalWriter::synced`](super::JournalWriter::synced).
pub struct SyncJob<D: Disk> {
    pub(super) disk: D,
    pub(super) files: Vec<Arc<D::File>>,
    pub(super) number: u64,
}

impl<D: Disk> SyncJob<D> {
    /// Syncs; blocks as long as the disk does.
    pub fn run(self) -> SyncDone {
        let files = self.files.iter();
        let mut outcomes = files.map(|file| self.disk.sync(file));
        SyncDone {
            number: self.number,
            outcome: outcomes.find(Result::is_err).unwrap_or(Ok(())),
        }
    }
}

impl<D: Disk> fmt::Debug for SyncJob<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyncJob")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// The result of a [`SyncJob`].
#[derive(Debug)]
pub struct SyncDone {
    pub(super) number: u64,
    pub(super) outcome: io::Result<()>,
}

/// A sync in progress.
#[derive(Debug)]
pub(super) struct RunningSync<F> {
    pub(super) number: u64,
    pub(super) files: Vec<Arc<F>>,
    /// Number of the oldest unsynced records that it covers, and their length in bytes.
    pub(super) records: usize,
    pub(super) bytes: u64,
    /// The state of the streams when it began.
    pub(super) kept: KeptStreams,
}

/// The state of deferred syncs.
#[derive(Debug)]
pub(super) struct Syncs<F> {
    /// Whether syncs are deferred.
    pub(super) are_deferred: bool,
    pub(super) is_due: bool,
    pub(super) in_progress: Option<RunningSync<F>>,
    /// A sync that was in progress when a write failed. The next segment need not repeat what it covers.
    pub(super) overtaken: Option<RunningSync<F>>,
    /// Full segments that are not synced.
    pub(super) full: Vec<Arc<F>>,
    pub(super) next: u64,
}

impl<F> Default for Syncs<F> {
    fn default() -> Self {
        Self {
            are_deferred: false,
            is_due: false,
            in_progress: None,
            overtaken: None,
            full: Vec::new(),
            next: 0,
        }
    }
}

impl<F> Syncs<F> {
    /// Takes every unsynced segment but the current one. Results of running syncs are ignored from now on.
    pub(super) fn take_files(&mut self) -> Vec<Arc<F>> {
        self.overtaken = None;
        let in_progress = self.in_progress.take().map(|it| it.files);
        let mut files = in_progress.unwrap_or_default();
        files.append(&mut self.full);
        self.is_due = false;
        files
    }
}
