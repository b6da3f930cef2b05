//! Writes a journal, segment by segment.
//!
//! A segment is abandoned after a failed write or sync: its bytes that are not known to be durable are
//! written again to the next one. While no segment can be created the journal is degraded: it accepts no
//! bytes, and retries by the caller's clock.

mod limits;
mod rolling;
mod sealed;
mod segment;
mod syncs;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use bytes::{Buf as _, Bytes};

use super::fault::Degraded;
use super::record::{Arrival, Body, Record};
use super::{Disk, KeptStreams};
use bowline_wire::{Epoch, MAX_PAYLOAD, StreamId};

use sealed::SealedSegments;
use segment::Segment;
use syncs::{RunningSync, Syncs};

pub use limits::JournalLimits;
pub use syncs::{SyncDone, SyncJob};

/// Free space in bytes at which a journal resumes after a full disk, so that it does not resume for single
/// records.
const RESUME_BYTES: u64 = 64 << 10;

/// Multiple of [`JournalLimits::sync_bytes`] that may wait for a sync before writes are refused.
const MAX_UNSYNCED_GROUPS: u64 = 16;

/// Space that is kept for the last records of a journal, in bytes: an exit, and the gaps before it.
const RESERVE: u64 = 4 << 10;

/// Changes of a journal that are not the result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalEvent {
    /// Writes are refused until [`Recovered`](Self::Recovered).
    Degraded(Degraded),
    /// Writes are accepted again.
    Recovered,
    /// The oldest bytes of a stream were dropped to stay within the size limit.
    Dropped {
        /// The stream.
        stream: StreamId,
        /// First dropped offset.
        from: u64,
        /// First available offset.
        to: u64,
    },
}

/// Appends to a journal. Time is an argument; every call may block as long as the disk does.
///
/// Acknowledged bytes were accepted by the system and survive the exit of this process. They survive a
/// power failure once they are below [`Kept::durable`].
#[derive(Debug)]
pub struct JournalWriter<D: Disk> {
    disk: D,
    limits: JournalLimits,
    epoch: Epoch,
    started_ms: u64,
    kept: KeptStreams,
    /// `None` while no segment can be created.
    current: Option<Segment<D::File>>,
    sealed: SealedSegments,
    /// Records since the last sync, to be written again if it fails.
    unsynced: Vec<Record>,
    unsynced_bytes: u64,
    syncs: Syncs<D::File>,
    sync_at: Option<Instant>,
    retry_at: Option<Instant>,
    degraded: Option<Degraded>,
    /// Space after each record that stays reserved for the last ones, in bytes.
    reserve: u64,
    events: VecDeque<JournalEvent>,
}

impl<D: Disk> JournalWriter<D> {
    /// Creates a journal with its first segment. `started_ms` is the creation time in milliseconds since
    /// the Unix epoch, for display.
    ///
    /// # Errors
    ///
    /// Errors of the disk; no segment is left. An existing segment is not overwritten.
    pub fn create(
        disk: D,
        limits: JournalLimits,
        epoch: Epoch,
        started_ms: u64,
    ) -> io::Result<Self> {
        let mut writer = Self {
            disk,
            limits,
            epoch,
            started_ms,
            kept: KeptStreams::new(),
            current: None,
            sealed: SealedSegments::default(),
            unsynced: Vec::new(),
            unsynced_bytes: 0,
            syncs: Syncs::default(),
            sync_at: None,
            retry_at: None,
            degraded: None,
            reserve: RESERVE,
            events: VecDeque::new(),
        };
        writer.current = Some(writer.new_segment(true)?);
        Ok(writer)
    }

    /// Defers syncs to the caller, which takes each with [`due_sync`](Self::due_sync). Syncs after a
    /// failure and those by [`sync`](Self::sync) are still made here.
    pub fn defer_syncs(&mut self) {
        self.syncs.are_deferred = true;
    }

    /// Returns the sync that is due, unless one is in progress. To be called after every other call; its
    /// result is passed to [`synced`](Self::synced).
    pub fn due_sync(&mut self) -> Option<SyncJob<D>>
    where
        D: Clone,
    {
        let current = self.current.as_ref()?;
        if !self.syncs.is_due || self.syncs.in_progress.is_some() {
            return None;
        }
        self.syncs.is_due = false;
        self.sync_at = None;
        let mut files = std::mem::take(&mut self.syncs.full);
        files.push(Arc::clone(&current.file));
        self.syncs.next += 1;
        let number = self.syncs.next;
        self.syncs.in_progress = Some(RunningSync {
            number,
            files: files.clone(),
            records: self.unsynced.len(),
            bytes: self.unsynced_bytes,
            kept: self.kept.clone(),
        });
        Some(SyncJob {
            disk: self.disk.clone(),
            files,
            number,
        })
    }

