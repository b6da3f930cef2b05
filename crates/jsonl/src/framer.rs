//! Cutting of a stream of chunks into windows of whole lines.

mod buffer;
mod splitter;

use std::collections::VecDeque;

use bytes::Bytes;
use memchr::memchr_iter;

use crate::frame::{Frame, Oversize, Window};
use crate::framer::splitter::{Cut, Location, Splitter};
use crate::reader::LineReader;

/// Default limit of a line: 64 MiB. The longest line observed has 3.3 MB (PROTOCOL.md, Framing).
pub const DEFAULT_MAX_LINE: usize = 64 << 20;

/// Cuts a stream of chunks into windows of whole lines.
///
/// A chunk may end anywhere. Lines inside one large chunk are returned in place; a line that spans
/// chunks is copied once, into a buffer that is reused. A caller that reads into that buffer itself
/// ([`Framer::room`]) avoids the copy. No byte is searched twice, whatever the size of the chunks. Lines
/// end at LF only.
#[derive(Clone, Debug)]
pub struct Framer {
    /// Pushed input that is not consumed yet.
    input: VecDeque<Input>,
    /// Consumed bytes of the first chunk.
    taken: usize,
    splitter: Splitter,
    /// Location of the last frame.
    lent: Option<Location>,
    reader: LineReader,
}

#[derive(Clone, Debug)]
enum Input {
    Chunk(Bytes),
    SkipTo(u64),
    End,
}

impl Default for Framer {
    fn default() -> Self {
        Self::new(DEFAULT_MAX_LINE)
    }
}

impl Framer {
    /// Creates a framer that skips lines of more than `max_line` bytes.
    #[must_use]
    pub fn new(max_line: usize) -> Self {
        Self::at(max_line, 0, 1)
    }

    /// Creates a framer for a stream that is read again from `offset`, which must be the beginning of
    /// line number `line`.
    #[must_use]
    pub fn at(max_line: usize, offset: u64, line: u64) -> Self {
        Self {
            input: VecDeque::new(),
            taken: 0,
            splitter: Splitter::new(max_line, offset),
            lent: None,
            reader: LineReader::at(line),
        }
    }

    /// Appends the next chunk of the stream.
    pub fn push(&mut self, chunk: Bytes) {
        self.end_frame();
        if self.input.is_empty() && self.splitter.is_better_copied(&chunk) {
            return self.splitter.append(&chunk);
        }
        self.input.push_back(Input::Chunk(chunk));
    }

    /// Ends the stream. Bytes after the last LF become a frame of their own.
    pub fn finish(&mut self) {
        self.input.push_back(Input::End);
    }

    /// Continues at `offset`, after lost bytes. The open line ends here, like at the end of a stream;
    /// its remainder after the gap is a line of its own.
    pub fn skip_to(&mut self, offset: u64) {
        self.input.push_back(Input::SkipTo(offset));
    }

    /// Returns a buffer of at least `length` bytes for the next bytes of the stream, which
    /// [`filled`](Self::filled) commits. Returns none while pushed input waits for
    /// [`next_frame`](Self::next_frame).
    pub fn room(&mut self, length: usize) -> Option<&mut [u8]> {
        self.end_frame();
        self.input.is_empty().then(|| self.splitter.room(length))
    }

    /// Commits the first `length` bytes of the buffer returned by [`room`](Self::room).
    pub fn filled(&mut self, length: usize) {
        if self.input.is_empty() {
            self.splitter.filled(length);
        }
    }

