//! Boundaries of frames.

use memchr::memchr;

use crate::framer::buffer::{Buffer, WINDOW, lines_end};

/// Bytes of a line over the limit that are kept for diagnosis.
const HEAD: usize = 256;

/// Chunks below this size in bytes are copied, which costs less than to handle a chunk apart from the
/// line that it continues.
const SMALL: usize = 8 << 10;

/// A frame: its offset in the stream, and the location of its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    pub(super) offset: u64,
    pub(super) location: Location,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Location {
    /// The last consumed bytes of the chunk, by number.
    Chunk(usize),
    /// The last bytes that were cut from the buffer, by number.
    Buffer(usize),
    /// The line was skipped; see [`Splitter::skipped`].
    Skipped,
}

/// A line over the limit.
#[derive(Clone, Debug, Default)]
pub(super) struct Skipped {
    /// Length without the LF, in bytes.
    pub(super) length: u64,
    pub(super) is_tail: bool,
    pub(super) head: Vec<u8>,
}

#[derive(Clone, Debug)]
pub(super) struct Splitter {
    max_line: usize,
    buffer: Buffer,
    skipping: Option<Skipped>,
    /// The last skipped line.
    skipped: Skipped,
    /// Offset of the next byte.
    offset: u64,
}

impl Splitter {
    pub(super) fn new(max_line: usize, offset: u64) -> Self {
        Self {
            // One more must not overflow: a line ends with a line feed.
            max_line: max_line.min(usize::MAX - 1),
            buffer: Buffer::default(),
            skipping: None,
            skipped: Skipped::default(),
            offset,
        }
    }

    /// Whether these bytes are better copied than handled in place.
    pub(super) fn is_better_copied(&self, bytes: &[u8]) -> bool {
        bytes.len() < SMALL && (self.is_open() || bytes.last() != Some(&b'\n'))
    }

    /// Appends the next bytes. Those of a long line are searched at their source instead of in the
    /// buffer, where the search would wait for the stores.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        let is_long = self.buffer.bytes().len() >= SMALL;
        let ends = !is_long || memchr(b'\n', bytes).is_some();
        self.append_searched(bytes, ends);
    }

    /// [`append`](Self::append) for bytes in which a line `ends`, or may end.
    fn append_searched(&mut self, bytes: &[u8], ends: bool) {
        self.buffer.append(bytes, ends);
        self.offset += bytes.len() as u64;
    }

    /// Consumes bytes up to the end of a frame, or all of them. Returns their number, and the frame. The
    /// buffer must contain nothing but the open line.
    pub(super) fn take(&mut self, bytes: &[u8]) -> (usize, Option<Cut>) {
        if self.is_better_copied(bytes) {
            self.append(bytes);
            return (bytes.len(), self.take_buffered());
        }
        // Only the open line needs the buffer.
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

    /// Ends the open line without an LF.
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

    /// Cuts the next frame off the buffer.
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

    /// [`take_buffered`](Self::take_buffered) when a line over the limit continues or may begin.
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

    /// The frame of whole lines of a chunk, or of one line over the limit.
    fn in_place(&mut self, bytes: &[u8], end: usize) -> Cut {
        self.offset += end as u64;
        if end <= self.max_line + 1 {
            return Cut {
                offset: self.offset - end as u64,
                location: Location::Chunk(end),
            };
        }
        self.skip(Skipped {
            length: end as u64 - 1,
            is_tail: false,
            head: bytes.get(..HEAD.min(end - 1)).unwrap_or(bytes).to_vec(),
        })
    }

    /// The frame of the last `length` bytes cut from the buffer.
    fn buffered(&self, length: usize) -> Cut {
        Cut {
            offset: self.offset - (self.buffer.bytes().len() + length) as u64,
            location: Location::Buffer(length),
        }
    }

    /// The frame of a skipped line, which ended before the bytes in the buffer.
    fn skip(&mut self, skipped: Skipped) -> Cut {
        let buffered = self.buffer.bytes().len() as u64;
        let length = skipped.length + u64::from(!skipped.is_tail);
        self.skipped = skipped;
        Cut {
            offset: self.offset - buffered - length,
            location: Location::Skipped,
        }
    }

    /// Continues at another offset.
    pub(super) const fn skip_to(&mut self, offset: u64) {
        self.offset = offset;
    }

    /// Offset of the first byte that is in no frame.
    pub(super) fn line_start(&self) -> u64 {
        let skipped = self.skipping.as_ref().map_or(0, |skipped| skipped.length);
        self.offset - skipped - self.buffer.bytes().len() as u64
    }

    /// Whether a line is open.
    fn is_open(&self) -> bool {
        !self.buffer.is_empty() || self.skipping.is_some()
    }

    /// The last skipped line.
    pub(super) const fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// Limit of a line in bytes.
    pub(super) const fn max_line(&self) -> usize {
        self.max_line
    }

    pub(super) const fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Returns room for at least `length` bytes.
    pub(super) fn room(&mut self, length: usize) -> &mut [u8] {
        self.buffer.room(length)
    }

    /// Commits the first `length` bytes of the room.
    pub(super) fn filled(&mut self, length: usize) {
        self.offset += self.buffer.filled(length) as u64;
    }

    /// Drops the bytes of the last frame.
    pub(super) fn forget_cut(&mut self) {
        self.buffer.forget_cut();
    }

    /// Frees the memory that no open line needs.
    pub(super) fn release(&mut self) {
        self.buffer.release();
    }
}
