//! A journal on a disk of any kind: written and read at once, and made safe by others.

use std::fmt::Debug;
use std::io;
use std::time::Instant;

use bowline_transport::Piece;
use bowline_transport::journal::{
    Degraded, Disk, JournalEvent, JournalLimits, JournalReader, JournalWriter, KeptStreams,
    SyncDone,
};
use bytes::Bytes;

use crate::wire::{Epoch, StreamId};

/// A journal, whatever it lies on. As the writer and the reader of that name have it.
pub(super) trait Journal: Debug + Send {
    fn end(&self, id: StreamId) -> u64;
    fn kept(&self) -> &KeptStreams;
    fn degraded(&self) -> Option<&Degraded>;
    fn append(
        &mut self,
        id: StreamId,
        offset: u64,
        bytes: Bytes,
        now: Instant,
    ) -> Result<(), Degraded>;
    fn append_gap(
        &mut self,
        id: StreamId,
        to: u64,
        reason: &str,
        now: Instant,
    ) -> Result<(), Degraded>;
    fn poll(&mut self, now: Instant);
    fn deadline(&self) -> Option<Instant>;
    fn next_event(&mut self) -> Option<JournalEvent>;
    fn sync(&mut self, now: Instant) -> Result<(), Degraded>;
    fn due_sync(&mut self) -> Option<Wait>;
    fn synced(&mut self, done: SyncDone, now: Instant);
    /// `None` if it cannot be read.
    fn read(&mut self, id: StreamId, offset: u64, max: usize) -> Option<Piece>;
}

/// A wait for a disk, for a thread that has the time.
pub(super) type Wait = Box<dyn FnOnce() -> SyncDone + Send>;

/// A journal on a disk.
#[derive(Debug)]
pub(super) struct OnDisk<D: Disk> {
    writer: JournalWriter<D>,
    reader: Option<JournalReader<D>>,
    disk: D,
}

impl<D: Disk + Clone> OnDisk<D> {
    pub(super) fn create(
        disk: D,
        limits: JournalLimits,
        epoch: Epoch,
        started_ms: u64,
    ) -> io::Result<Self> {
        let mut writer = JournalWriter::create(disk.clone(), limits, epoch, started_ms)?;
        writer.defer_syncs();
        Ok(Self {
            writer,
            reader: None,
            disk,
        })
    }
}

impl<D: Disk<File: Send + Sync> + Clone + Send + 'static> Journal for OnDisk<D> {
    fn end(&self, id: StreamId) -> u64 {
        self.writer.end(id)
    }

    fn kept(&self) -> &KeptStreams {
        self.writer.kept()
    }

    fn degraded(&self) -> Option<&Degraded> {
        self.writer.degraded()
    }

    fn append(
        &mut self,
        id: StreamId,
        offset: u64,
        bytes: Bytes,
        now: Instant,
    ) -> Result<(), Degraded> {
        self.writer.append(id, offset, bytes, now)
    }

    fn append_gap(
        &mut self,
        id: StreamId,
        to: u64,
        reason: &str,
        now: Instant,
    ) -> Result<(), Degraded> {
        self.writer.append_gap(id, to, reason, now)
    }

    fn poll(&mut self, now: Instant) {
        self.writer.poll(now);
    }

    fn deadline(&self) -> Option<Instant> {
        self.writer.deadline()
    }

    fn next_event(&mut self) -> Option<JournalEvent> {
        self.writer.next_event()
    }

    fn sync(&mut self, now: Instant) -> Result<(), Degraded> {
        self.writer.sync(now)
    }

    fn due_sync(&mut self) -> Option<Wait> {
        let job = self.writer.due_sync()?;
        Some(Box::new(move || job.run()))
    }

    fn synced(&mut self, done: SyncDone, now: Instant) {
        self.writer.synced(done, now);
    }

    fn read(&mut self, id: StreamId, offset: u64, max: usize) -> Option<Piece> {
        if self.reader.is_none() {
            self.reader = JournalReader::open(self.disk.clone()).ok();
        }
        let reader = self.reader.as_mut()?;
        reader.read(id, offset, max).ok().flatten()
    }
}
