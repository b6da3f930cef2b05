//! The journal of a running session: it follows the session's streams like a client does, and
//! returns bytes that have left memory.

use std::io;
use std::path::PathBuf;
use std::time::Instant;

use bowline_transport::Piece;
use bowline_transport::journal::{
    Arrival, Arrived, Disk, Folder, JournalEvent, JournalLimits, JournalReader, JournalWriter,
    SyncDone, SyncJob,
};
use bytes::Bytes;

use super::audit_log::wall_ms;
use crate::session_machine::{JournalRead, SessionMachine};
use crate::wire::{Epoch, StreamId};

/// A disk whose files can be synced by another thread than the one that writes them.
pub(crate) trait SharedDisk: Disk<File: Send + Sync> + Clone + Send + 'static {}

impl<D: Disk<File: Send + Sync> + Clone + Send + 'static> SharedDisk for D {}

/// A change of the journal's condition.
#[derive(Debug)]
pub(super) enum JournalState {
    /// Writing fails, for this reason.
    Degraded(String),
    /// Writing works again.
    Recovered,
}

/// A session's journal: a writer, and a reader that is opened when it is needed first.
#[derive(Debug)]
pub(crate) struct SessionJournal<D: Disk> {
    writer: JournalWriter<D>,
    /// Keeps the positions of the clients that read it. `None` before the first read, and after one that
    /// failed.
    reader: Option<JournalReader<D>>,
    disk: D,
    limits: JournalLimits,
}

impl SessionJournal<Folder> {
    /// Creates a journal in a new directory at `path`.
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
}

