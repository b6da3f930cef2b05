//! Cuts a stream of chunks into windows of whole lines.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use memchr::{memchr, memchr_iter, memrchr};

use crate::items::Items;

/// Longest line that is parsed: 64 MiB. Real lines reach 3.3 MB (an edit of a large file travels
/// twice), and an image may be larger.
pub const DEFAULT_MAX_LINE: usize = 64 << 20;

/// A window holds at most so many bytes, unless one line is longer: few enough that every pass over
/// them finds them in the cache, many enough that each pass runs at its full speed.
const WINDOW: usize = 128 << 10;

/// How much of a line over the limit is kept to show what it was, in bytes.
const HEAD: usize = 256;

/// Cuts a stream of chunks into windows of whole lines.
///
/// A chunk may end anywhere. Lines that lie inside one chunk are handed out in place; a line that
/// spans chunks is copied once, into a buffer of its own. No byte is searched twice, whatever the
/// size of the chunks. Lines end at LF only.
#[derive(Debug)]
pub struct Framer {
    max_line: usize,
    ready: VecDeque<Ready>,
    /// The beginning of the line that the last chunk ended in.
    partial: BytesMut,
    skipping: Option<Skipped>,
    /// Offset of the next byte to be pushed.
    offset: u64,
    /// Number of the line that the next frame begins with, from 1.
    line: u64,
}

/// What was pushed and not handed out yet.
#[derive(Debug)]
enum Ready {
    /// Whole lines, from an offset on; they are cut into windows when they are asked for.
    Lines {
        bytes: Bytes,
        offset: u64,
    },
    /// A line that ends without an LF.
    Tail {
        bytes: Bytes,
        offset: u64,
    },
    Oversize(Oversize),
}

/// One cut of the stream.
#[derive(Clone, Debug)]
pub enum Frame {
    /// Whole lines.
    Lines(Window),
    /// A line over the limit; it was skipped to its LF.
    Oversize(Oversize),
}

/// Whole lines that lie together in memory.
#[derive(Clone, Debug)]
pub struct Window {
    /// The lines, each with its LF; only a tail has none.
    pub bytes: Bytes,
    /// Offset in the stream of the first byte.
    pub offset: u64,
    /// Number of the first line, from 1.
    pub line: u64,
    /// Whether the input ended without an LF behind this line.
    pub is_tail: bool,
}

/// A line over the limit.
#[derive(Clone, Debug)]
pub struct Oversize {
    /// Offset in the stream of its first byte.
    pub offset: u64,
    /// Number of the line, from 1.
    pub line: u64,
    /// Length without the LF, in bytes.
    pub length: u64,
    /// The limit, in bytes.
    pub limit: u64,
    /// Whether the input ended without an LF behind it.
    pub is_tail: bool,
    /// The first bytes of the line.
    pub head: Bytes,
}

#[derive(Debug)]
struct Skipped {
    offset: u64,
    head: Bytes,
}

impl Default for Framer {
    fn default() -> Self {
        Self::new(DEFAULT_MAX_LINE)
    }
}

impl Framer {
    /// A framer that skips lines of more than `max_line` bytes.
    #[must_use]
    pub fn new(max_line: usize) -> Self {
        Self {
            max_line,
            ready: VecDeque::new(),
            partial: BytesMut::new(),
            skipping: None,
            offset: 0,
            line: 1,
        }
    }

    /// A framer for a stream that is read again from `offset`, which must be the beginning of line
    /// number `line`.
    #[must_use]
    pub fn at(max_line: usize, offset: u64, line: u64) -> Self {
        Self {
            offset,
            line,
            ..Self::new(max_line)
        }
    }

    /// Takes the next chunk of the stream.
    pub fn push(&mut self, mut chunk: Bytes) {
        if !self.partial.is_empty() || self.skipping.is_some() {
            let Some(end) = memchr(b'\n', &chunk) else {
                return self.extend_partial(&chunk);
            };
            let head = chunk.split_to(end + 1);
            self.end_partial(&head);
        }
        let Some(end) = memrchr(b'\n', &chunk) else {
            return self.extend_partial(&chunk);
        };
        let tail = chunk.split_off(end + 1);
        self.whole_lines(chunk);
        self.extend_partial(&tail);
    }

