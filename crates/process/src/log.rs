//! An append-only byte stream with `u64` offsets, of which the newest part is kept in memory.
//!
//! Pure: no clock, lock or `async`; [`shared`] adds the lock and the wakeups. Invariants: offsets
//! never restart; bytes that a reader can no longer get are reported as a [`Piece::Gap`]; with
//! [`Overflow::Block`] no unread byte is dropped.

#[cfg(test)]
mod schedules;
mod shared;
#[cfg(test)]
mod waiting;

/// Lock of a shared log. `schedules` replaces it by one that is controlled by its scheduler.
mod lock {
    pub(super) use parking_lot::{Mutex, MutexGuard};
}

use std::collections::{BTreeMap, VecDeque};

use bytes::{Buf, Bytes, BytesMut};

pub use shared::{LogReader, SharedLog};

/// Bytes of capacity per chunk. A chunk costs about 40 bytes of bookkeeping, so this limit keeps a
/// child that writes single bytes from using more memory than the capacity.
const BYTES_PER_CHUNK: usize = 64;

/// Minimum of the limit on chunks.
const MIN_CHUNKS: usize = 16;

/// Minimum size of a passed or received chunk that is kept without a copy. A smaller chunk is copied, since it
/// would keep alive a read buffer: one that many sessions share, or that of a connection which has ended since.
const SHARED_BYTES: usize = 16 * 1024;

/// Size of the blocks that small chunks are copied into, so that not each needs an allocation.
const BLOCK_BYTES: usize = 16 * 1024;

/// Behavior of a full log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// Stops reading from the child until the slowest attached reader has read enough.
    Block,
    /// Drops the oldest bytes. A reader that has not read them gets a [`Piece::Gap`].
    DropOldest,
}

/// An item of a reader: bytes, or a gap where bytes were dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// One chunk as it was read from the child. Never empty.
    Bytes {
        /// Offset of the first byte in the stream.
        offset: u64,
        /// The bytes, shared with the log and the other readers.
        bytes: Bytes,
    },
    /// The bytes in `from..to` were dropped before this reader read them.
    Gap {
        /// Offset of the first missing byte.
        from: u64,
        /// Offset of the first byte after the gap.
        to: u64,
    },
}

impl Piece {
    /// Returns the offset past the last byte, present or missing.
    #[must_use]
    pub fn end(&self) -> u64 {
        match self {
            Self::Bytes { offset, bytes } => offset.saturating_add(bytes.len() as u64),
            Self::Gap { to, .. } => *to,
        }
    }
}

/// Identifies a reader of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cursor(u64);

/// Result of [`Log::take`].
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
    /// Whether the chunk was written before this host attached.
    is_replay: bool,
}

#[derive(Debug)]
enum Content {
    Bytes(Bytes),
    /// This many bytes were lost before they were received.
    Lost(u64),
}

impl Chunk {
    fn length(&self) -> u64 {
        match &self.content {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::Lost(length) => *length,
        }
    }

    fn end(&self) -> u64 {
        self.offset + self.length()
    }

    /// Returns the rest of the chunk from offset `at`.
    fn piece(&self, at: u64) -> Piece {
        match &self.content {
            Content::Bytes(bytes) => Piece::Bytes {
                offset: at,
                bytes: bytes.slice((at - self.offset) as usize..),
            },
            Content::Lost(_) => Piece::Gap {
                from: at,
                to: self.end(),
            },
        }
    }

