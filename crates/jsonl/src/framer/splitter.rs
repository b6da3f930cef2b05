//! Where the frames of the next bytes end.

use memchr::memchr;

use crate::framer::buffer::{Buffer, WINDOW, lines_end};

/// How much of a line over the limit is kept to show what it was, in bytes.
const HEAD: usize = 256;

/// Chunks of so few bytes are copied: that costs less than to look at a chunk apart from the line
/// that it goes on with.
const SMALL: usize = 8 << 10;

/// A frame: where it begins in the stream, and where its bytes are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    pub(super) offset: u64,
    pub(super) place: Place,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// So many bytes of the chunk.
    Chunk(usize),
    /// The last so many bytes that were cut from the buffer.
    Buffer(usize),
    /// Nowhere: they were skipped, see [`Splitter::skipped`].
    Skipped,
}

/// A line over the limit.
#[derive(Debug, Default)]
pub(super) struct Skipped {
    /// Length without the LF, in bytes.
    pub(super) length: u64,
    pub(super) is_tail: bool,
    pub(super) head: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Splitter {
    max_line: usize,
    buffer: Buffer,
    skipping: Option<Skipped>,
    /// The line that was skipped last.
    skipped: Skipped,
    /// Offset of the next byte.
    offset: u64,
}

impl Splitter {
    pub(super) fn new(max_line: usize, offset: u64) -> Self {
        Self {
            max_line,
            buffer: Buffer::default(),
            skipping: None,
            skipped: Skipped::default(),
            offset,
        }
    }

    /// Whether nothing is gained by looking at these bytes in place.
    pub(super) fn is_better_copied(&self, bytes: &[u8]) -> bool {
        bytes.len() < SMALL && (self.is_open() || bytes.last() != Some(&b'\n'))
    }

    /// Takes all of the next bytes. Those of a long line are searched where they come from, and not
    /// where they were written just now: there the search would wait for each write.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        let is_long = self.buffer.bytes().len() >= SMALL;
        let ends = !is_long || memchr(b'\n', bytes).is_some();
        self.append_searched(bytes, ends);
    }

    /// The same of bytes in which no line ends, or one may.
    fn append_searched(&mut self, bytes: &[u8], ends: bool) {
        self.buffer.append(bytes, ends);
        self.offset += bytes.len() as u64;
    }

    /// Takes the next bytes up to the end of a frame, or all of them; how many, and the frame.
    /// Nothing else is in the buffer but the line that is open.
    pub(super) fn take(&mut self, bytes: &[u8]) -> (usize, Option<Cut>) {
        if self.is_better_copied(bytes) {
            self.append(bytes);
            return (bytes.len(), self.take_buffered());
        }
        // Only the line that is open needs the buffer.
        let only_one = self.is_open() || self.max_line < WINDOW;
        let end = lines_end(bytes, 0, only_one);
        if let Some(end) = end
            && !self.is_open()
        {
            return (end, Some(self.in_place(bytes, end)));
        }
        let taken = end.unwrap_or(bytes.len());
        self.append_searched(bytes.get(..taken).unwrap_or_default(), end.is_some());
        (taken, self.take_buffered())
    }

    /// Ends the line that is open, where no LF does.
    pub(super) fn end(&mut self) -> Option<Cut> {
        let length = self.buffer.bytes().len();
        self.buffer.cut_off(length);
        match self.skipping.take() {
            Some(skipped) => Some(self.skip(Skipped {
                is_tail: true,
                ..skipped
            })),
            None => (length > 0).then(|| self.buffered(length)),
        }
    }

    /// The next frame of what is in the buffer.
    pub(super) fn take_buffered(&mut self) -> Option<Cut> {
        let length = self.buffer.bytes().len();
        if length > self.max_line || self.skipping.is_some() {
            return self.take_long(length);
        }
        if self.buffer.is_searched() {
            return None;
        }
        self.buffer.cut_lines(false).map(|cut| self.buffered(cut))
    }

    /// The same, where a line over the limit goes on or may be.
    #[cold]
    fn take_long(&mut self, length: usize) -> Option<Cut> {
        if length == 0 {
            return None;
        }
        let line = self.buffer.cut_lines(true);
        let taken = line.unwrap_or(length);
        if taken <= self.max_line + 1 && self.skipping.is_none() {
            return line.map(|line| self.buffered(line));
        }
        if line.is_none() {
            self.buffer.cut_off(length);
        }
        let text = taken - usize::from(line.is_some());
        let skipped = self.skipping.get_or_insert_default();
        let wanted = text.min(HEAD - skipped.head.len());
        let head = self.buffer.cut(taken).get(..wanted).unwrap_or_default();
        skipped.head.extend_from_slice(head);
        skipped.length += text as u64;
        if line.is_none() {
            self.buffer.forget_cut();
            return None;
        }
        self.skipping.take().map(|skipped| self.skip(skipped))
    }

    /// Whole lines of a chunk, or a line over the limit.
    fn in_place(&mut self, bytes: &[u8], end: usize) -> Cut {
        self.offset += end as u64;
        if end <= self.max_line + 1 {
            return Cut {
                offset: self.offset - end as u64,
                place: Place::Chunk(end),
            };
        }
        self.skip(Skipped {
            length: end as u64 - 1,
            is_tail: false,
            head: bytes.get(..HEAD.min(end - 1)).unwrap_or(bytes).to_vec(),
        })
    }

    /// The frame of the last `length` bytes that were cut from the buffer.
    fn buffered(&self, length: usize) -> Cut {
        Cut {
            offset: self.offset - (self.buffer.bytes().len() + length) as u64,
            place: Place::Buffer(length),
        }
    }

    /// The frame of a line that ended before what is in the buffer.
    fn skip(&mut self, skipped: Skipped) -> Cut {
        let behind = self.buffer.bytes().len() as u64;
        let length = skipped.length + u64::from(!skipped.is_tail);
        self.skipped = skipped;
        Cut {
            offset: self.offset - behind - length,
            place: Place::Skipped,
        }
    }

    /// Goes on at another offset.
    pub(super) const fn skip_to(&mut self, offset: u64) {
        self.offset = offset;
    }

    /// Offset of the first byte that is in no frame.
    pub(super) fn line_start(&self) -> u64 {
        let skipped = self.skipping.as_ref().map_or(0, |skipped| skipped.length);
        self.offset - skipped - self.buffer.bytes().len() as u64
    }

    /// Whether the last bytes ended inside a line.
    fn is_open(&self) -> bool {
        !self.buffer.is_empty() || self.skipping.is_some()
    }

    /// The line that was skipped last.
    pub(super) const fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// Longest line that is not skipped, in bytes.
    pub(super) const fn max_line(&self) -> usize {
        self.max_line
    }

    pub(super) const fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Room for the next bytes, at least `length`.
    pub(super) fn room(&mut self, length: usize) -> &mut [u8] {
        self.buffer.room(length)
    }

    /// The first `length` bytes of the room were filled.
    pub(super) fn filled(&mut self, length: usize) {
        self.offset += self.buffer.filled(length) as u64;
    }

    /// Forgets the bytes of the last frame.
    pub(super) fn forget_cut(&mut self) {
        self.buffer.forget_cut();
    }

    /// Gives back the memory that no open line needs.
    pub(super) fn release(&mut self) {
        self.buffer.release();
    }
}
