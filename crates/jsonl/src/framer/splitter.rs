//! Where the lines of the next bytes end, and the line that no chunk holds alone.

use memchr::{memchr, memrchr};

/// A window holds at most so many bytes, unless one line is longer: few enough that every pass over
/// them finds them in the cache, many enough that each pass runs at its full speed.
const WINDOW: usize = 128 << 10;

/// How much of a line over the limit is kept to show what it was, in bytes.
const HEAD: usize = 256;

/// Lines over chunks that a long one may be ahead of until the memory it took is given back.
const SHORT_LINES: u32 = 64;

/// Where the bytes of the next frame are.
#[derive(Debug)]
pub(super) enum Cut {
    /// So many bytes of the chunk.
    Lines(usize),
    /// The whole of [`Splitter::partial`], which ends with its LF unless the input ended.
    Partial,
    /// Nowhere: they were skipped.
    Skipped(Skipped),
}

#[derive(Debug)]
pub(super) struct Splitter {
    max_line: usize,
    /// The line that the last bytes ended in.
    partial: Vec<u8>,
    /// How many lines in a row were much shorter than the buffer.
    short: u32,
    skipping: Option<Skipped>,
    /// Offset of the next byte.
    offset: u64,
}

/// A line over the limit.
#[derive(Debug)]
pub(super) struct Skipped {
    pub(super) offset: u64,
    /// Length without the LF, in bytes.
    pub(super) length: u64,
    pub(super) is_tail: bool,
    pub(super) head: Vec<u8>,
}

impl Splitter {
    pub(super) const fn new(max_line: usize, offset: u64) -> Self {
        Self {
            max_line,
            partial: Vec::new(),
            short: 0,
            skipping: None,
            offset,
        }
    }

    /// Takes the next bytes up to the end of a frame, or all of them; how many, and the frame.
    pub(super) fn take(&mut self, bytes: &[u8]) -> (usize, Option<Cut>) {
        let is_open = !self.partial.is_empty() || self.skipping.is_some();
        let (taken, cut) = match lines_end(bytes, is_open || bytes.len() > self.max_line) {
            None => {
                self.extend(bytes);
                (bytes.len(), None)
            }
            Some(end) if is_open || end > self.max_line + 1 => {
                self.extend(bytes.get(..end - 1).unwrap_or_default());
                (end, Some(self.end_line(b"\n")))
            }
            Some(end) => {
                self.offset += end as u64;
                (end, Some(Cut::Lines(end)))
            }
        };
        (taken, cut)
    }

    /// Ends the line that is open, where no LF does.
    pub(super) fn end(&mut self) -> Option<Cut> {
        let is_open = !self.partial.is_empty() || self.skipping.is_some();
        is_open.then(|| self.end_line(b""))
    }

    /// Goes on at another offset.
    pub(super) const fn skip_to(&mut self, offset: u64) {
        self.offset = offset;
    }

    /// Offset of the next byte.
    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    /// Offset of the first byte of the line that is open, or of the next one.
    pub(super) fn line_start(&self) -> u64 {
        match &self.skipping {
            Some(skipped) => skipped.offset,
            None => self.offset - self.partial.len() as u64,
        }
    }

    /// Longest line that is not skipped, in bytes.
    pub(super) const fn max_line(&self) -> usize {
        self.max_line
    }

    /// The line that no chunk holds alone.
    pub(super) fn partial(&self) -> &[u8] {
        &self.partial
    }

    /// Forgets the partial line; its memory is kept for the next one, unless lines have become
    /// much shorter.
    pub(super) fn clear(&mut self) {
        let is_short = self.partial.len() < self.partial.capacity() / 4;
        self.short = if is_short { self.short + 1 } else { 0 };
        self.partial.clear();
        if self.short > SHORT_LINES && self.partial.capacity() > WINDOW {
            self.release();
        }
    }

    /// Gives back the memory that no open line needs.
    pub(super) fn release(&mut self) {
        self.partial.shrink_to_fit();
        self.short = 0;
    }

    /// Bytes that the buffer of the partial line has room for.
    #[cfg(test)]
    pub(super) const fn capacity(&self) -> usize {
        self.partial.capacity()
    }

    /// More of the line that is open.
    fn extend(&mut self, piece: &[u8]) {
        self.offset += piece.len() as u64;
        if self.skipping.is_some() {
            return;
        }
        if self.partial.len() + piece.len() > self.max_line {
            self.start_skipping(piece);
        } else {
            self.partial.extend_from_slice(piece);
        }
    }

    fn start_skipping(&mut self, piece: &[u8]) {
        let length = self.partial.len() + piece.len();
        let head = self.partial.iter().chain(piece).take(HEAD);
        self.skipping = Some(Skipped {
            offset: self.offset - length as u64,
            length: 0,
            is_tail: false,
            head: head.copied().collect(),
        });
        self.partial = Vec::new();
    }

    /// Ends the line that is open with an LF, or with nothing at the end of input.
    fn end_line(&mut self, end: &[u8]) -> Cut {
        let length = self.offset - self.line_start();
        self.offset += end.len() as u64;
        match self.skipping.take() {
            Some(skipped) => Cut::Skipped(Skipped {
                length,
                is_tail: end.is_empty(),
                ..skipped
            }),
            None => {
                self.partial.extend_from_slice(end);
                Cut::Partial
            }
        }
    }
}

/// Where the first window of whole lines ends, or only its first line; none when no line does.
fn lines_end(bytes: &[u8], only_one: bool) -> Option<usize> {
    let end = if only_one {
        memchr(b'\n', bytes)?
    } else {
        match bytes.split_at_checked(WINDOW) {
            None => memrchr(b'\n', bytes)?,
            Some((window, rest)) => match memrchr(b'\n', window) {
                Some(end) => end,
                None => WINDOW + memchr(b'\n', rest)?,
            },
        }
    };
    Some(end + 1)
}
