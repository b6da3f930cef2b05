//! Buffer for bytes that are not contiguous in one chunk, and for bytes that the caller reads into it.

use memchr::{memchr, memrchr};

/// Size of a window in bytes, unless one line is longer: it fits in the cache for every pass over it, and
/// is long enough for each pass to reach its full speed.
pub(super) const WINDOW: usize = 128 << 10;

/// Minimum capacity in bytes, so that a partial line moves to the front once for many chunks.
const MIN_CAPACITY: usize = 16 << 10;

/// Short frames in a row after which the memory of a long one is freed.
const SHORT_FRAMES: u32 = 64;

/// Reusable memory, in which only the beginning of a line ever moves, and only once.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffer {
    /// As long as it was ever written: the pages for a long line are touched when it arrives.
    memory: Vec<u8>,
    /// Beginning of the used bytes.
    start: usize,
    end: usize,
    /// Index up to which no line ends.
    searched: usize,
    /// Number of frames in a row that were much shorter than the memory.
    short: u32,
}

impl Buffer {
    /// Bytes that are in no frame yet.
    pub(super) fn bytes(&self) -> &[u8] {
        self.memory.get(self.start..self.end).unwrap_or_default()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Whether the bytes were searched and contain no end of a line.
    pub(super) const fn is_searched(&self) -> bool {
        self.searched == self.end
    }

    /// The last `length` bytes that were cut.
    pub(super) fn cut(&self, length: usize) -> &[u8] {
        let from = self.start.saturating_sub(length);
        self.memory.get(from..self.start).unwrap_or_default()
    }

    /// Returns room after the bytes: at least `length`.
    pub(super) fn room(&mut self, length: usize) -> &mut [u8] {
        if self.memory.len() - self.end < length {
            self.make_room(length);
        }
        self.memory.get_mut(self.end..).unwrap_or_default()
    }

    /// Commits the first `length` bytes of the room, and returns their number.
    pub(super) fn filled(&mut self, length: usize) -> usize {
        let length = length.min(self.memory.len() - self.end);
        self.end += length;
        length
    }

    /// Appends bytes in which a line `ends`, or may end.
    pub(super) fn append(&mut self, bytes: &[u8], ends: bool) {
        let is_searched = !ends && self.is_searched();
        if self.memory.capacity() - self.end < bytes.len() {
            self.reserve(bytes.len());
        }
        let written = self.memory.get_mut(self.end..).unwrap_or_default();
        let (over, new) = bytes.split_at(bytes.len().min(written.len()));
        if let Some(written) = written.get_mut(..over.len()) {
            written.copy_from_slice(over);
        }
        self.memory.extend_from_slice(new);
        self.end += bytes.len();
        if is_searched {
            self.searched = self.end;
        }
    }

    /// Cuts off a window of whole lines, or only one, and returns the number of bytes.
    pub(super) fn cut_lines(&mut self, only_one: bool) -> Option<usize> {
        let searched = self.searched - self.start;
        let end = lines_end(self.bytes(), searched, only_one);
        // In no more than a window, this was the last line.
        if end.is_none() || !only_one && self.bytes().len() <= WINDOW {
            self.searched = self.end;
        }
        self.cut_off(end?);
        end
    }

    /// Cuts off `length` bytes.
    pub(super) fn cut_off(&mut self, length: usize) {
        self.start = (self.start + length).min(self.end);
        self.searched = self.searched.max(self.start);
        let is_short = length < self.memory.capacity() / 4;
        self.short = if is_short { self.short + 1 } else { 0 };
    }

    /// Drops the bytes that were cut.
    pub(super) fn forget_cut(&mut self) {
        if self.start == self.end {
            (self.start, self.end, self.searched) = (0, 0, 0);
            if self.short > SHORT_FRAMES && self.memory.capacity() > WINDOW {
                self.release();
            }
        }
    }

    /// Frees the memory that the bytes do not need.
    pub(super) fn release(&mut self) {
        self.move_to_front();
        self.memory.truncate(self.end);
        self.memory.shrink_to_fit();
        self.short = 0;
    }

    /// Capacity in bytes.
    #[cfg(test)]
    pub(super) const fn capacity(&self) -> usize {
        self.memory.capacity()
    }

    #[cold]
    fn make_room(&mut self, length: usize) {
        if self.memory.capacity() - self.end < length {
            self.reserve(length);
        }
        let needed = (self.end + length).next_multiple_of(MIN_CAPACITY);
        if self.memory.len() < needed {
            self.memory.resize(needed, 0);
        }
    }

    /// Makes room for `length` more bytes.
    #[cold]
    fn reserve(&mut self, length: usize) {
        self.move_to_front();
        let needed = (self.end + length).max(MIN_CAPACITY);
        self.memory
            .reserve(needed.saturating_sub(self.memory.len()));
    }

    fn move_to_front(&mut self) {
        if self.start == 0 {
            return;
        }
        self.memory.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.searched -= self.start;
        self.start = 0;
    }
}

/// End of the first window of whole lines, or only of its first line; none when no line ends. The first
/// `searched` bytes must contain no end of a line.
pub(super) fn lines_end(bytes: &[u8], searched: usize, only_one: bool) -> Option<usize> {
    let fresh = bytes.get(searched..)?;
    let end = if only_one {
        memchr(b'\n', fresh)?
    } else {
        // A line longer than a window is a window of its own.
        let window = WINDOW.saturating_sub(searched).min(fresh.len());
        let (window, rest) = fresh.split_at_checked(window)?;
        match memrchr(b'\n', window) {
            Some(end) => end,
            None => window.len() + memchr(b'\n', rest)?,
        }
    };
    Some(searched + end + 1)
}
