//! Writes a journal, segment after segment.
//!
//! A segment that fails, in a write or in a sync, is given up for good: what of it is not known to
//! be safe is written once more to the next one. While there is no next one the journal is degraded,
//! takes nothing, and tries again by the caller's clock.

mod segment;
mod shelf;
mod syncs;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Buf as _, Bytes};

use super::fault::Degraded;
use super::header::{Begin, Header};
use super::record::{Body, Record};
use super::{Disk, Kept, KeptStreams};
use bowline_wire::{Epoch, MAX_PAYLOAD, StreamId};

use segment::Segment;
use shelf::Shelf;
use syncs::{Syncs, UnderWay};

pub use syncs::{SyncDone, SyncJob};

/// How large a journal grows and how often it is made safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalLimits {
    /// Bytes of a segment. A journal forgets in units of it.
    pub segment_bytes: u64,
    /// Bytes of all segments. The oldest is dropped, whole, before this is passed.
    pub cap_bytes: u64,
    /// A sync comes at most so long after a write …
    pub sync_every: Duration,
    /// … or after so many bytes.
    pub sync_bytes: u64,
    /// How long after a failure to try again.
    pub retry_after: Duration,
}

impl Default for JournalLimits {
    /// 4 MiB, 256 MiB, 1 s, 1 MiB, 250 ms.
    fn default() -> Self {
        Self {
            segment_bytes: 4 << 20,
            cap_bytes: 256 << 20,
            sync_every: Duration::from_secs(1),
            sync_bytes: 1 << 20,
            retry_after: Duration::from_millis(250),
        }
    }
}

impl JournalLimits {
    /// For a recording: one segment that grows as long as the disk lets it.
    #[must_use]
    pub fn one_segment() -> Self {
        Self {
            segment_bytes: u64::MAX / 2,
            cap_bytes: u64::MAX,
            ..Self::default()
        }
    }
}

/// How many groups may wait for a slow disk before nothing more is taken.
const MOST_WAITING: u64 = 16;

/// What became of a journal, besides what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalEvent {
    /// It takes nothing until [`Recovered`](Self::Recovered).
    Degraded(Degraded),
    /// It takes bytes again.
    Recovered,
    /// The oldest bytes of a stream were dropped for the cap.
    Dropped {
        /// The stream.
        stream: StreamId,
        /// The first that is gone.
        from: u64,
        /// The first that is still there.
        to: u64,
    },
}

/// Appends to a journal. Time is an argument; every call may block as long as the disk does.
///
/// Acknowledged bytes have been taken by the system: they survive the end of this process at once,
/// and that of the machine from [`Kept::durable`] on.
#[derive(Debug)]
pub struct JournalWriter<D: Disk> {
    disk: D,
    limits: JournalLimits,
    epoch: Epoch,
    started_ms: u64,
    kept: KeptStreams,
    /// None while nothing can be written.
    current: Option<Segment<D::File>>,
    shelf: Shelf,
    /// What was written since the last sync, to be written again if that sync fails.
    unsynced: Vec<Record>,
    unsynced_bytes: u64,
    syncs: Syncs<D::File>,
    sync_at: Option<Instant>,
    retry_at: Option<Instant>,
    degraded: Option<Degraded>,
    events: VecDeque<JournalEvent>,
}