    fn drop_front(&mut self, length: u64) {
        self.offset += length;
        match &mut self.content {
            Content::Bytes(bytes) => bytes.advance(length as usize),
            Content::Lost(left) => *left -= length,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Log {
    chunks: VecDeque<Chunk>,
    /// The free end of the block that small chunks are copied into.
    block: BytesMut,
    start: u64,
    end: u64,
    capacity: usize,
    /// Maximum number of bytes kept after every reader has read them.
    history: usize,
    overflow: Overflow,
    cursors: BTreeMap<Cursor, u64>,
    next_cursor: u64,
    /// Number of readers that retain nothing.
    observers: usize,
    /// The largest offset that any reader has reached.
    taken: u64,
    closed: bool,
}

impl Log {
    pub(crate) fn new(capacity: usize, overflow: Overflow) -> Self {
        Self {
            chunks: VecDeque::new(),
            block: BytesMut::new(),
            start: 0,
            end: 0,
            capacity: capacity.max(1),
            history: usize::MAX,
            overflow,
            cursors: BTreeMap::new(),
            next_cursor: 0,
            observers: 0,
            taken: 0,
            closed: false,
        }
    }

    /// Limits the bytes that are kept after every reader has read them.
    pub(crate) fn with_history(self, bytes: usize) -> Self {
        Self {
            history: bytes,
            ..self
        }
    }

    /// Returns the offset past the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Attaches a reader at `offset`, or at the end if the stream is shorter.
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

    /// Detaches a reader; it no longer retains bytes.
    pub(crate) fn detach(&mut self, cursor: Cursor) {
        self.cursors.remove(&cursor);
        self.drop_read();
    }

    /// Counts a reader that retains nothing and keeps its own offset. Returns the offset at which it begins:
    /// `offset`, or the end if the stream is shorter.
    pub(crate) fn observe(&mut self, offset: u64) -> u64 {
        self.observers += 1;
        offset.min(self.end)
    }

    /// Forgets a reader of [`observe`](Self::observe).
    pub(crate) fn unobserve(&mut self) {
        self.observers -= 1;
    }

    /// Returns whether any reader is to be woken.
    pub(crate) fn has_readers(&self) -> bool {
        !self.cursors.is_empty() || self.observers > 0
    }

    /// Returns the offset of a reader.
    pub(crate) fn position(&self, cursor: Cursor) -> u64 {
        self.cursors.get(&cursor).copied().unwrap_or(self.end)
    }

    /// Returns whether the byte at an offset was written before this host attached.
    pub(crate) fn is_replay(&self, at: u64) -> bool {
        let next = self.chunks.get(self.index_of(at));
        next.is_some_and(|chunk| chunk.is_replay)
    }

    /// Returns the next piece of a reader and advances the reader.
    pub(crate) fn take(&mut self, cursor: Cursor) -> Taken {
        let taken = self.piece_at(self.position(cursor));
        if let Taken::Piece(piece) = &taken {
            self.advance(cursor, piece.end());
            self.drop_read();
        }
        taken
    }

    /// Returns the piece at an offset.
    pub(crate) fn piece_at(&self, at: u64) -> Taken {
        if at < self.start {
            return Taken::Piece(Piece::Gap {
                from: at,
                to: self.start,
            });
        }
        match self.chunks.get(self.index_of(at)) {
            Some(chunk) => Taken::Piece(chunk.piece(at)),
            None if self.closed => Taken::Ended,
            None => Taken::Pending,
        }
    }

    /// Returns how many bytes may be read from the child now. Zero only with [`Overflow::Block`].
    pub(crate) fn room(&self) -> usize {
        if self.overflow == Overflow::DropOldest {
            return self.capacity;
        }
        let retained_from = self.retained_from();
        if self.chunks.len() - self.index_of(retained_from) >= self.max_chunks() {
            return 0;
        }
        self.capacity
            .saturating_sub((self.end - retained_from) as usize)
    }

    /// Appends bytes, and drops bytes that exceed the capacity.
    pub(crate) fn push(&mut self, bytes: Bytes) {
        self.push_as(bytes, false);
    }

    /// Appends bytes that a connection received; `is_replay` marks those that were written before this host
    /// attached.
    pub(crate) fn push_received(&mut self, bytes: &Bytes, is_replay: bool) {
        if !self.closed {
            let kept = self.kept(bytes);
            self.push_as(kept, is_replay);
        }
    }

    fn push_as(&mut self, bytes: Bytes, is_replay: bool) {
        if bytes.is_empty() || self.closed {
            return;
        }
        self.append(Content::Bytes(bytes), is_replay);
    }

    /// Continues at a later offset; the bytes in between become a gap.
    pub(crate) fn skip_to(&mut self, to: u64) {
        if to > self.end && !self.closed {
            self.append(Content::Lost(to - self.end), false);
        }
    }

    /// Sets the offset of the first byte. Has no effect once bytes or a reader exist.
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

    /// Appends bytes that the task that fills the log consumes itself before all readers. Returns
    /// their offset; `None` if the log is closed.
    pub(crate) fn pass(&mut self, bytes: &Bytes) -> Option<u64> {
        if self.closed {
            return None;
        }
        let offset = self.end;
        self.taken = offset + bytes.len() as u64;
        if self.history == 0 && !self.has_readers() && self.chunks.is_empty() {
            (self.start, self.end) = (self.taken, self.taken);
        } else {
            let kept = self.kept(bytes);
            self.push(kept);
        }
        Some(offset)
    }

    /// Returns a chunk as it is kept: a small one does not share the buffer that it was read into.
    fn kept(&mut self, bytes: &Bytes) -> Bytes {
        if bytes.len() < SHARED_BYTES {
            self.copy(bytes)
        } else {
            bytes.clone()
        }
    }

    /// Copies a small chunk into the present block, or into a new one if it does not fit.
    fn copy(&mut self, bytes: &[u8]) -> Bytes {
        if self.block.capacity() < bytes.len() {
            self.block = BytesMut::with_capacity(BLOCK_BYTES.max(bytes.len()));
        }
        self.block.extend_from_slice(bytes);
        self.block.split().freeze()
    }

    /// Drops the oldest bytes from now on instead of blocking.
    pub(crate) fn drop_oldest(&mut self) {
        self.overflow = Overflow::DropOldest;
    }

    /// Raises the capacity permanently, so that all bytes that the child wrote before its end fit
    /// regardless of the readers.
    pub(crate) fn lift(&mut self, bytes: usize) {
        self.capacity = self.capacity.saturating_add(bytes);
    }

    /// Closes the log; later bytes are ignored.
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

    /// Returns the oldest offset that must be retained with [`Overflow::Block`].
    fn retained_from(&self) -> u64 {
        let slowest = self.cursors.values().copied().min();
        slowest.unwrap_or(self.taken).max(self.start)
    }

    fn max_chunks(&self) -> usize {
        (self.capacity / BYTES_PER_CHUNK).max(MIN_CHUNKS)
    }

    /// Returns the index of the chunk that contains `offset`; the number of chunks at the end.
    fn index_of(&self, offset: u64) -> usize {
        self.chunks.partition_point(|chunk| chunk.end() <= offset)
    }

    fn evict(&mut self) {
        let limit = match self.overflow {
            Overflow::Block => self.retained_from(),
            Overflow::DropOldest => self.end,
        };
        let excess = (self.end - self.start).saturating_sub(self.capacity as u64);
        self.drop_front(excess.min(limit - self.start));
        self.drop_read();
        while self.chunks.len() > self.max_chunks() {
            match self.chunks.front() {
                Some(front) if front.end() <= limit => {
                    let length = front.length();
                    self.drop_front(length);
                }
                _ => break,
            }
        }
    }

    /// Drops bytes that every reader has read and that exceed the history limit.
    fn drop_read(&mut self) {
        let kept = self.retained_from().saturating_sub(self.history as u64);
        self.drop_front(kept.saturating_sub(self.start));
        if self.chunks.is_empty() && self.chunks.capacity() > MIN_CHUNKS {
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
