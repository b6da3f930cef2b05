//! The most recent bytes of a stream, in memory.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Adjacent chunks are joined up to this size, to bound the bookkeeping of a child that writes
/// single bytes.
const JOINED_BYTES: usize = 4 * 1024;

/// Smaller chunks are copied, since they would keep a whole read buffer alive.
const SHARED_BYTES: usize = 16 * 1024;

/// Bytes `start..end` of a stream, in chunks. Eviction removes whole chunks and always leaves one.
#[derive(Debug)]
pub(super) struct Ring {
    chunks: VecDeque<(u64, Bytes)>,
    start: u64,
    end: u64,
    capacity: usize,
}

impl Ring {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            chunks: VecDeque::new(),
            start: 0,
            end: 0,
            capacity,
        }
    }

    /// Returns the oldest retained offset.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Returns the offset after the last byte.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Appends bytes.
    pub(super) fn push(&mut self, bytes: Bytes) {
        if bytes.is_empty() {
            return;
        }
        let offset = self.end;
        self.end += bytes.len() as u64;
        match self.chunks.back_mut() {
            Some((_, last)) if last.len() + bytes.len() <= JOINED_BYTES => {
                *last = joined(last, &bytes);
            }
            _ if bytes.len() < SHARED_BYTES => {
                self.chunks
                    .push_back((offset, Bytes::copy_from_slice(&bytes)));
            }
            _ => self.chunks.push_back((offset, bytes)),
        }
    }

    /// Advances the end by `length` bytes that are missing, and drops everything before.
    pub(super) fn skip(&mut self, length: u64) {
        self.chunks.clear();
        self.end += length;
        self.start = self.end;
    }

    /// Drops the oldest chunks while over capacity, as far as they end at or before `limit`.
    pub(super) fn evict(&mut self, limit: u64) {
        while self.chunks.len() > 1 && (self.end - self.start) as usize > self.capacity {
            let next = self.chunks[1].0;
            if next > limit {
                return;
            }
            self.chunks.pop_front();
            self.start = next;
        }
    }

    /// Returns up to `max` bytes from `offset`, within one chunk; `None` outside of the retained
    /// range.
    pub(super) fn read(&self, offset: u64, max: usize) -> Option<Bytes> {
        if offset < self.start || offset >= self.end {
            return None;
        }
        let index = self
            .chunks
            .partition_point(|(from, chunk)| from + chunk.len() as u64 <= offset);
        let (from, chunk) = &self.chunks[index];
        let skip = (offset - from) as usize;
        Some(chunk.slice(skip..chunk.len().min(skip.saturating_add(max))))
    }
}

fn joined(head: &Bytes, tail: &Bytes) -> Bytes {
    let mut both = BytesMut::with_capacity(head.len() + tail.len());
    both.extend_from_slice(head);
    both.extend_from_slice(tail);
    both.freeze()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn last_chunk_is_never_evicted() {
        let mut ring = Ring::new(4);
        ring.push(Bytes::from(vec![7; 100]));
        ring.evict(u64::MAX);
        assert_eq!((ring.start(), ring.end()), (0, 100));
        ring.push(Bytes::from(vec![8; JOINED_BYTES]));
        ring.evict(u64::MAX);
        assert_eq!(ring.start(), 100);
        assert_eq!(ring.read(99, 1), None);
        assert_eq!(ring.read(100, 2), Some(Bytes::from_static(&[8, 8])));
    }

    #[test]
    fn single_bytes_are_joined_into_chunks() {
        let mut ring = Ring::new(1 << 20);
        for _ in 0..3 * JOINED_BYTES {
            ring.push(Bytes::from_static(b"x"));
        }
        assert_eq!(ring.chunks.len(), 3);
    }

    proptest! {
        #[test]
        fn reads_return_the_written_bytes(
            sizes in prop::collection::vec(1..9_000_usize, 1..60),
            capacity in 1..40_000_usize,
            limit in 0..200_000_u64,
        ) {
            let mut ring = Ring::new(capacity);
            let mut whole = Vec::new();
            for (index, size) in sizes.iter().enumerate() {
                let chunk = vec![index as u8; *size];
                whole.extend_from_slice(&chunk);
                ring.push(chunk.into());
                ring.evict(limit);
                prop_assert!(ring.start() <= limit);
            }
            let mut at = ring.start();
            while let Some(bytes) = ring.read(at, 1_000) {
                prop_assert!(bytes.len() <= 1_000 && !bytes.is_empty());
                prop_assert_eq!(&bytes[..], &whole[at as usize..at as usize + bytes.len()]);
                at += bytes.len() as u64;
            }
            prop_assert_eq!(at, whole.len() as u64);
        }
    }
}