    /// Returns the next frame, or none until more input is pushed. The previous frame counts as read.
    pub fn next_frame(&mut self) -> Option<Frame<'_>> {
        self.end_frame();
        let cut = loop {
            if let Some(cut) = self.splitter.take_buffered() {
                break cut;
            }
            match self.input.front()? {
                Input::Chunk(chunk) => {
                    let rest = chunk.get(self.taken..).unwrap_or_default();
                    let (taken, cut) = self.splitter.take(rest);
                    self.taken += taken;
                    if let Some(cut) = cut {
                        break cut;
                    }
                    self.input.pop_front();
                    self.taken = 0;
                }
                Input::SkipTo(_) | Input::End => {
                    let cut = self.splitter.end();
                    if let Some(Input::SkipTo(offset)) = self.input.pop_front() {
                        self.splitter.skip_to(offset);
                    }
                    if let Some(cut) = cut {
                        break cut;
                    }
                }
            }
        };
        self.lend(cut)
    }

    /// Returns the offset of the first byte that is in no frame yet: the place to resume from when the
    /// framer, and the partial line in it, are dropped.
    #[must_use]
    pub fn resume_offset(&self) -> u64 {
        self.splitter.line_start()
    }

    /// Frees the memory that no open line needs, for example when a session becomes idle.
    pub fn release(&mut self) {
        self.end_frame();
        self.splitter.release();
        self.input.shrink_to_fit();
    }

    fn lend(&mut self, Cut { offset, location }: Cut) -> Option<Frame<'_>> {
        let line = self.reader.line();
        self.lent = Some(location);
        let bytes = match location {
            Location::Skipped => {
                let skipped = self.splitter.skipped();
                return Some(Frame::Oversize(Oversize {
                    offset,
                    line,
                    length: skipped.length,
                    limit: self.splitter.max_line() as u64,
                    is_tail: skipped.is_tail,
                    head: &skipped.head,
                    reader: &mut self.reader,
                }));
            }
            Location::Buffer(length) => self.splitter.buffer().cut(length),
            Location::Chunk(length) => match self.input.front() {
                Some(Input::Chunk(chunk)) => chunk.get(self.taken - length..self.taken)?,
                _ => return None,
            },
        };
        Some(Frame::Lines(Window {
            offset,
            line,
            is_tail: bytes.last() != Some(&b'\n'),
            bytes,
            reader: &mut self.reader,
        }))
    }

    /// Counts the unread lines of the last frame and drops the frame.
    fn end_frame(&mut self) {
        let unread = match self.lent.take() {
            None => return,
            Some(Location::Skipped) => u64::from(self.reader.read() == 0),
            Some(Location::Buffer(length)) => {
                let unread = self.unread(self.splitter.buffer().cut(length));
                self.splitter.forget_cut();
                unread
            }
            Some(Location::Chunk(length)) => match self.input.front() {
                Some(Input::Chunk(chunk)) => {
                    let lines = chunk.get(self.taken - length..self.taken);
                    self.unread(lines.unwrap_or_default())
                }
                _ => 0,
            },
        };
        self.reader.end_frame(unread);
    }

    /// Number of unread lines among these.
    fn unread(&self, lines: &[u8]) -> u64 {
        let rest = lines.get(self.reader.read()..).unwrap_or_default();
        if rest.is_empty() {
            return 0;
        }
        let is_tail = rest.last().is_some_and(|&byte| byte != b'\n');
        memchr_iter(b'\n', rest).count() as u64 + u64::from(is_tail)
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
    fn chunk_boundaries_do_not_change_lines() {
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
    fn line_of_exactly_the_limit_is_kept() {
        let lines = frames(&mut Framer::new(4), &[b"abcd\nabcde\nab"]);
        let texts: Vec<_> = lines.iter().map(|(_, _, text)| text.as_str()).collect();
        assert_eq!(texts, ["abcd\n", "over 5", "ab"]);
    }

    #[test]
    fn largest_limit_keeps_every_line() {
        let lines = frames(&mut Framer::new(usize::MAX), &[b"abcd\nab", b"cd\nab"]);
        let texts: Vec<_> = lines.iter().map(|(_, _, text)| text.as_str()).collect();
        assert_eq!(texts, ["abcd\n", "abcd\n", "ab"]);
    }

    #[test]
    fn resume_offset_is_start_of_open_line() {
        let mut framer = Framer::new(8);
        let mut offsets = Vec::new();
        for chunk in ["abc\nde", "fghijklmn", "\n"] {
            framer.push(Bytes::from_static(chunk.as_bytes()));
            while framer.next_frame().is_some() {}
            offsets.push(framer.resume_offset());
        }
        assert_eq!(offsets, [4, 4, 16]);
    }

    #[test]
    fn memory_of_long_line_is_freed_after_short_lines() {
        let mut framer = Framer::default();
        let mut capacity = |lines: usize, length: usize| {
            for _ in 0..lines {
                framer.push(vec![b'x'; length].into());
                framer.push(Bytes::from_static(b"\n"));
                while framer.next_frame().is_some() {}
            }
            framer.splitter.buffer().capacity()
        };
        assert!(capacity(1, 1 << 20) > 1 << 20);
        assert!(capacity(60, 100) > 1 << 20);
        assert!(capacity(10, 100) < 1 << 15);
        assert!(capacity(1, 1 << 20) > 1 << 20);
        framer.release();
        assert_eq!(framer.splitter.buffer().capacity(), 0);
    }

    #[test]
    fn gap_ends_open_line() {
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
    fn large_chunks_and_whole_lines_are_not_copied() {
        let large = "{}\n".repeat(10_000) + "{";
        for chunk in [Bytes::from(large), Bytes::from_static(b"{}\n")] {
            let mut framer = Framer::default();
            framer.push(chunk.clone());
            let Some(Frame::Lines(window)) = framer.next_frame() else {
                panic!("no window")
            };
            assert_eq!(window.bytes.as_ptr(), chunk.as_ptr());
            assert_eq!(window.bytes.len(), chunk.len() / 3 * 3);
        }
    }

    #[test]
    fn room_requires_consumed_input() {
        let mut framer = Framer::default();
        let room = framer.room(6).expect("no pushed input");
        room[..6].copy_from_slice(b"one\ntw");
        framer.filled(6);
        framer.skip_to(6);
        assert!(framer.room(1).is_none());
        assert_eq!(frames(&mut framer, &[b"o\n"])[1], (4, 2, "tw".into()));
        assert!(framer.room(1).is_some());
        framer.filled(0);
        assert!(framer.next_frame().is_none());
    }
}
