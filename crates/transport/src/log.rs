//! An append-only byte stream with `u64` offsets, of which the newest part is kept in memory.
//!
//! Pure: no clock, lock or `async`. [`shared`] puts the lock and the waiting around it.
//! Invariants: offsets never restart; what a reader cannot be given any more it is told of as a
//! [`Piece::Gap`]; under [`Overflow::Block`] no byte is dropped that nobody has read.

pub(crate) mod shared;

use std::collections::{BTreeMap, VecDeque};

use bytes::{Buf, Bytes};

/// Bytes of capacity per chunk that may be kept. A chunk costs about 40 bytes of bookkeeping, so
/// a child that writes one byte at a time cannot make the log cost more than it holds.
const BYTES_PER_CHUNK: usize = 64;

/// Chunks that even the smallest log may keep.
const FEWEST_CHUNKS: usize = 16;

/// From so many bytes on, a passed chunk is kept where it lies. A smaller one is copied: it lies in
/// a buffer that many sessions share, and would keep all of it.
const SHARED_BYTES: usize = 16 * 1024;

/// What a log does when it is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// Stop reading from the child until the slowest attached reader has taken enough.
    Block,
    /// Drop the oldest bytes. A reader that had not taken them is given a [`Piece::Gap`].
    DropOldest,
}

/// What a reader is given: bytes, or the news that some are gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// One chunk, as it was read from the child. Never empty.
    Bytes {
        /// Offset of the first byte in the stream.
        offset: u64,
        /// The bytes, shared with the log and with every other reader.
        bytes: Bytes,
    },
    /// The bytes in `from..to` were dropped before this reader took them.
    Gap {
        /// First offset that is missing.
        from: u64,
        /// First offset that is there again.
        to: u64,
    },
}

/// Names a reader's place within its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cursor(u64);

/// Answer to [`Log::take`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Piece(Piece),
    Pending,
    Ended,
}

#[derive(Debug)]
struct Chunk {
    offset: u64,
    bytes: Bytes,
}

#[derive(Debug)]
pub(crate) struct Log {
    chunks: VecDeque<Chunk>,
    start: u64,
    end: u64,
    capacity: usize,
    /// Bytes that are kept though every reader has taken them.
    history: usize,
    overflow: Overflow,
    cursors: BTreeMap<Cursor, u64>,
    next_cursor: u64,
    /// The furthest offset that any reader has taken.
    taken: u64,
    closed: bool,
}

impl Log {
    pub(crate) fn new(capacity: usize, overflow: Overflow) -> Self {
        Self {
            chunks: VecDeque::new(),
            start: 0,
            end: 0,
            capacity: capacity.max(1),
            history: usize::MAX,
            overflow,
            cursors: BTreeMap::new(),
            next_cursor: 0,
            taken: 0,
            closed: false,
        }
    }

    /// The same, but at most so many bytes are kept that every reader has taken.
    pub(crate) fn with_history(self, bytes: usize) -> Self {
        Self {
            history: bytes,
            ..self
        }
    }

    /// Offset behind the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Attaches a reader at `offset`, or at the end if the stream is not that long yet.
    pub(crate) fn attach(&mut self, offset: u64) -> Cursor {
        let cursor = Cursor(self.next_cursor);
        self.next_cursor += 1;
        self.cursors.insert(cursor, offset.min(self.end));
        cursor
    }

    /// Attaches a reader at the oldest byte kept.
    pub(crate) fn attach_oldest(&mut self) -> Cursor {
        self.attach(self.start)
    }

    /// Forgets a reader: from now on it holds nothing.
    pub(crate) fn detach(&mut self, cursor: Cursor) {
        self.cursors.remove(&cursor);
        self.forget();
    }

    /// Whether anybody reads.
    pub(crate) fn has_readers(&self) -> bool {
        !self.cursors.is_empty()
    }

    /// Where a reader stands.
    pub(crate) fn position(&self, cursor: Cursor) -> u64 {
        self.cursors.get(&cursor).copied().unwrap_or(self.end)
    }