    /// Ends the stream: what stands behind the last LF becomes a frame of its own.
    pub fn finish(&mut self) {
        if self.skipping.is_some() {
            self.end_partial(&[]);
        } else if !self.partial.is_empty() {
            let bytes = self.partial.split().freeze();
            let offset = self.offset - bytes.len() as u64;
            self.ready.push_back(Ready::Tail { bytes, offset });
        }
    }

    /// Goes on at `offset`, behind bytes that were lost. The line they were lost in ends here, as at
    /// the end of a stream; what is left of it behind the gap is a line of its own.
    pub fn skip_to(&mut self, offset: u64) {
        self.finish();
        self.offset = offset;
    }

    /// The next frame, until more is pushed.
    pub fn next_frame(&mut self) -> Option<Frame> {
        let line = self.line;
        match self.ready.pop_front()? {
            Ready::Lines { mut bytes, offset } => {
                let window = bytes.split_to(window_end(&bytes));
                if !bytes.is_empty() {
                    let offset = offset + window.len() as u64;
                    self.ready.push_front(Ready::Lines { bytes, offset });
                }
                self.line += memchr_iter(b'\n', &window).count() as u64;
                Some(Frame::Lines(Window {
                    bytes: window,
                    offset,
                    line,
                    is_tail: false,
                }))
            }
            Ready::Tail { bytes, offset } => {
                self.line += 1;
                Some(Frame::Lines(Window {
                    bytes,
                    offset,
                    line,
                    is_tail: true,
                }))
            }
            Ready::Oversize(over) => {
                self.line += 1;
                Some(Frame::Oversize(Oversize { line, ..over }))
            }
        }
    }

    /// Offset of the first byte that is in no frame yet: where a reader that forgets the partial
    /// line must read again.
    #[must_use]
    pub fn resume_offset(&self) -> u64 {
        match &self.skipping {
            Some(skipped) => skipped.offset,
            None => self.offset - self.partial.len() as u64,
        }
    }

    fn extend_partial(&mut self, piece: &[u8]) {
        self.offset += piece.len() as u64;
        if self.skipping.is_some() {
            return;
        }
        let length = self.partial.len() + piece.len();
        if length > self.max_line {
            self.start_skipping(piece);
        } else {
            self.partial.extend_from_slice(piece);
        }
    }

    fn start_skipping(&mut self, piece: &[u8]) {
        let start = self.offset - (self.partial.len() + piece.len()) as u64;
        let head = self
            .partial
            .iter()
            .chain(piece)
            .copied()
            .take(HEAD)
            .collect();
        self.partial = BytesMut::new();
        self.skipping = Some(Skipped {
            offset: start,
            head,
        });
    }

    /// Ends the partial line with `piece`, which holds its LF (or nothing, at the end of input).
    fn end_partial(&mut self, piece: &[u8]) {
        let text = piece.strip_suffix(b"\n").unwrap_or(piece);
        self.extend_partial(text);
        match self.skipping.take() {
            Some(skipped) => self.ready.push_back(Ready::Oversize(Oversize {
                offset: skipped.offset,
                line: 0,
                length: self.offset - skipped.offset,
                limit: self.max_line as u64,
                is_tail: text.len() == piece.len(),
                head: skipped.head,
            })),
            None => {
                self.partial.extend_from_slice(b"\n");
                let bytes = self.partial.split().freeze();
                self.offset += 1;
                return self.lines(bytes);
            }
        }
        self.offset += (piece.len() - text.len()) as u64;
    }

    /// Emits a chunk of whole lines, the lines over the limit apart.
    fn whole_lines(&mut self, mut chunk: Bytes) {
        // Nothing in a chunk of at most the limit can be over it, which is the usual case.
        while chunk.len() > self.max_line {
            let end = memchr(b'\n', &chunk).map_or(chunk.len(), |end| end + 1);
            let line = chunk.split_to(end);
            if line.len() > self.max_line + 1 {
                self.end_partial(&line);
            } else {
                self.offset += line.len() as u64;
                self.lines(line);
            }
        }
        if !chunk.is_empty() {
            self.offset += chunk.len() as u64;
            self.lines(chunk);
        }
    }