    /// Processes the result of a sync. The result of a sync that completed after a failed write counts as
    /// long as no later segment repeats its bytes; after a failed sync it is ignored.
    pub fn synced(&mut self, done: SyncDone, now: Instant) {
        let is_same = |it: &mut RunningSync<D::File>| it.number == done.number;
        let Some(in_progress) = self.syncs.in_progress.take_if(is_same) else {
            let overtaken = self.syncs.overtaken.take_if(is_same);
            if let Some(overtaken) = overtaken.filter(|_| done.outcome.is_ok()) {
                self.mark_durable(overtaken);
            }
            return;
        };
        if let Err(error) = done.outcome {
            self.abandon_unsynced(&error);
            // An error is an event and a state.
            let _ = self.open_segment(true, now);
            return;
        }
        self.mark_durable(in_progress);
        self.syncs.is_due |= self.unsynced_bytes >= self.limits.sync_bytes;
    }

    fn mark_durable(&mut self, done: RunningSync<D::File>) {
        self.unsynced.drain(..done.records);
        self.unsynced_bytes -= done.bytes;
        for (stream, then) in done.kept {
            let kept = self.kept.entry(stream).or_default();
            kept.durable = kept.durable.max(then.end);
        }
    }

    /// Returns what the journal holds.
    #[must_use]
    pub fn kept(&self) -> &KeptStreams {
        &self.kept
    }

