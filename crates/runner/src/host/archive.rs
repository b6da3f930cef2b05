//! The journal of a hosted session: one more cursor over its streams, and where old bytes come
//! from.

use std::io;
use std::path::PathBuf;
use std::time::Instant;

use bowline_transport::Piece;
use bowline_transport::journal::{Disk, Folder, JournalEvent, JournalLimits, SyncDone};

use super::on_disk::{Journal, OnDisk, Wait};
use crate::core::{Core, ReadBack};
use crate::wire::{Epoch, StreamId};

/// What became of a journal.
#[derive(Debug)]
pub(super) enum Trouble {
    Degraded(String),
    Over,
}

/// A journal.
#[derive(Debug)]
pub(crate) struct Archive {
    journal: Box<dyn Journal>,
    limits: JournalLimits,
}

impl Archive {
    /// Begins a journal in a folder, which is made.
    pub(crate) fn create(
        path: PathBuf,
        cap_bytes: u64,
        epoch: Epoch,
        started_ms: u64,
    ) -> io::Result<Self> {
        let mut limits = JournalLimits::default();
        limits.cap_bytes = cap_bytes.max(2);
        limits.segment_bytes = limits.segment_bytes.min(limits.cap_bytes / 2);
        Self::on(Folder::make(path)?, limits, epoch, started_ms)
    }

    /// Begins a journal on a disk.
    pub(super) fn on<D>(
        disk: D,
        limits: JournalLimits,
        epoch: Epoch,
        started_ms: u64,
    ) -> io::Result<Self>
    where
        D: Disk<File: Send + Sync> + Clone + Send + 'static,
    {
        let journal = OnDisk::create(disk, limits, epoch, started_ms)?;
        Ok(Self {
            journal: Box::new(journal),
            limits,
        })
    }

    /// Writes what the journal lacks of a stream, and tells the core what it has.
    pub(super) fn follow(&mut self, core: &mut Core, id: StreamId, now: Instant) {
        loop {
            let at = self.journal.end(id);
            if at >= core.end(id) {
                break;
            }
            let done = match core.peek(id, at) {
                Ok(bytes) => self.journal.append(id, at, bytes, now),
                Err(oldest) => self.journal.append_gap(id, oldest, "overflow", now),
            };
            if done.is_err() {
                break;
            }
        }
        self.tell(core, id);
    }

    /// Does what is due.
    pub(super) fn poll(&mut self, now: Instant) {
        self.journal.poll(now);
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.journal.deadline()
    }

    /// What went wrong, or is right again.
    pub(super) fn trouble(&mut self) -> Option<Trouble> {
        loop {
            match self.journal.next_event()? {
                JournalEvent::Degraded(degraded) => {
                    return Some(Trouble::Degraded(degraded.to_string()));
                }
                JournalEvent::Recovered => return Some(Trouble::Over),
                // The core is told by the extents, and whoever lacks the bytes by a gap.
                JournalEvent::Dropped { .. } => {}
            }
        }
    }

    /// Makes all of it safe.
    pub(super) fn sync(&mut self, now: Instant) {
        let _ = self.journal.sync(now);
    }

    /// A sync that is due and that the session is not to wait for.
    pub(super) fn due_sync(&mut self) -> Option<Wait> {
        self.journal.due_sync()
    }

    /// What came of it.
    pub(super) fn synced(&mut self, done: SyncDone, now: Instant) {
        self.journal.synced(done, now);
    }

    /// Up to `max` bytes of a stream from an offset.
    pub(super) fn read(&mut self, id: StreamId, offset: u64, max: usize) -> ReadBack {
        match self.journal.read(id, offset, max) {
            Some(Piece::Bytes { bytes, .. }) => ReadBack::Bytes(bytes),
            Some(Piece::Gap { to, .. }) => ReadBack::Gap { to },
            None => ReadBack::Lost,
        }
    }

    /// The extents as the core wants them.
    pub(super) fn tell(&self, core: &mut Core, id: StreamId) {
        let Some(kept) = self.journal.kept().get(&id).copied() else {
            return;
        };
        let has_room = self.journal.degraded().is_none() && self.has_room(core, id, kept.start);
        core.archived(id, kept.start..kept.end, has_room);
        core.durable(id, kept.durable);
    }

    /// Whether the next segment can come without dropping what somebody has yet to take.
    fn has_room(&self, core: &Core, id: StreamId, start: u64) -> bool {
        let kept = self.journal.kept().values();
        let used: u64 = kept.map(|kept| kept.end - kept.start).sum();
        let next = self.limits.segment_bytes.saturating_mul(2);
        // Headers of records are not counted here; they are less than a tenth.
        let is_small = used.saturating_mul(10) / 9 + next < self.limits.cap_bytes;
        is_small || core.wanted_from(id) >= start.saturating_add(next)
    }
}