    /// Queues whole lines that end at the current offset.
    fn lines(&mut self, bytes: Bytes) {
        let offset = self.offset - bytes.len() as u64;
        self.ready.push_back(Ready::Lines { bytes, offset });
    }
}

/// Where the first window of whole lines ends.
fn window_end(lines: &[u8]) -> usize {
    let Some(head) = lines.get(..WINDOW) else {
        return lines.len();
    };
    let end = memrchr(b'\n', head).or_else(|| memchr(b'\n', lines));
    end.map_or(lines.len(), |end| end + 1)
}

impl Frame {
    /// The lines of the frame, parsed one by one as they are asked for.
    #[must_use]
    pub fn items(&self) -> Items<'_> {
        Items::new(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(framer: &mut Framer, chunks: &[&[u8]]) -> Vec<(u64, u64, String)> {
        for chunk in chunks {
            framer.push(Bytes::copy_from_slice(chunk));
        }
        framer.finish();
        let mut out = Vec::new();
        while let Some(frame) = framer.next_frame() {
            match frame {
                Frame::Lines(window) => {
                    let mut at = (window.offset, window.line);
                    for line in window.bytes.split_inclusive(|&byte| byte == b'\n') {
                        out.push((at.0, at.1, String::from_utf8_lossy(line).into_owned()));
                        at = (at.0 + line.len() as u64, at.1 + 1);
                    }
                }
                Frame::Oversize(over) => {
                    out.push((over.offset, over.line, format!("over {}", over.length)));
                }
            }
        }
        out
    }

    #[test]
    fn any_cut_gives_the_same_lines() {
        let text = b"one\n\ntwo and more\r\nfourteen bytes\nlast";
        let whole = frames(&mut Framer::new(13), &[text]);
        assert_eq!(whole[3], (19, 4, "over 14".into()));
        assert_eq!(whole[4], (34, 5, "last".into()));
        for first in 0..text.len() {
            for second in first..text.len() {
                let (a, rest) = text.split_at(first);
                let (b, c) = rest.split_at(second - first);
                let cut = frames(&mut Framer::new(13), &[a, b, c]);
                assert_eq!(cut, whole, "cut at {first} and {second}");
            }
        }
    }

    #[test]
    fn a_line_of_exactly_the_limit_is_kept() {
        let lines = frames(&mut Framer::new(4), &[b"abcd\nabcde\nab"]);
        let texts: Vec<_> = lines.iter().map(|(_, _, text)| text.as_str()).collect();
        assert_eq!(texts, ["abcd\n", "over 5", "ab"]);
    }

    #[test]
    fn resume_offset_is_the_beginning_of_the_open_line() {
        let mut framer = Framer::new(8);
        framer.push(Bytes::from_static(b"abc\nde"));
        assert_eq!(framer.resume_offset(), 4);
        framer.push(Bytes::from_static(b"fghijklmn"));
        assert_eq!(framer.resume_offset(), 4);
        framer.push(Bytes::from_static(b"\n"));
        assert_eq!(framer.resume_offset(), 16);
    }

    #[test]
    fn a_gap_ends_the_open_line() {
        let mut framer = Framer::default();
        framer.push(Bytes::from_static(b"ab\ncd"));
        framer.skip_to(100);
        assert_eq!(
            frames(&mut framer, &[b"ef\ngh\n"]),
            [
                (0, 1, "ab\n"),
                (3, 2, "cd"),
                (100, 3, "ef\n"),
                (103, 4, "gh\n")
            ]
            .map(|(offset, line, text)| (offset, line, text.to_owned()))
        );
    }

    #[test]
    fn a_chunk_is_handed_out_without_a_copy() {
        let chunk = Bytes::from_static(b"{}\n{}\n{");
        let mut framer = Framer::default();
        framer.push(chunk.clone());
        let Some(Frame::Lines(window)) = framer.next_frame() else {
            panic!("no window")
        };
        assert_eq!(window.bytes.as_ptr(), chunk.as_ptr());
        assert_eq!(&window.bytes[..], b"{}\n{}\n");
    }
}
