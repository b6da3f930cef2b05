//! Bytes that no chunk holds together: the beginning of a line, or what was read in place.

use memchr::{memchr, memrchr};

/// A window holds at most so many bytes, unless one line is longer: few enough that every pass over
/// them finds them in the cache, many enough that each pass runs at its full speed.
pub(super) const WINDOW: usize = 128 << 10;

/// The least memory, in bytes: what is left of a line moves to the front once for many chunks.
const LEAST: usize = 16 << 10;

/// Frames that a long one may be ahead of until the memory it took is given back.
const SHORT_FRAMES: u32 = 64;

/// Its memory is used again and again; what moves in it is the beginning of a line, once.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    /// As long as it was written so far: what a long line needs is touched when it comes.
    memory: Vec<u8>,
    /// What is in use of the memory.
    start: usize,
    end: usize,
    /// Up to here no line ends.
    searched: usize,
    /// How many frames in a row were much shorter than the memory.
    short: u32,
}

impl Buffer {
    /// The bytes that are in no frame yet.
    pub(super) fn bytes(&self) -> &[u8] {
        self.memory.get(self.start..self.end).unwrap_or_default()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Whether no line is known to end in the bytes.
    pub(super) const fn is_searched(&self) -> bool {
        self.searched == self.end
    }

    /// The last so many bytes that were cut.
    pub(super) fn cut(&self, length: usize) -> &[u8] {
        let from = self.start.saturating_sub(length);
        self.memory.get(from..self.start).unwrap_or_default()
    }

    /// Room behind the bytes: at least `length`.
    pub(super) fn room(&mut self, length: usize) -> &mut [u8] {
        if self.memory.len() - self.end < length {
            self.make_room(length);
        }
        self.memory.get_mut(self.end..).unwrap_or_default()
    }

    /// The first `length` bytes of the room were filled; how many of them there were.
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
        let (over, behind) = bytes.split_at(bytes.len().min(written.len()));
        if let Some(written) = written.get_mut(..over.len()) {
            written.copy_from_slice(over);
        }
        self.memory.extend_from_slice(behind);
        self.end += bytes.len();
        if is_searched {
            self.searched = self.end;
        }
    }

    /// Cuts off whole lines, a window of them or only one; how many bytes.
    pub(super) fn cut_lines(&mut self, only_one: bool) -> Option<usize> {
        let searched = self.searched - self.start;
        let end = lines_end(self.bytes(), searched, only_one);
        // The last line of all was cut off when they are no more than a window.
        if end.is_none() || !only_one && self.bytes().len() <= WINDOW {
            self.searched = self.end;
        }
        self.cut_off(end?);
        end
    }

    /// Cuts off so many bytes.
    pub(super) fn cut_off(&mut self, length: usize) {
        self.start = (self.start + length).min(self.end);
        self.searched = self.searched.max(self.start);
        let is_short = length < self.memory.capacity() / 4;
        self.short = if is_short { self.short + 1 } else { 0 };
    }

    /// Forgets what was cut.
    pub(super) fn forget_cut(&mut self) {
        if self.start == self.end {
            (self.start, self.end, self.searched) = (0, 0, 0);
            if self.short > SHORT_FRAMES && self.memory.capacity() > WINDOW {
                self.release();
            }
        }
    }

    /// Gives back the memory that the bytes do not need.
    pub(super) fn release(&mut self) {
        self.move_to_front();
        self.memory.truncate(self.end);
        self.memory.shrink_to_fit();
        self.short = 0;
    }

    /// Bytes of memory that are held.
    #[cfg(test)]
    pub(super) const fn capacity(&self) -> usize {
        self.memory.capacity()
    }

    #[cold]
    fn make_room(&mut self, length: usize) {
        if self.memory.capacity() - self.end < length {
            self.reserve(length);
        }
        let needed = (self.end + length).next_multiple_of(LEAST);
        if self.memory.len() < needed {
            self.memory.resize(needed, 0);
        }
    }

    /// Makes the memory large enough for so many more bytes.
    #[cold]
    fn reserve(&mut self, length: usize) {
        self.move_to_front();
        let needed = (self.end + length).max(LEAST);
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

/// Where the first window of whole lines ends, or only its first line; none when no line does. No
/// line ends in the first `searched` bytes.
pub(super) fn lines_end(bytes: &[u8], searched: usize, only_one: bool) -> Option<usize> {
    let fresh = bytes.get(searched..)?;
    let end = if only_one {
        memchr(b'\n', fresh)?
    } else {
        // A window that is full of one line ends with it.
        let window = WINDOW.saturating_sub(searched).min(fresh.len());
        let (window, rest) = fresh.split_at_checked(window)?;
        match memrchr(b'\n', window) {
            Some(end) => end,
            None => window.len() + memchr(b'\n', rest)?,
        }
    };
    Some(searched + end + 1)
}
