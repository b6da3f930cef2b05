//! The chunks that texts lie in.

use std::sync::Arc;

use crate::store::Store;

/// Largest chunk in bytes; the fixed cost of a chunk is small beside it.
const CHUNK_SIZE: usize = 96 << 10;

/// Size of the first chunk of a session in bytes. A chunk doubles until it is full, so that a short
/// session reserves little.
const INITIAL_CHUNK_SIZE: usize = 4 << 10;

/// Most bytes by which a chunk grows at once.
const MAX_GROWTH: usize = 48 << 10;

/// Up to this length in bytes, an unfilled chunk is copied with the arena; a longer one is shared,
/// and the next text begins a new chunk.
const MAX_COPIED_CHUNK: usize = 4 << 10;

/// No chunk.
const NONE: u32 = u32::MAX;

/// A piece of a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) chunk: u32,
    pub(super) start: u32,
    pub(super) len: u32,
}

impl Span {
    /// Whether `next` begins where this span ends.
    pub(super) const fn is_before(self, next: Self) -> bool {
        self.chunk == next.chunk && self.start + self.len == next.start
    }
}

/// Append-only chunks. A full one is in an `Arc`.
#[derive(Clone, Debug)]
pub(super) struct Chunks {
    /// `None` for the chunk that is being filled, and for evicted ones.
    full: Store<Option<Arc<String>>>,
    /// The chunk that is being filled, and its number. Chunks of large texts may have higher numbers.
    current: String,
    at: u32,
    /// Bytes of all chunks except the one that is being filled.
    full_bytes: u64,
}

impl Default for Chunks {
    fn default() -> Self {
        Self {
            full: Store::default(),
            current: String::new(),
            at: NONE,
            full_bytes: 0,
        }
    }
}

impl Chunks {
    /// Bytes left in the current chunk.
    #[inline]
    pub(super) fn room(&self) -> usize {
        self.current.capacity() - self.current.len()
    }

    /// Returns whether the current chunk holds `len` more bytes, for which it may grow.
    #[inline]
    pub(super) fn fits(&mut self, len: usize) -> bool {
        len <= self.room() || self.grow(len)
    }

    /// Grows the current chunk to hold `len` more bytes; returns whether it may grow that far.
    #[cold]
    fn grow(&mut self, len: usize) -> bool {
        let size = self.current.capacity();
        let needed = self.current.len() + len;
        if self.at == NONE || needed > CHUNK_SIZE {
            return false;
        }
        let size = (size + size.clamp(INITIAL_CHUNK_SIZE, MAX_GROWTH)).clamp(needed, CHUNK_SIZE);
        self.current.reserve_exact(size - self.current.len());
        true
    }

    /// Begins a new chunk with a capacity of at least `len` bytes.
    pub(super) fn begin_for(&mut self, len: usize) {
        let size = self
            .current
            .capacity()
            .clamp(INITIAL_CHUNK_SIZE, MAX_GROWTH);
        self.close();
        self.current = String::with_capacity(size.max(len));
        self.at = self.full.push(None) as u32;
    }

    /// Closes the current chunk; there is none until another begins.
    pub(super) fn close(&mut self) {
        let full = std::mem::take(&mut self.current);
        self.full_bytes += full.len() as u64;
        if let Some(chunk) = self.full.get_mut(self.at as usize) {
            *chunk = Some(Arc::new(full));
        }
        self.at = NONE;
    }

    /// Makes a text a chunk of its own.
    pub(super) fn push_own(&mut self, text: String) -> Span {
        let len = text.len() as u32;
        self.full_bytes += u64::from(len);
        Span {
            chunk: self.full.push(Some(Arc::new(text))) as u32,
            start: 0,
            len,
        }
    }

    /// Writes into the current chunk, which must have the capacity.
    #[inline]
    pub(super) fn write(&mut self, text: &str) -> Span {
        let start = self.current.len() as u32;
        self.current.push_str(text);
        Span {
            chunk: self.at,
            start,
            len: text.len() as u32,
        }
    }

    /// Lets `write` append to the current chunk, within its capacity.
    #[inline]
    pub(super) fn write_with(&mut self, write: impl FnOnce(&mut String)) -> Span {
        let start = self.current.len();
        write(&mut self.current);
        Span {
            chunk: self.at,
            start: start as u32,
            len: (self.current.len() - start) as u32,
        }
    }

    #[inline]
    pub(super) fn slice(&self, span: Span) -> &str {
        let (start, len) = (span.start as usize, span.len as usize);
        let chunk = if span.chunk == self.at {
            Some(self.current.as_str())
        } else {
            let chunk = self.full.get(span.chunk as usize);
            chunk.and_then(|chunk| chunk.as_ref().map(|it| it.as_str()))
        };
        chunk
            .and_then(|chunk| chunk.get(start..start + len))
            .unwrap_or_default()
    }

    /// Returns a copy that shares the text.
    pub(super) fn share(&mut self) -> Self {
        if self.current.len() > MAX_COPIED_CHUNK {
            self.current.shrink_to_fit();
            self.close();
        }
        self.clone()
    }

    /// Returns the number of the chunk that the next text is written to.
    pub(super) fn next(&self) -> u32 {
        self.at.min(self.full.len() as u32)
    }

    /// Evicts the chunks before a number.
    pub(super) fn evict(&mut self, to: u32) {
        let to = to as usize;
        // The store frees whole pages of chunks; the text is freed here at once.
        for at in self.full.numbers_before(to).collect::<Vec<_>>() {
            self.full[at] = None;
        }
        self.full.evict(to, |_| false);
    }

    /// Bytes of text stored so far, including those evicted.
    pub(super) const fn written(&self) -> u64 {
        self.full_bytes + self.current.len() as u64
    }
}