impl<D: SharedDisk> SessionJournal<D> {
    /// Creates a journal on a disk.
    pub(super) fn on(
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
            limits,
        })
    }

    /// Appends what the journal lacks of a stream, and reports its extent to the machine. Output and input
    /// are appended in the order in which they occurred.
    pub(super) fn follow(&mut self, machine: &mut SessionMachine, id: StreamId, now: Instant) {
        match id {
            StreamId::STDOUT | StreamId::INPUT => {
                loop {
                    let (next, max) = self.next_of_dialogue(machine);
                    if !self.append_next(machine, next, max, now) {
                        break;
                    }
                }
                self.report_extent(machine, StreamId::INPUT);
                self.report_extent(machine, StreamId::STDOUT);
            }
            _ => {
                while self.append_next(machine, id, usize::MAX, now) {}
                self.report_extent(machine, id);
            }
        }
    }

    /// Returns whether output or input is to be appended next, and up to how many bytes.
    fn next_of_dialogue(&self, machine: &SessionMachine) -> (StreamId, usize) {
        let end = self.writer.end(StreamId::STDOUT);
        let place = machine.input_place(self.writer.end(StreamId::INPUT));
        match place.map(|place| place.saturating_sub(end)) {
            Some(0) => (StreamId::INPUT, usize::MAX),
            Some(before) => (
                StreamId::STDOUT,
                usize::try_from(before).unwrap_or(usize::MAX),
            ),
            None => (StreamId::STDOUT, usize::MAX),
        }
    }

    /// Appends up to `max` bytes that the journal lacks of a stream. Returns whether there were any and they
    /// were accepted.
    fn append_next(
        &mut self,
        machine: &SessionMachine,
        id: StreamId,
        max: usize,
        now: Instant,
    ) -> bool {
        let at = self.writer.end(id);
        if at >= machine.end(id) {
            return false;
        }
        let done = match machine.read_memory(id, at, max) {
            Ok((bytes, arrival)) => self.writer.append(id, at, bytes, arrival, now),
            Err(oldest) => {
                let arrival = Arrival::at(wall_ms());
                self.writer.append_gap(id, oldest, "overflow", arrival, now)
            }
        };
        done.is_ok()
    }

    /// Appends a record of the screen. Returns whether it was written.
    pub(super) fn append_screen(&mut self, record: Bytes, now: Instant) -> bool {
        let (id, arrival) = (StreamId::SCREENS, Arrival::at(wall_ms()));
        let end = self.writer.end(id);
        self.writer.append(id, end, record, arrival, now).is_ok()
    }

    /// Returns the disk, for a reader in another thread.
    pub(super) fn disk(&self) -> D {
        self.disk.clone()
    }

    /// Does what is due at `now`.
    pub(super) fn poll(&mut self, now: Instant) {
        self.writer.poll(now);
    }

    /// When [`poll`](Self::poll) is due next.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.writer.deadline()
    }

    /// Returns the next change of the journal's condition.
    pub(super) fn next_state(&mut self) -> Option<JournalState> {
        loop {
            match self.writer.next_event()? {
                JournalEvent::Degraded(degraded) => {
                    return Some(JournalState::Degraded(degraded.to_string()));
                }
                JournalEvent::Recovered => return Some(JournalState::Recovered),
                // The machine learns of it from the extent, and a client that lacks the bytes from a gap.
                JournalEvent::Dropped { .. } => {}
            }
        }
    }

    /// Completes the journal at the end of the session, and makes it durable; blocks. What a full disk
    /// lacks of the streams becomes a gap, which is recorded with the exit in space kept for them.
    pub(super) fn close(
        &mut self,
        machine: &mut SessionMachine,
        streams: &[StreamId],
        now: Instant,
    ) {
        if self.writer.degraded().is_some() {
            self.writer.use_reserve();
            let arrival = Arrival::at(wall_ms());
            for &id in streams.iter().filter(|id| **id != StreamId::LIFECYCLE) {
                let end = machine.end(id);
                let _ = self
                    .writer
                    .append_gap(id, end, "not written in time", arrival, now);
            }
            self.follow(machine, StreamId::LIFECYCLE, now);
        }
        let _ = self.writer.sync(now);
    }

    /// Returns a sync that is due, to be run in another thread.
    pub(super) fn due_sync(&mut self) -> Option<SyncJob<D>> {
        self.writer.due_sync()
    }

    /// Takes the result of a sync.
    pub(super) fn synced(&mut self, done: SyncDone, now: Instant) {
        self.writer.synced(done, now);
    }

    /// Reads up to `max` bytes of a stream from `offset`.
    pub(super) fn read(&mut self, id: StreamId, offset: u64, max: usize) -> JournalRead {
        match self.read_piece(id, offset, max) {
            Ok(Some(Arrived { arrival, piece })) => match piece {
                Piece::Bytes { bytes, .. } => JournalRead::Bytes(bytes, arrival),
                Piece::Gap { to, .. } => JournalRead::Gap { to },
            },
            Ok(None) => JournalRead::Unreadable,
            Err(_) => {
                self.reader = None;
                JournalRead::Unreadable
            }
        }
    }

    fn read_piece(&mut self, id: StreamId, offset: u64, max: usize) -> io::Result<Option<Arrived>> {
        let reader = match &mut self.reader {
            Some(reader) => reader,
            reader => reader.insert(JournalReader::open(self.disk.clone())?),
        };
        reader.read_arrived(id, offset, max)
    }

    fn report_extent(&self, machine: &mut SessionMachine, id: StreamId) {
        let Some(kept) = self.writer.kept().get(&id).copied() else {
            return;
        };
        let has_room = self.writer.degraded().is_none() && self.has_room(machine, id, kept.start);
        machine.set_journal_extent(id, kept.start..kept.end, has_room);
        machine.set_durable(id, kept.durable);
    }

    /// Whether another segment fits without dropping bytes that a client still needs.
    fn has_room(&self, machine: &SessionMachine, id: StreamId, start: u64) -> bool {
        let next = self.limits.segment_bytes.saturating_mul(2);
        let is_small = self.writer.size().saturating_add(next) < self.limits.cap_bytes;
        is_small || machine.oldest_needed(id) >= start.saturating_add(next)
    }
}