    /// Hands the next piece to a reader and moves it on.
    pub(crate) fn take(&mut self, cursor: Cursor) -> Taken {
        let at = self.position(cursor);
        if at < self.start {
            self.advance(cursor, self.start);
            return Taken::Piece(Piece::Gap {
                from: at,
                to: self.start,
            });
        }
        let Some(chunk) = self.chunks.get(self.index_of(at)) else {
            return if self.closed {
                Taken::Ended
            } else {
                Taken::Pending
            };
        };
        let bytes = chunk.bytes.slice((at - chunk.offset) as usize..);
        self.advance(cursor, at + bytes.len() as u64);
        self.forget();
        Taken::Piece(Piece::Bytes { offset: at, bytes })
    }

    /// How many bytes may be read from the child now. Zero only under [`Overflow::Block`].
    pub(crate) fn room(&self) -> usize {
        if self.overflow == Overflow::DropOldest {
            return self.capacity;
        }
        let hold = self.hold();
        if self.chunks.len() - self.index_of(hold) >= self.most_chunks() {
            return 0;
        }
        self.capacity.saturating_sub((self.end - hold) as usize)
    }

    /// Appends bytes and drops what the capacity no longer has place for.
    pub(crate) fn push(&mut self, bytes: Bytes) {
        if bytes.is_empty() || self.closed {
            return;
        }
        let offset = self.end;
        self.end += bytes.len() as u64;
        self.chunks.push_back(Chunk { offset, bytes });
        self.evict();
    }

    /// Appends bytes that whoever fills the log takes too, for himself and before all readers.
    /// Answers their offset, or `None` after the end.
    pub(crate) fn pass(&mut self, bytes: &Bytes) -> Option<u64> {
        if self.closed {
            return None;
        }
        let offset = self.end;
        self.taken = offset + bytes.len() as u64;
        if self.history == 0 && self.cursors.is_empty() && self.chunks.is_empty() {
            (self.start, self.end) = (self.taken, self.taken);
        } else if bytes.len() < SHARED_BYTES {
            self.push(Bytes::copy_from_slice(bytes));
        } else {
            self.push(bytes.clone());
        }
        Some(offset)
    }

    /// Makes the log larger for good, so that what the child had written before its end always
    /// fits, whatever the readers do.
    pub(crate) fn lift(&mut self, bytes: usize) {
        self.capacity = self.capacity.saturating_add(bytes);
    }

