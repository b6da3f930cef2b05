//! The sequence of segments: one is ended, the next one begins, the oldest are removed.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use bowline_wire::StreamId;

use super::segment::Segment;
use super::{JournalEvent, JournalWriter};
use crate::fault::Degraded;
use crate::header::{Begin, Header};
use crate::record::Record;
use crate::{Disk, Kept};

impl<D: Disk> JournalWriter<D> {
    /// Begins the next segment, since the current one is full.
    pub(super) fn roll(&mut self, now: Instant) -> Result<(), Degraded> {
        if self.syncs.are_deferred {
            let full = self.current.as_ref().map(|it| Arc::clone(&it.file));
            self.syncs.full.extend(full);
            self.syncs.is_due = true;
            self.seal();
            return self.open_segment(false, now);
        }
        // After a failure, the next segment repeats the bytes of this one that are not durable.
        let _ = self.close_segment();
        self.seal();
        self.open_segment(true, now)
    }

    /// Syncs the segment. After a failure it is to be abandoned.
    pub(super) fn close_segment(&mut self) -> Result<(), ()> {
        let Some(segment) = &self.current else {
            return Err(());
        };
        if self.unsynced.is_empty() {
            return Ok(());
        }
        self.sync_at = None;
        let in_progress = self.syncs.in_progress.take();
        let mut files = self.syncs.take_files();
        if in_progress.is_some() {
            self.syncs.overtaken = in_progress;
            // The kernel reports a lost write to one fsync(2) only. If that is the running sync, a second
            // one would succeed wrongly: the next segment repeats everything.
            return Err(());
        }
        files.push(Arc::clone(&segment.file));
        let mut outcomes = files.iter().map(|file| self.disk.sync(file));
        if let Some(Err(error)) = outcomes.find(Result::is_err) {
            self.abandon_unsynced(&error);
            return Err(());
        }
        self.settle();
        Ok(())
    }

    /// Abandons the segments of a failed sync.
    pub(super) fn abandon_unsynced(&mut self, error: &io::Error) {
        let degraded = Degraded::from_sync(error);
        self.events
            .push_back(JournalEvent::Degraded(degraded.clone()));
        self.degraded = Some(degraded);
        self.syncs.take_files();
        self.seal();
    }

    /// Everything written is durable.
    fn settle(&mut self) {
        self.unsynced.clear();
        self.unsynced_bytes = 0;
        self.syncs.take_files();
        self.sync_at = None;
        for kept in self.kept.values_mut() {
            kept.durable = kept.end;
        }
    }

    /// Ends the current segment; there is none until the next one is opened.
    pub(super) fn seal(&mut self) {
        if let Some(segment) = self.current.take() {
            segment.release(&self.disk);
            self.sealed.push(&segment);
        }
    }

    /// Opens the next segment. If `carries`, it repeats the bytes of earlier ones that are not durable.
    pub(super) fn open_segment(&mut self, carries: bool, now: Instant) -> Result<(), Degraded> {
        let made = self.make_room().and_then(|()| {
            // If the size limit removed the last segment before its sync, nothing else syncs its bytes.
            self.new_segment(carries || self.sealed.is_empty())
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

    /// Creates a segment. If `carries`, writes and syncs the records that are not durable.
    pub(super) fn new_segment(&mut self, carries: bool) -> io::Result<Segment<D::File>> {
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
            segment: self.sealed.next_number(),
            epoch: self.epoch,
            started_ms: self.started_ms,
            streams: self.kept.iter().map(begin).collect(),
        };
        let mut segment = Segment::create(&self.disk, header)?;
        let carried: &[Record] = if carries { &self.unsynced } else { &[] };
        match segment.begin(&self.disk, carried) {
            Ok(()) => {
                // Without the space, the first record is refused.
                let _ = segment.reserve(&self.disk, self.reserve);
                if carries {
                    self.settle();
                }
                Ok(segment)
            }
            Err(error) => {
                if self.disk.remove(segment.header.segment).is_err() {
                    self.sealed.push(&segment);
                }
                Err(error)
            }
        }
    }

    /// Removes the oldest segments until one more fits within the size limit.
    fn make_room(&mut self) -> io::Result<()> {
        let room = self
            .limits
            .cap_bytes
            .saturating_sub(self.limits.segment_bytes);
        while self.sealed.bytes() > room {
            self.sealed.drop_oldest(&self.disk)?;
            for (&stream, kept) in &mut self.kept {
                let to = self.sealed.begin(stream).unwrap_or(kept.durable);
                // A segment that repeats bytes begins before its predecessor ends.
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