impl<D: Disk> JournalWriter<D> {
    /// Begins a journal with its first segment. `started_ms` is the time on the wall, in
    /// milliseconds since 1970, for people who read it.
    ///
    /// # Errors
    ///
    /// Those of the disk: nothing was begun. A segment that is there is never written over.
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
            shelf: Shelf::default(),
            unsynced: Vec::new(),
            unsynced_bytes: 0,
            syncs: Syncs::default(),
            sync_at: None,
            retry_at: None,
            degraded: None,
            events: VecDeque::new(),
        };
        writer.current = Some(writer.new_segment(true)?);
        Ok(writer)
    }

    /// Leaves syncs to the caller from now on, who asks for each with
    /// [`due_sync`](Self::due_sync). But for those that follow a failure, and those that are asked
    /// for with [`sync`](Self::sync).
    pub fn defer_syncs(&mut self) {
        self.syncs.are_deferred = true;
    }

    /// The sync that is due, if one is and none is under way. To be asked for after every other
    /// call; what comes of it is to be told by [`synced`](Self::synced).
    pub fn due_sync(&mut self) -> Option<SyncJob<D>>
    where
        D: Clone,
    {
        let current = self.current.as_ref()?;
        if !self.syncs.is_due || self.syncs.under_way.is_some() {
            return None;
        }
        self.syncs.is_due = false;
        self.sync_at = None;
        let mut files = std::mem::take(&mut self.syncs.full);
        files.push(Arc::clone(&current.file));
        self.syncs.next += 1;
        let number = self.syncs.next;
        self.syncs.under_way = Some(UnderWay {
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

    /// What came of a sync. One that was overtaken by a failed write says what it has made safe, as
    /// long as nothing carries that; overtaken by a failed sync it says nothing any more.
    pub fn synced(&mut self, done: SyncDone, now: Instant) {
        let is_it = |it: &mut UnderWay<D::File>| it.number == done.number;
        let Some(under_way) = self.syncs.under_way.take_if(is_it) else {
            let overtaken = self.syncs.overtaken.take_if(is_it);
            if let Some(overtaken) = overtaken.filter(|_| done.outcome.is_ok()) {
                self.made_safe(overtaken);
            }
            return;
        };
        if let Err(error) = done.outcome {
            self.lose_trust(&error);
            // What goes wrong is an event and a state.
            let _ = self.open_segment(true, now);
            return;
        }
        self.made_safe(under_way);
        self.syncs.is_due |= self.unsynced_bytes >= self.limits.sync_bytes;
    }

    fn made_safe(&mut self, done: UnderWay<D::File>) {
        self.unsynced.drain(..done.records);
        self.unsynced_bytes -= done.bytes;
        for (stream, then) in done.kept {
            let kept = self.kept.entry(stream).or_default();
            kept.durable = kept.durable.max(then.end);
        }
    }

    /// What the journal holds.
    #[must_use]
    pub fn kept(&self) -> &KeptStreams {
        &self.kept
    }

    /// The offset that the journal lacks next.
    #[must_use]
    pub fn end(&self, stream: StreamId) -> u64 {
        self.kept.get(&stream).map_or(0, |kept| kept.end)
    }

    /// Why nothing is written, if nothing is.
    #[must_use]
    pub fn degraded(&self) -> Option<&Degraded> {
        self.degraded.as_ref()
    }

    /// What happened besides; call it after every other call until it gives nothing.
    pub fn next_event(&mut self) -> Option<JournalEvent> {
        self.events.pop_front()
    }

    /// When [`poll`](Self::poll) is to be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        if self.degraded.is_some() {
            return self.retry_at;
        }
        self.sync_at
    }

    /// Does what is due: a sync, or another try after a failure.
    pub fn poll(&mut self, now: Instant) {
        // What goes wrong is an event and a state.
        if self.ready(now).is_ok() && self.sync_at.is_some_and(|at| at <= now) {
            self.group_sync(now);
        }
    }

    /// Appends bytes of a stream. Those that the journal has already are left out; those between its
    /// end and `offset` are recorded as a gap.
    ///
    /// # Errors
    ///
    /// The journal is degraded: nothing behind [`end`](Self::end) was taken. It is for the caller to
    /// offer bytes again from there, as long as he has them.
    pub fn append(
        &mut self,
        stream: StreamId,
        offset: u64,
        mut bytes: Bytes,
        now: Instant,
    ) -> Result<(), Degraded> {
        self.append_gap(stream, offset, "not recorded in time", now)?;
        let known = self.end(stream) - offset;
        bytes.advance(usize::try_from(known).map_or(bytes.len(), |known| known.min(bytes.len())));
        while !bytes.is_empty() {
            let body = Body::Bytes(bytes.split_to(bytes.len().min(MAX_PAYLOAD)));
            let offset = self.end(stream);
            self.put(
                Record {
                    stream,
                    offset,
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

    /// Records that the bytes from the journal's end to an offset are missing, unless it has them.
    ///
    /// # Errors
    ///
    /// The journal is degraded: the gap was not taken.
    pub fn append_gap(
        &mut self,
        stream: StreamId,
        to: u64,
        reason: &str,
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
                body,
            },
            now,
        )
    }

    /// Makes everything that was written safe from a power failure.
    ///
    /// # Errors
    ///
    /// The disk refuses, and so does a second place on it.
    pub fn sync(&mut self, now: Instant) -> Result<(), Degraded> {
        self.ready(now)?;
        if self.close_segment().is_err() {
            self.shelve();
            return self.open_segment(true, now);
        }
        Ok(())
    }

    /// Makes safe what a group of writes has left. They were taken; whether they are durable is told
    /// by `kept`.
    fn group_sync(&mut self, now: Instant) {
        if self.syncs.are_deferred {
            self.syncs.is_due = true;
            self.sync_at = None;
        } else {
            let _ = self.sync(now);
        }
    }

    /// A segment is open, or one is opened now.
    fn ready(&mut self, now: Instant) -> Result<(), Degraded> {
        match &self.degraded {
            Some(degraded) if self.retry_at.is_some_and(|at| now < at) => Err(degraded.clone()),
            Some(_) if self.current.is_some() => self.catch_up(now),
            Some(_) => self.open_segment(true, now),
            None => Ok(()),
        }
    }

    /// Goes on after syncs that had taken too long, if they are through.
    fn catch_up(&mut self, now: Instant) -> Result<(), Degraded> {
        if self.is_behind() {
            return Err(self.degrade(Degraded::behind(), now));
        }
        self.degraded = None;
        self.retry_at = None;
        self.events.push_back(JournalEvent::Recovered);
        Ok(())
    }

    /// Whether more waits for a sync than memory is to be spent on.
    fn is_behind(&self) -> bool {
        self.syncs.are_deferred
            && self.unsynced_bytes >= self.limits.sync_bytes.saturating_mul(MOST_WAITING)
    }

    fn put(&mut self, record: Record, now: Instant) -> Result<(), Degraded> {
        if self.is_behind() {
            return Err(self.degrade(Degraded::behind(), now));
        }
        let is_full = |segment: &Segment<D::File>| {
            segment.has_records
                && segment.bytes.saturating_add(record.size()) > self.limits.segment_bytes
        };
        if self.current.as_ref().is_none_or(is_full) {
            self.roll(now)?;
        }
        let segment = self
            .current
            .as_mut()
            .expect("a roll that fails has returned");
        if let Err(error) = segment.write(&self.disk, &record) {
            // What the segment holds is whole up to here, and is kept.
            let _ = self.close_segment();
            self.shelve();
            return Err(self.degrade(Degraded::from_write(&error), now));
        }
        self.kept.entry(record.stream).or_default().end = record.end();
        self.unsynced_bytes += record.size();
        self.unsynced.push(record);
        self.sync_at.get_or_insert(now + self.limits.sync_every);
        Ok(())
    }

    fn roll(&mut self, now: Instant) -> Result<(), Degraded> {
        if self.syncs.are_deferred {
            let full = self.current.as_ref().map(|it| Arc::clone(&it.file));
            self.syncs.full.extend(full);
            self.syncs.is_due = true;
            self.shelve();
            return self.open_segment(false, now);
        }
        // If it fails, what was unsafe in this segment goes along to the next.
        let _ = self.close_segment();
        self.shelve();
        self.open_segment(true, now)
    }

    /// Makes safe what the segment holds. A segment that fails in this is given up.
    fn close_segment(&mut self) -> Result<(), ()> {
        let Some(segment) = &self.current else {
            return Err(());
        };
        if self.unsynced.is_empty() {
            return Ok(());
        }
        self.sync_at = None;
        let under_way = self.syncs.under_way.take();
        let mut files = self.syncs.take_files();
        if under_way.is_some() {
            self.syncs.overtaken = under_way;
            // A disk tells once that it has lost something. Should the other sync be told, a second
            // one would hear nothing, and could not be trusted: the next segment carries it all.
            return Err(());
        }
        files.push(Arc::clone(&segment.file));
        let mut outcomes = files.iter().map(|file| self.disk.sync(file));
        if let Some(Err(error)) = outcomes.find(Result::is_err) {
            self.lose_trust(&error);
            return Err(());
        }
        self.settle();
        Ok(())
    }

    /// The segments that were to be made safe are not: nothing more is written to them.
    fn lose_trust(&mut self, error: &io::Error) {
        let degraded = Degraded::from_sync(error);
        self.events
            .push_back(JournalEvent::Degraded(degraded.clone()));
        self.degraded = Some(degraded);
        self.syncs.take_files();
        self.shelve();
    }

    fn settle(&mut self) {
        self.unsynced.clear();
        self.unsynced_bytes = 0;
        self.syncs.take_files();
        self.sync_at = None;
        for kept in self.kept.values_mut() {
            kept.durable = kept.end;
        }
    }

    fn shelve(&mut self) {
        if let Some(segment) = self.current.take() {
            self.shelf.push(&segment);
        }
    }

    /// Opens the next segment. It carries what earlier ones have not made safe, unless they are still
    /// about to.
    fn open_segment(&mut self, carries: bool, now: Instant) -> Result<(), Degraded> {
        let made = self.make_room().and_then(|()| {
            // What the cap has dropped unsafe has nobody else to make it safe.
            self.new_segment(carries || self.shelf.is_empty())
        });
        match made {
            Ok(segment) => {
                self.current = Some(segment);
                self.retry_at = None;
                if self.degraded.take().is_some() {
                    self.events.push_back(JournalEvent::Recovered);
                }
                Ok(())
            }
            Err(error) => Err(self.degrade(Degraded::from_write(&error), now)),
        }
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

    /// A segment; with all that the last ones did not make safe, made safe itself, if it carries
    /// that.
    fn new_segment(&mut self, carries: bool) -> io::Result<Segment<D::File>> {
        let begin = |(&stream, kept): (&StreamId, &Kept)| {
            let begin = if carries { kept.durable } else { kept.end };
            let (start, carried) = (kept.start, kept.end);
            (
                stream,
                Begin {
                    start,
                    begin,
                    carried,
                },
            )
        };
        let header = Header {
            segment: self.shelf.next_number(),
            epoch: self.epoch,
            started_ms: self.started_ms,
            streams: self.kept.iter().map(begin).collect(),
        };
        let mut segment = Segment::create(&self.disk, header)?;
        let carried: &[Record] = if carries { &self.unsynced } else { &[] };
        match segment.begin(&self.disk, carried) {
            Ok(()) => {
                if carries {
                    self.settle();
                }
                Ok(segment)
            }
            Err(error) => {
                if self.disk.remove(segment.header.segment).is_err() {
                    self.shelf.push(&segment);
                }
                Err(error)
            }
        }
    }

    /// Drops the oldest segments until one more keeps within the cap.
    fn make_room(&mut self) -> io::Result<()> {
        let room = self
            .limits
            .cap_bytes
            .saturating_sub(self.limits.segment_bytes);
        while self.shelf.bytes() > room {
            self.shelf.drop_oldest(&self.disk)?;
            for (&stream, kept) in &mut self.kept {
                let to = self.shelf.begin(stream).unwrap_or(kept.durable);
                // One that carries begins before the one that it follows.
                let to = to.max(kept.start);
                let from = std::mem::replace(&mut kept.start, to);
                if from < to {
                    let dropped = JournalEvent::Dropped { stream, from, to };
                    self.events.push_back(dropped);
                }
            }
        }
        Ok(())
    }
}
