//! An append-only byte stream with `u64` offsets, of which the newest part is kept in memory.
//!
//! Pure: no clock, lock or `async`. [`shared`] puts the lock and the waiting around it.
//! Invariants: offsets never restart; what a reader cannot be given any more it is told of as a
//! [`Piece::Gap`]; under [`Overflow::Block`] no byte is dropped that nobody has read.

#[cfg(test)]
mod schedules;
mod shared;
#[cfg(test)]
mod waiting;

/// The lock of a shared log; tests have another, so that a scheduler of theirs decides who gets it.
mod lock {
    pub(super) use std::sync::{Mutex, MutexGuard};
}

use std::collections::{BTreeMap, VecDeque};

use bytes::{Buf, Bytes};

pub use shared::{LogReader, SharedLog};

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
    content: Content,
    /// Whether it had been there before this host came.
    is_replay: bool,
}

#[derive(Debug)]
enum Content {
    Bytes(Bytes),
    /// So many bytes were lost before they came here.
    Gone(u64),
}

impl Chunk {
    fn length(&self) -> u64 {
        match &self.content {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::Gone(length) => *length,
        }
    }

    fn end(&self) -> u64 {
        self.offset + self.length()
    }

    /// What a reader at an offset inside of it is given.
    fn piece(&self, at: u64) -> Piece {
        match &self.content {
            Content::Bytes(bytes) => Piece::Bytes {
                offset: at,
                bytes: bytes.slice((at - self.offset) as usize..),
            },
            Content::Gone(_) => Piece::Gap {
                from: at,
                to: self.end(),
            },
        }
    }

    fn drop_front(&mut self, length: u64) {
        self.offset += length;
        match &mut self.content {
            Content::Bytes(bytes) => bytes.advance(length as usize),
            Content::Gone(left) => *left -= length,
        }
    }
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

    /// Whether the next piece of a reader had been there before this host came.
    pub(crate) fn is_replay(&self, cursor: Cursor) -> bool {
        let next = self.chunks.get(self.index_of(self.position(cursor)));
        next.is_some_and(|chunk| chunk.is_replay)
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
        let (piece, end) = (chunk.piece(at), chunk.end());
        self.advance(cursor, end);
        self.forget();
        Taken::Piece(piece)
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
        self.push_as(bytes, false);
    }

    /// The same, of bytes that had been there before this host came, or had not.
    pub(crate) fn push_as(&mut self, bytes: Bytes, is_replay: bool) {
        if bytes.is_empty() || self.closed {
            return;
        }
        self.append(Content::Bytes(bytes), is_replay);
    }

    /// Goes on at a later offset: what lies between never came.
    pub(crate) fn skip_to(&mut self, to: u64) {
        if to > self.end && !self.closed {
            self.append(Content::Gone(to - self.end), false);
        }
    }

    /// Begins at an offset, while nothing has come and nobody reads.
    pub(crate) fn begin_at(&mut self, offset: u64) {
        if self.end == 0 && self.cursors.is_empty() {
            (self.start, self.end, self.taken) = (offset, offset, offset);
        }
    }

    fn append(&mut self, content: Content, is_replay: bool) {
        let chunk = Chunk {
            offset: self.end,
            content,
            is_replay,
        };
        self.end = chunk.end();
        self.chunks.push_back(chunk);
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

    /// Nobody is held back any more, whatever is lost.
    pub(crate) fn drop_oldest(&mut self) {
        self.overflow = Overflow::DropOldest;
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
        self.chunks.partition_point(|chunk| chunk.end() <= offset)
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
                Some(front) if front.end() <= limit => {
                    let length = front.length();
                    self.drop_front(length);
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
            if front.length() <= bytes {
                bytes -= front.length();
                self.chunks.pop_front();
            } else {
                return front.drop_front(bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests;