    /// No byte comes after this.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    fn advance(&mut self, cursor: Cursor, to: u64) {
        if let Some(at) = self.cursors.get_mut(&cursor) {
            *at = to;
        }
        self.taken = self.taken.max(to);
    }

    /// The oldest offset that must be kept under [`Overflow::Block`].
    fn hold(&self) -> u64 {
        let slowest = self.cursors.values().copied().min();
        slowest.unwrap_or(self.taken).max(self.start)
    }

    fn most_chunks(&self) -> usize {
        (self.capacity / BYTES_PER_CHUNK).max(FEWEST_CHUNKS)
    }

    /// Index of the chunk that contains `offset`; the number of chunks if it is the end.
    fn index_of(&self, offset: u64) -> usize {
        self.chunks
            .partition_point(|chunk| chunk.offset + chunk.bytes.len() as u64 <= offset)
    }

    fn evict(&mut self) {
        let limit = match self.overflow {
            Overflow::Block => self.hold(),
            Overflow::DropOldest => self.end,
        };
        let excess = (self.end - self.start).saturating_sub(self.capacity as u64);
        self.drop_front(excess.min(limit - self.start));
        self.forget();
        while self.chunks.len() > self.most_chunks() {
            match self.chunks.front() {
                Some(front) if front.offset + front.bytes.len() as u64 <= limit => {
                    self.drop_front(front.bytes.len() as u64);
                }
                _ => break,
            }
        }
    }

    /// Drops what everybody has taken and is no history.
    fn forget(&mut self) {
        let kept = self.hold().saturating_sub(self.history as u64);
        self.drop_front(kept.saturating_sub(self.start));
        if self.chunks.is_empty() && self.chunks.capacity() > FEWEST_CHUNKS {
            self.chunks = VecDeque::new();
        }
    }

    fn drop_front(&mut self, mut bytes: u64) {
        self.start += bytes;
        while bytes > 0 {
            let front = self
                .chunks
                .front_mut()
                .expect("start..end is exactly what chunks hold");
            if front.bytes.len() as u64 <= bytes {
                bytes -= front.bytes.len() as u64;
                self.chunks.pop_front();
            } else {
                front.bytes.advance(bytes as usize);
                front.offset += bytes;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(piece: Taken) -> (u64, Bytes) {
        match piece {
            Taken::Piece(Piece::Bytes { offset, bytes }) => (offset, bytes),
            other => panic!("expected bytes, got {other:?}"),
        }
    }

    #[test]
    fn a_reader_is_given_the_very_chunk() {
        let mut log = Log::new(1024, Overflow::Block);
        let chunk = Bytes::from_static(b"hello");
        let address = chunk.as_ptr();
        let cursor = log.attach_oldest();
        log.push(chunk);
        let (offset, taken) = bytes(log.take(cursor));
        assert_eq!((offset, taken.as_ptr()), (0, address));
        assert_eq!(log.take(cursor), Taken::Pending);
        log.close();
        assert_eq!(log.take(cursor), Taken::Ended);
    }

    #[test]
    fn block_waits_for_the_slowest_and_forgets_the_dropped() {
        let mut log = Log::new(128, Overflow::Block);
        let (fast, slow) = (log.attach_oldest(), log.attach_oldest());
        log.push(Bytes::from(vec![1; 128]));
        assert_eq!(log.room(), 0);
        bytes(log.take(fast));
        assert_eq!(log.room(), 0, "the slow reader still holds");
        log.detach(slow);
        assert_eq!(log.room(), 128);
        log.push(Bytes::from(vec![2; 100]));
        log.detach(fast);
        assert_eq!(
            log.room(),
            28,
            "what nobody has read is kept, read history is not"
        );
    }

    #[test]
    fn without_a_reader_block_fills_and_then_stops() {
        let mut log = Log::new(100, Overflow::Block);
        assert_eq!(log.room(), 100);
        log.push(Bytes::from(vec![1; 100]));
        assert_eq!(log.room(), 0);
        log.lift(10);
        assert_eq!(log.room(), 10);
    }

    #[test]
    fn drop_oldest_tells_of_the_gap() {
        let mut log = Log::new(100, Overflow::DropOldest);
        let cursor = log.attach_oldest();
        log.push(Bytes::from(vec![1; 100]));
        log.push(Bytes::from(vec![2; 30]));
        assert_eq!(
            log.take(cursor),
            Taken::Piece(Piece::Gap { from: 0, to: 30 })
        );
        let (offset, taken) = bytes(log.take(cursor));
        assert_eq!((offset, taken.len()), (30, 70));
        assert_eq!(bytes(log.take(cursor)), (100, Bytes::from(vec![2; 30])));
    }

    #[test]
    fn a_chunk_larger_than_the_log_keeps_its_end() {
        let mut log = Log::new(4, Overflow::DropOldest);
        log.push(Bytes::from_static(b"abcdefgh"));
        let cursor = log.attach_oldest();
        assert_eq!(bytes(log.take(cursor)), (4, Bytes::from_static(b"efgh")));
    }

    #[test]
    fn an_offset_that_is_gone_is_a_gap_and_one_ahead_waits() {
        let mut log = Log::new(4, Overflow::DropOldest);
        log.push(Bytes::from_static(b"abcdefgh"));
        let (old, ahead) = (log.attach(1), log.attach(99));
        assert_eq!(log.take(old), Taken::Piece(Piece::Gap { from: 1, to: 4 }));
        assert_eq!(log.take(ahead), Taken::Pending);
    }

    #[test]
    fn single_bytes_cannot_fill_memory_with_bookkeeping() {
        let mut dropping = Log::new(1280, Overflow::DropOldest);
        let mut blocking = Log::new(1280, Overflow::Block);
        for _ in 0..20 {
            dropping.push(Bytes::from_static(b"x"));
            blocking.push(Bytes::from_static(b"x"));
        }
        assert_eq!(blocking.room(), 0);
        dropping.push(Bytes::from_static(b"y"));
        assert_eq!((dropping.chunks.len(), dropping.start), (20, 1));
    }

    #[test]
    fn without_history_a_log_keeps_what_somebody_has_yet_to_read() {
        let mut log = Log::new(128, Overflow::Block).with_history(0);
        let (fast, slow) = (log.attach_oldest(), log.attach_oldest());
        log.push(Bytes::from(vec![1; 100]));
        bytes(log.take(fast));
        assert_eq!((log.start, log.chunks.len()), (0, 1));
        bytes(log.take(slow));
        assert_eq!((log.start, log.chunks.len()), (100, 0));
        log.push(Bytes::from(vec![2; 20]));
        log.detach(slow);
        assert_eq!(bytes(log.take(fast)), (100, Bytes::from(vec![2; 20])));
    }

    #[test]
    fn what_is_passed_by_is_kept_for_readers_alone() {
        let mut log = Log::new(128, Overflow::Block).with_history(0);
        assert_eq!(log.pass(&Bytes::from(vec![1; 100])), Some(0));
        assert_eq!((log.room(), log.chunks.len()), (128, 0));
        let reader = log.attach(0);
        assert_eq!(
            log.take(reader),
            Taken::Piece(Piece::Gap { from: 0, to: 100 })
        );
        assert_eq!(log.pass(&Bytes::from(vec![2; 100])), Some(100));
        assert_eq!(
            log.room(),
            28,
            "a reader holds back those who pass bytes by"
        );
        assert_eq!(bytes(log.take(reader)).0, 100);
        assert_eq!((log.room(), log.start), (128, 200));
        log.close();
        assert_eq!(log.pass(&Bytes::from_static(b"late")), None);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Pass(usize),
        Push(usize),
        Attach,
        Take(usize),
        Detach(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            2 => (1..200_usize).prop_map(Step::Push),
            2 => (1..200_usize).prop_map(Step::Pass),
            1 => Just(Step::Attach),
            4 => (0..4_usize).prop_map(Step::Take),
            1 => (0..4_usize).prop_map(Step::Detach),
        ];
        prop::collection::vec(step, 0..200)
    }

    /// The byte that every log of these tests has at an offset.
    fn byte_at(offset: u64) -> u8 {
        (offset % 251) as u8
    }

    struct Model {
        log: Log,
        readers: Vec<(Cursor, u64)>,
        gaps: bool,
    }

    impl Model {
        fn push(&mut self, length: usize) {
            let length = length.min(self.log.room());
            let from = self.log.end();
            let bytes: Vec<u8> = (from..from + length as u64).map(byte_at).collect();
            self.log.push(bytes.into());
        }

        fn pass(&mut self, length: usize) {
            let length = length.min(self.log.room());
            let from = self.log.end();
            let bytes: Vec<u8> = (from..from + length as u64).map(byte_at).collect();
            assert_eq!(self.log.pass(&bytes.into()), Some(from));
        }

        fn take(&mut self, reader: usize) {
            let Some((cursor, seen)) = self.readers.get_mut(reader) else {
                return;
            };
            match self.log.take(*cursor) {
                Taken::Piece(Piece::Bytes { offset, bytes }) => {
                    assert_eq!(offset, *seen);
                    let wanted = (offset..).map(byte_at).take(bytes.len());
                    assert!(bytes.iter().copied().eq(wanted));
                    *seen += bytes.len() as u64;
                }
                Taken::Piece(Piece::Gap { from, to }) => {
                    assert!(self.gaps && from == *seen && to > from);
                    *seen = to;
                }
                Taken::Pending => assert_eq!(*seen, self.log.end()),
                Taken::Ended => unreachable!("the model never closes the log"),
            }
        }

        fn step(&mut self, step: &Step) {
            match *step {
                Step::Push(length) => self.push(length),
                Step::Pass(length) => self.pass(length),
                Step::Attach => {
                    let cursor = self.log.attach_oldest();
                    self.readers.push((cursor, self.log.start));
                }
                Step::Take(reader) => self.take(reader),
                Step::Detach(reader) if reader < self.readers.len() => {
                    let (cursor, _) = self.readers.remove(reader);
                    self.log.detach(cursor);
                }
                Step::Detach(_) => {}
            }
            let kept: usize = self.log.chunks.iter().map(|chunk| chunk.bytes.len()).sum();
            assert_eq!(kept as u64, self.log.end - self.log.start);
            assert!(
                kept <= self.log.capacity,
                "memory stays within the capacity"
            );
        }
    }

    proptest! {
        #[test]
        fn every_reader_sees_every_byte_once_or_is_told(
            steps in steps(),
            blocks in any::<bool>(),
            history in prop_oneof![Just(0), 1..512_usize, Just(usize::MAX)],
        ) {
            let overflow = if blocks { Overflow::Block } else { Overflow::DropOldest };
            let log = Log::new(512, overflow).with_history(history);
            let mut model = Model { log, readers: Vec::new(), gaps: !blocks };
            for step in &steps {
                model.step(step);
            }
        }
    }
}
