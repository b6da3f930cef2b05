//! One stream of a session: its ring, the extent that its journal has, and its backpressure.

use std::ops::Range;

use bytes::Bytes;

use bowline_transport::journal::{Arrival, Arrivals};

use super::ring::Ring;
use crate::wire::Durability;

/// What happens when a stream's ring is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverflowPolicy {
    /// The child is paused until the slowest client with a lease has acknowledged enough, unless the
    /// journal has the bytes. For dialogues, where no byte may be lost.
    Block,
    /// The oldest bytes are dropped, and reported as a gap to clients that need them. For
    /// terminals, standard error and the audit log, which never pause the child.
    DropOldest,
}

/// Result of reading a stream at an offset.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StreamRead {
    /// The offset is the end of the stream.
    UpToDate,
    Bytes(Bytes, Arrival),
    /// The journal has the bytes.
    Journal,
    /// The bytes are lost; the stream continues at `to`.
    Gone {
        to: u64,
    },
}

#[derive(Debug)]
pub(super) struct Stream {
    ring: Ring,
    arrivals: Arrivals,
    policy: OverflowPolicy,
    /// The range that can be read from the journal.
    journal: Range<u64>,
    /// Whether the journal can grow without dropping bytes.
    journal_has_room: bool,
    durable: u64,
    /// Oldest offset that an absent client needs: the first client, or a disconnected writer.
    floor: Option<u64>,
    ended: bool,
}

impl Stream {
    pub(super) fn new(policy: OverflowPolicy, ring_bytes: usize) -> Self {
        Self {
            ring: Ring::new(ring_bytes),
            arrivals: Arrivals::default(),
            policy,
            journal: 0..0,
            journal_has_room: false,
            durable: 0,
            floor: Some(0),
            ended: false,
        }
    }

    pub(super) fn end(&self) -> u64 {
        self.ring.end()
    }

    /// Returns the bytes to keep in memory.
    pub(super) fn capacity(&self) -> u64 {
        self.ring.capacity() as u64
    }

    /// Returns which failures the bytes before the end survive.
    pub(super) fn durability(&self) -> Durability {
        if self.durable == self.end() && self.has_journal_data() {
            Durability::Power
        } else if self.has_journal_data() && self.journal.end == self.end() {
            Durability::Process
        } else {
            Durability::Memory
        }
    }

    /// Returns whether the journal has any bytes of the stream.
    pub(super) fn has_journal_data(&self) -> bool {
        !self.journal.is_empty()
    }

    /// Returns the oldest offset in memory.
    pub(super) fn ring_start(&self) -> u64 {
        self.ring.start()
    }

    /// Returns the oldest offset that can be delivered.
    pub(super) fn start(&self) -> u64 {
        let archived = !self.journal.is_empty() && self.journal.end >= self.ring.start();
        if archived {
            self.journal.start.min(self.ring.start())
        } else {
            self.ring.start()
        }
    }

    pub(super) fn push(&mut self, bytes: Bytes, arrival: Arrival, slowest: Option<u64>) {
        if !self.ended {
            self.arrivals.push(self.ring.end(), arrival);
            self.ring.push(bytes);
            self.evict(slowest);
        }
    }

    /// Advances the end by `length` bytes that were lost before they arrived.
    pub(super) fn skip(&mut self, length: u64) {
        if !self.ended {
            self.ring.skip(length);
        }
    }

    /// Returns up to `max` bytes at an offset that arrived together, if they are in memory.
    pub(super) fn read_memory(&self, offset: u64, max: usize) -> Option<(Bytes, Arrival)> {
        let (arrival, end) = self.arrivals.at(offset);
        let together = usize::try_from(end.saturating_sub(offset)).unwrap_or(usize::MAX);
        let bytes = self.ring.read(offset, max.min(together))?;
        Some((bytes, arrival))
    }

    /// Returns when and where the byte at an offset arrived, as far as it is in memory.
    pub(super) fn arrival(&self, offset: u64) -> Arrival {
        self.arrivals.at(offset).0
    }

    pub(super) fn close(&mut self) {
        self.ended = true;
    }

    pub(super) fn set_journal_extent(
        &mut self,
        extent: Range<u64>,
        has_room: bool,
        slowest: Option<u64>,
    ) {
        self.journal = extent;
        self.journal_has_room = has_room;
        self.evict(slowest);
    }

    pub(super) fn set_durable(&mut self, end: u64) {
        self.durable = self.durable.max(end.min(self.end()));
    }

