//! The journal of a hosted session: one more cursor over its streams, and where old bytes come
//! from.

use std::io;
use std::path::PathBuf;
use std::time::Instant;

use bowline_transport::Piece;
use bowline_transport::journal::{
    Folder, JournalEvent, JournalLimits, JournalReader, JournalWriter,
};

use crate::core::{Core, ReadBack};
use crate::wire::{Epoch, StreamId};

/// What became of a journal.
#[derive(Debug)]
pub(super) enum Trouble {
    Degraded(String),
    Over,
}

/// A journal in a folder.
#[derive(Debug)]
pub(crate) struct Archive {
    writer: JournalWriter<Folder>,
    reader: Option<JournalReader<Folder>>,
    folder: Folder,
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
        let folder = Folder::make(path)?;
        let writer = JournalWriter::create(folder.clone(), limits, epoch, started_ms)?;
        Ok(Self {
            writer,
            reader: None,
            folder,
            limits,
        })
    }

    /// Writes what the journal lacks of a stream, and tells the core what it has.
    pub(super) fn follow(&mut self, core: &mut Core, id: StreamId, now: Instant) {
        loop {
            let at = self.writer.end(id);
            if at >= core.end(id) {
                break;
            }
            let done = match core.peek(id, at) {
                Ok(bytes) => self.writer.append(id, at, bytes, now),
                Err(oldest) => self.writer.append_gap(id, oldest, "overflow", now),
            };
            if done.is_err() {
                break;
            }
        }
        self.tell(core, id);
    }

    /// Does what is due.
    pub(super) fn poll(&mut self, now: Instant) {
        self.writer.poll(now);
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.writer.deadline()
    }

    /// What went wrong, or is right again.
    pub(super) fn trouble(&mut self) -> Option<Trouble> {
        loop {
            match self.writer.next_event()? {
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
        let _ = self.writer.sync(now);
    }

    /// Up to `max` bytes of a stream from an offset.
    pub(super) fn read(&mut self, id: StreamId, offset: u64, max: usize) -> ReadBack {
        if self.reader.is_none() {
            self.reader = JournalReader::open(self.folder.clone()).ok();
        }
        let reader = self.reader.as_mut();
        match reader.map(|reader| reader.read(id, offset, max)) {
            Some(Ok(Some(Piece::Bytes { bytes, .. }))) => ReadBack::Bytes(bytes),
            Some(Ok(Some(Piece::Gap { to, .. }))) => ReadBack::Gap { to },
            _ => ReadBack::Lost,
        }
    }

    /// The extents as the core wants them.
    pub(super) fn tell(&self, core: &mut Core, id: StreamId) {
        let Some(kept) = self.writer.kept().get(&id).copied() else {
            return;
        };
        let has_room = self.writer.degraded().is_none() && self.has_room(core, id, kept.start);
        core.archived(id, kept.start..kept.end, has_room);
        core.durable(id, kept.durable);
    }

    /// Whether the next segment can come without dropping what somebody has yet to take.
    fn has_room(&self, core: &Core, id: StreamId, start: u64) -> bool {
        let kept = self.writer.kept().values();
        let used: u64 = kept.map(|kept| kept.end - kept.start).sum();
        let next = self.limits.segment_bytes.saturating_mul(2);
        // Headers of records are not counted here; they are less than a tenth.
        let is_small = used.saturating_mul(10) / 9 + next < self.limits.cap_bytes;
        is_small || core.wanted_from(id) >= start.saturating_add(next)
    }
}
