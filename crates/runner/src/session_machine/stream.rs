//! One stream of a session: a ring, what the journal has of it, and who holds it back.

use std::ops::Range;

use bytes::Bytes;

use super::ring::Ring;
use crate::wire::Durability;

/// What happens to a stream whose ring is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverflowPolicy {
    /// The child is held back until the slowest client has taken enough, unless the journal has
    /// the bytes. For dialogues: nothing is lost.
    Block,
    /// The oldest bytes go; whoever had not taken them is told of a gap. For terminals, errors and
    /// the lifecycle: nobody waits for a client.
    DropOldest,
}

/// What a client at some offset is given next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StreamRead {
    /// It has everything.
    UpToDate,
    Bytes(Bytes),
    /// The journal has it.
    Journal,
    /// Nobody has it; the stream goes on there.
    Gone {
        to: u64,
    },
}

#[derive(Debug)]
pub(super) struct Stream {
    ring: Ring,
    policy: OverflowPolicy,
    /// What the journal can give back.
    journal: Range<u64>,
    /// Whether the journal takes more without giving up what it has.
    journal_has_room: bool,
    durable: u64,
    /// What somebody who is not there has yet to take: the first client, or a writer that was cut.
    floor: Option<u64>,
    ended: bool,
}

impl Stream {
    pub(super) fn new(policy: OverflowPolicy, ring_bytes: usize) -> Self {
        Self {
            ring: Ring::new(ring_bytes),
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

    /// Bytes that are kept in memory.
    pub(super) fn capacity(&self) -> u64 {
        self.ring.capacity() as u64
    }

    /// What the bytes before the end survive.
    pub(super) fn durability(&self) -> Durability {
        if self.durable == self.end() && self.has_journal_data() {
            Durability::Power
        } else if self.has_journal_data() && self.journal.end == self.end() {
            Durability::Process
        } else {
            Durability::Memory
        }
    }

    /// Whether the journal has, or had, a part of it.
    pub(super) fn has_journal_data(&self) -> bool {
        !self.journal.is_empty()
    }

    /// The oldest offset that is in memory.
    pub(super) fn ring_start(&self) -> u64 {
        self.ring.start()
    }

    /// The oldest offset that a client can be given.
    pub(super) fn start(&self) -> u64 {
        let archived = !self.journal.is_empty() && self.journal.end >= self.ring.start();
        if archived {
            self.journal.start.min(self.ring.start())
        } else {
            self.ring.start()
        }
    }

    pub(super) fn push(&mut self, bytes: Bytes, slowest: Option<u64>) {
        if !self.ended {
            self.ring.push(bytes);
            self.evict(slowest);
        }
    }

    /// Goes on so many bytes later: those in between never came here.
    pub(super) fn skip(&mut self, length: u64) {
        if !self.ended {
            self.ring.skip(length);
        }
    }

    pub(super) fn read_memory(&self, offset: u64) -> Option<Bytes> {
        self.ring.read(offset, usize::MAX)
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

    /// The oldest offset that somebody has yet to take, given the slowest client that is there.
    pub(super) fn oldest_needed(&self, slowest: Option<u64>) -> Option<u64> {
        slowest.into_iter().chain(self.floor).min()
    }

    /// Whether the child must not write more for now.
    pub(super) fn is_paused(&self, slowest: Option<u64>) -> bool {
        self.policy == OverflowPolicy::Block
            && !self.is_journaled()
            && self
                .oldest_needed(slowest)
                .is_some_and(|at| self.end() - at.min(self.end()) >= self.ring.capacity() as u64)
    }

    /// What a client is given at `offset`.
    pub(super) fn next(&self, offset: u64, max: usize) -> StreamRead {
        if let Some(bytes) = self.ring.read(offset, max) {
            return StreamRead::Bytes(bytes);
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

    /// Whether the journal has all that the ring gives up.
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(policy: OverflowPolicy) -> Stream {
        let mut stream = Stream::new(policy, 8_192);
        stream.set_floor(None);
        for _ in 0..3 {
            stream.push(Bytes::from(vec![1; 8_192]), Some(8_192));
        }
        stream
    }

    #[test]
    fn a_blocking_stream_keeps_what_the_slowest_has_not_taken() {
        let stream = filled(OverflowPolicy::Block);
        assert_eq!(stream.start(), 8_192);
        assert!(stream.is_paused(Some(8_192)));
        assert!(!stream.is_paused(Some(16_385)));
        assert!(!stream.is_paused(None));
    }

    #[test]
    fn a_dropping_stream_holds_nobody_and_tells_what_is_gone() {
        let stream = filled(OverflowPolicy::DropOldest);
        assert!(!stream.is_paused(Some(0)));
        assert_eq!(stream.next(5, 10), StreamRead::Gone { to: 16_384 });
        assert_eq!(stream.next(24_576, 10), StreamRead::UpToDate);
    }

    #[test]
    fn with_a_journal_nobody_is_held_and_nothing_is_gone() {
        let mut stream = filled(OverflowPolicy::Block);
        stream.set_journal_extent(0..24_576, true, Some(0));
        assert!(!stream.is_paused(Some(0)));
        assert_eq!(
            (stream.start(), stream.next(5, 10)),
            (0, StreamRead::Journal)
        );
        stream.set_journal_extent(0..24_576, false, Some(0));
        assert!(stream.is_paused(Some(0)), "a full journal holds the child");
    }

    #[test]
    fn a_journal_that_stopped_leaves_a_gap_with_two_sides() {
        let mut stream = filled(OverflowPolicy::DropOldest);
        stream.set_journal_extent(100..200, false, None);
        assert_eq!(stream.next(0, 10), StreamRead::Gone { to: 100 });
        assert_eq!(stream.next(100, 10), StreamRead::Journal);
        assert_eq!(stream.next(200, 10), StreamRead::Gone { to: 16_384 });
        assert_eq!(stream.start(), 16_384);
    }

    #[test]
    fn nobody_yet_holds_a_child_as_a_client_at_its_birth_would() {
        let mut stream = Stream::new(OverflowPolicy::Block, 4_096);
        stream.push(Bytes::from(vec![1; 5_000]), None);
        assert!(stream.is_paused(None));
    }
}
