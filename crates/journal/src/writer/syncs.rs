//! Syncs that somebody else waits for, so that a slow disk holds nobody up.

use std::fmt;
use std::io;
use std::sync::Arc;

use super::super::{Disk, KeptStreams};

/// What makes safe what was written so far. To be [run](Self::run) wherever it may take its time,
/// and then to be told to [`JournalWriter::synced`](super::JournalWriter::synced).
pub struct SyncJob<D: Disk> {
    pub(super) disk: D,
    pub(super) files: Vec<Arc<D::File>>,
    pub(super) number: u64,
}

impl<D: Disk> SyncJob<D> {
    /// Waits for the disk.
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

/// What came of a [`SyncJob`].
#[derive(Debug)]
pub struct SyncDone {
    pub(super) number: u64,
    pub(super) outcome: io::Result<()>,
}

/// A sync that is under way.
#[derive(Debug)]
pub(super) struct UnderWay<F> {
    pub(super) number: u64,
    pub(super) files: Vec<Arc<F>>,
    /// Records that it makes safe: the first of those that are not, and how long they are.
    pub(super) records: usize,
    pub(super) bytes: u64,
    /// Where the streams ended when it began.
    pub(super) kept: KeptStreams,
}

/// Whether syncs are left to others, and what has become of them.
#[derive(Debug)]
pub(super) struct Syncs<F> {
    /// Whether they are.
    pub(super) are_deferred: bool,
    pub(super) is_due: bool,
    pub(super) under_way: Option<UnderWay<F>>,
    /// One that was under way when a write failed. What it makes safe the next segment need not carry.
    pub(super) overtaken: Option<UnderWay<F>>,
    /// Segments that are full, and not safe.
    pub(super) full: Vec<Arc<F>>,
    pub(super) next: u64,
}

impl<F> Default for Syncs<F> {
    fn default() -> Self {
        Self {
            are_deferred: false,
            is_due: false,
            under_way: None,
            overtaken: None,
            full: Vec::new(),
            next: 0,
        }
    }
}

impl<F> Syncs<F> {
    /// Every segment but the one that is written to that is not known to be safe. Nothing that is
    /// under way is waited for any more.
    pub(super) fn take_files(&mut self) -> Vec<Arc<F>> {
        self.overtaken = None;
        let under_way = self.under_way.take().map(|it| it.files);
        let mut files = under_way.unwrap_or_default();
        files.append(&mut self.full);
        self.is_due = false;
        files
    }
}