    pub(super) fn set_floor(&mut self, floor: Option<u64>) {
        self.floor = floor;
    }

    /// Returns the oldest offset that is still needed, given that of the slowest attached client.
    pub(super) fn oldest_needed(&self, slowest: Option<u64>) -> Option<u64> {
        slowest.into_iter().chain(self.floor).min()
    }

    /// Returns whether the child must be paused.
    pub(super) fn is_paused(&self, slowest: Option<u64>) -> bool {
        self.policy == OverflowPolicy::Block
            && !self.is_journaled()
            && self
                .oldest_needed(slowest)
                .is_some_and(|at| self.end() - at.min(self.end()) >= self.ring.capacity() as u64)
    }

    /// Reads up to `max` bytes at `offset`, of one arrival if the client asks for arrivals.
    pub(super) fn next(&self, offset: u64, max: usize, with_arrivals: bool) -> StreamRead {
        let read = if with_arrivals {
            self.read_memory(offset, max)
        } else {
            let bytes = self.ring.read(offset, max);
            bytes.map(|bytes| (bytes, Arrival::default()))
        };
        if let Some((bytes, arrival)) = read {
            return StreamRead::Bytes(bytes, arrival);
        }
        if offset >= self.end() {
            return StreamRead::UpToDate;
        }
        if self.journal.contains(&offset) {
            return StreamRead::Journal;
        }
        let mut to = self.ring.start();
        if !self.journal.is_empty() && offset < self.journal.start {
            to = to.min(self.journal.start);
        }
        StreamRead::Gone { to }
    }

    /// Whether the journal retains everything that the ring evicts.
    fn is_journaled(&self) -> bool {
        self.journal_has_room && self.journal.end == self.end()
    }

    fn evict(&mut self, slowest: Option<u64>) {
        let limit = match self.policy {
            OverflowPolicy::Block if !self.is_journaled() => {
                self.oldest_needed(slowest).unwrap_or(u64::MAX)
            }
            _ => u64::MAX,
        };
        self.ring.evict(limit);
        self.arrivals.drop_before(self.ring.start());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(policy: OverflowPolicy) -> Stream {
        let mut stream = Stream::new(policy, 8_192);
        stream.set_floor(None);
        for _ in 0..3 {
            stream.push(Bytes::from(vec![1; 8_192]), Arrival::default(), Some(8_192));
        }
        stream
    }

    #[test]
    fn blocking_stream_retains_bytes_of_the_slowest_client() {
        let stream = filled(OverflowPolicy::Block);
        assert_eq!(stream.start(), 8_192);
        assert!(stream.is_paused(Some(8_192)));
        assert!(!stream.is_paused(Some(16_385)));
        assert!(!stream.is_paused(None));
    }

    #[test]
    fn dropping_stream_never_pauses_and_reports_gaps() {
        let stream = filled(OverflowPolicy::DropOldest);
        assert!(!stream.is_paused(Some(0)));
        assert_eq!(stream.next(5, 10, false), StreamRead::Gone { to: 16_384 });
        assert_eq!(stream.next(24_576, 10, false), StreamRead::UpToDate);
    }

    #[test]
    fn journaled_stream_neither_pauses_nor_loses() {
        let mut stream = filled(OverflowPolicy::Block);
        stream.set_journal_extent(0..24_576, true, Some(0));
        assert!(!stream.is_paused(Some(0)));
        assert_eq!(
            (stream.start(), stream.next(5, 10, false)),
            (0, StreamRead::Journal)
        );
        stream.set_journal_extent(0..24_576, false, Some(0));
        assert!(stream.is_paused(Some(0)), "a full journal pauses the child");
    }

    #[test]
    fn stopped_journal_leaves_a_gap_on_both_sides() {
        let mut stream = filled(OverflowPolicy::DropOldest);
        stream.set_journal_extent(100..200, false, None);
        assert_eq!(stream.next(0, 10, false), StreamRead::Gone { to: 100 });
        assert_eq!(stream.next(100, 10, false), StreamRead::Journal);
        assert_eq!(stream.next(200, 10, false), StreamRead::Gone { to: 16_384 });
        assert_eq!(stream.start(), 16_384);
    }

    #[test]
    fn unattached_session_pauses_for_its_first_client() {
        let mut stream = Stream::new(OverflowPolicy::Block, 4_096);
        stream.push(Bytes::from(vec![1; 5_000]), Arrival::default(), None);
        assert!(stream.is_paused(None));
    }
}