    /// Returns the size of all segments, in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        let current = self.current.as_ref().map_or(0, |segment| segment.bytes);
        self.sealed.bytes().saturating_add(current)
    }

    /// Returns the offset past the last byte of a stream.
    #[must_use]
    pub fn end(&self, stream: StreamId) -> u64 {
        self.kept.get(&stream).map_or(0, |kept| kept.end)
    }

    /// Returns why writes are refused, if they are.
    #[must_use]
    pub fn degraded(&self) -> Option<&Degraded> {
        self.degraded.as_ref()
    }

    /// Returns the next event. To be called after every other call until it returns `None`.
    pub fn next_event(&mut self) -> Option<JournalEvent> {
        self.events.pop_front()
    }

    /// Returns when [`poll`](Self::poll) is to be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        if self.degraded.is_some() {
            return self.retry_at;
        }
        self.sync_at
    }

    /// Performs what is due: a sync, or a retry after a failure.
    pub fn poll(&mut self, now: Instant) {
        // An error is an event and a state.
        if self.ready(now).is_ok() && self.sync_at.is_some_and(|at| at <= now) {
            self.group_sync(now);
        }
    }

    /// Appends bytes of a stream, which arrived together. Bytes that the journal already has are skipped; missing bytes before
    /// `offset` are recorded as a gap.
    ///
    /// # Errors
    ///
    /// The journal is degraded: nothing past [`end`](Self::end) was accepted. The caller may append bytes
    /// from there again, as long as it has them.
    pub fn append(
        &mut self,
        stream: StreamId,
        offset: u64,
        mut bytes: Bytes,
        arrival: Arrival,
        now: Instant,
    ) -> Result<(), Degraded> {
        self.append_gap(stream, offset, "not recorded in time", arrival, now)?;
        let known = self.end(stream) - offset;
        bytes.advance(usize::try_from(known).map_or(bytes.len(), |known| known.min(bytes.len())));
        while !bytes.is_empty() {
            let body = Body::Bytes(bytes.split_to(bytes.len().min(MAX_PAYLOAD)));
            let offset = self.end(stream);
            self.put(
                Record {
                    stream,
                    offset,
                    arrival,
                    body,
                },
                now,
            )?;
        }
        if self.unsynced_bytes >= self.limits.sync_bytes {
            self.group_sync(now);
        }
        Ok(())
    }

    /// Records that the bytes from the end of a stream to an offset are missing, as was found at `arrival`.
    ///
    /// # Errors
    ///
    /// The journal is degraded: the gap was not recorded.
    pub fn append_gap(
        &mut self,
        stream: StreamId,
        to: u64,
        reason: &str,
        arrival: Arrival,
        now: Instant,
    ) -> Result<(), Degraded> {
        self.ready(now)?;
        let offset = self.end(stream);
        if to <= offset {
            return Ok(());
        }
        let reason = reason.to_owned();
        let body = Body::Gap { to, reason };
        self.put(
            Record {
                stream,
                offset,
                arrival,
                body,
            },
            now,
        )
    }

    /// Makes the space available that is kept for the last records of a session: 4 KiB of the current
    /// segment, for its exit and the gaps before it. To be called before they are appended. A journal that
    /// is degraded by a full disk accepts them.
    ///
    /// No space is kept where the file system cannot reserve it, nor after a failure to create a segment.
    pub fn use_reserve(&mut self) {
        self.reserve = 0;
        if self.current.is_some() {
            self.degraded = None;
            self.retry_at = None;
        }
    }

    /// Makes everything written durable.
    ///
    /// # Errors
    ///
    /// The sync failed, and a new segment could not be created.
    pub fn sync(&mut self, now: Instant) -> Result<(), Degraded> {
        self.ready(now)?;
        if self.close_segment().is_err() {
            self.seal();
            return self.open_segment(true, now);
        }
        Ok(())
    }

    /// Syncs a group of writes, or marks a deferred sync as due. `kept` shows the result.
    fn group_sync(&mut self, now: Instant) {
        if self.syncs.are_deferred {
            self.syncs.is_due = true;
            self.sync_at = None;
        } else {
            let _ = self.sync(now);
        }
    }

    /// Ensures that a segment is open.
    fn ready(&mut self, now: Instant) -> Result<(), Degraded> {
        match &self.degraded {
            Some(degraded) if self.retry_at.is_some_and(|at| now < at) => Err(degraded.clone()),
            Some(_) if self.current.is_some() => self.catch_up(now),
            Some(_) => self.open_segment(true, now),
            None => Ok(()),
        }
    }

    /// Resumes after slow syncs, if they have completed, or after a full disk, if it has space.
    fn catch_up(&mut self, now: Instant) -> Result<(), Degraded> {
        if self.sync_is_behind_limit() {
            return Err(self.degrade(Degraded::too_slow(), now));
        }
        self.reserve(RESUME_BYTES, now)?;
        self.degraded = None;
        self.retry_at = None;
        self.events.push_back(JournalEvent::Recovered);
        Ok(())
    }

    /// Returns whether too many bytes wait for a sync.
    fn sync_is_behind_limit(&self) -> bool {
        self.syncs.are_deferred
            && self.unsynced_bytes >= self.limits.sync_bytes.saturating_mul(MAX_UNSYNCED_GROUPS)
    }

    fn put(&mut self, record: Record, now: Instant) -> Result<(), Degraded> {
        if self.sync_is_behind_limit() {
            return Err(self.degrade(Degraded::too_slow(), now));
        }
        let is_full = |segment: &Segment<D::File>| {
            segment.has_records
                && segment.bytes.saturating_add(record.size()) > self.limits.segment_bytes
        };
        if self.current.as_ref().is_none_or(is_full) {
            self.roll(now)?;
        }
        if self.reserve > 0 {
            self.reserve(record.size(), now)?;
        }
        let segment = self
            .current
            .as_mut()
            .expect("a roll that fails has returned");
        if let Err(error) = segment.write(&self.disk, &record) {
            // The segment is intact up to here, and is kept.
            let _ = self.close_segment();
            self.seal();
            return Err(self.degrade(Degraded::from_write(&error), now));
        }
        self.kept.entry(record.stream).or_default().end = record.end();
        self.unsynced_bytes += record.size();
        self.unsynced.push(record);
        self.sync_at.get_or_insert(now + self.limits.sync_every);
        Ok(())
    }

    /// Reserves space for `length` more bytes of the current segment, and for the last records. If the disk
    /// is full, the segment stays open, so that the last records can be written.
    fn reserve(&mut self, length: u64, now: Instant) -> Result<(), Degraded> {
        let Some(segment) = &mut self.current else {
            return Ok(());
        };
        let reserved = segment.reserve(&self.disk, length + self.reserve);
        reserved.map_err(|error| self.degrade(Degraded::from_write(&error), now))
    }

    fn degrade(&mut self, degraded: Degraded, now: Instant) -> Degraded {
        self.retry_at = Some(now + self.limits.retry_after);
        if self.degraded.as_ref() != Some(&degraded) {
            self.events
                .push_back(JournalEvent::Degraded(degraded.clone()));
        }
        self.degraded = Some(degraded.clone());
        degraded
    }
}

impl<D: Disk> Drop for JournalWriter<D> {
    fn drop(&mut self) {
        if let Some(segment) = &self.current {
            segment.release(&self.disk);
        }
    }
}
