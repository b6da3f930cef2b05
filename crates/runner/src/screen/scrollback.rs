//! The lines that have left the top of a screen.
//!
//! [`ScrollbackEngine`] is a screen model that keeps them: the built-in engine with few rows, from which
//! the oldest rows are taken before it would drop them. [`ScrollbackLines`] holds them as lines of text
//! with colours and links, each as long as it was written, so that they fit any width.

mod print;

use std::collections::VecDeque;

use bowline_transport::WindowSize;
use memchr::memchr;

use super::sequence::Csi;
use super::splitter::{OutputToken, SequenceSplitter};
use super::vterm::{ROWS, Vterm};
use super::{VtEngine, last_cluster};

pub(crate) use print::BareSnapshot;

/// Rows that the engine keeps before the oldest are taken.
const EXTRA_ROWS: usize = 1_000;

/// Maximal bytes that are fed at once.
const PIECE: usize = 1 << 10;

/// Maximal bytes of lines that are kept.
const MAX_BYTES: usize = 8 << 20;

/// Lines above a screen, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScrollbackLines {
    lines: VecDeque<Vec<u8>>,
    /// Whether the last line continues on the next row.
    is_open: bool,
    bytes: usize,
    /// Number of lines that were dropped from the front.
    dropped: u64,
    max_lines: usize,
}

impl ScrollbackLines {
    /// Creates an empty collection that keeps the newest lines, up to a number and to 8 MiB.
    pub(crate) fn new(max_lines: usize) -> Self {
        Self {
            max_lines,
            ..Self::default()
        }
    }

    /// Creates a collection of lines, and of whether the last one continues on the next row.
    pub(super) fn of((lines, is_open): (VecDeque<Vec<u8>>, bool)) -> Self {
        Self {
            bytes: lines.iter().map(Vec::len).sum(),
            lines,
            is_open,
            dropped: 0,
            max_lines: usize::MAX,
        }
    }

    /// Returns the lines: text with SGR sequences and links. Each begins and ends without either.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &[u8]> + ExactSizeIterator {
        self.lines.iter().map(Vec::as_slice)
    }

    /// Returns whether the last line continues on the next row.
    pub(crate) const fn is_open(&self) -> bool {
        self.is_open
    }

    /// Returns the number of lines that have begun, dropped ones included.
    pub(crate) fn begun(&self) -> u64 {
        self.dropped + self.lines.len() as u64
    }

    /// Removes all but the newest lines.
    pub(crate) fn keep_newest(&mut self, lines: usize) {
        while self.lines.len() > lines {
            self.drop_oldest();
        }
    }

    /// Removes the newest lines, all but one of which must be complete.
    pub(crate) fn drop_newest(&mut self, lines: usize) {
        for _ in 0..lines {
            let Some(line) = self.lines.pop_back() else {
                return;
            };
            self.bytes -= line.len();
            self.is_open = false;
        }
    }

    fn drop_oldest(&mut self) {
        if let Some(line) = self.lines.pop_front() {
            self.bytes -= line.len();
            self.dropped += 1;
            self.is_open &= !self.lines.is_empty();
        }
    }

    /// Forgets everything, as if nothing had been written.
    fn clear(&mut self) {
        *self = Self::new(self.max_lines);
    }

    /// Appends rows as the engine writes them.
    fn push_rows(&mut self, rows: &[u8]) {
        let mut splitter = SequenceSplitter::default();
        splitter.feed(rows, |token| match token {
            OutputToken::Text(text) => self.push_text(text),
            OutputToken::Sequence(_, bytes) | OutputToken::Aborted(bytes) => self.extend(bytes),
            OutputToken::Skipped => {}
        });
        while self.lines.len() > self.max_lines || self.bytes > MAX_BYTES {
            self.drop_oldest();
        }
    }

    /// Appends text. Rows end in CR and LF. A CR alone follows a character that only makes the terminal wrap,
    /// and is written again.
    fn push_text(&mut self, mut text: &[u8]) {
        while let Some(at) = memchr(b'\r', text) {
            let (before, rest) = text.split_at(at);
            self.extend(before);
            if let Some(rest) = rest.strip_prefix(b"\r\n") {
                self.end_line();
                text = rest;
            } else {
                self.remove_last_cluster();
                text = &rest[1..];
            }
        }
        self.extend(text);
    }

    fn open_line(&mut self) -> &mut Vec<u8> {
        if !self.is_open {
            self.is_open = true;
            self.lines.push_back(Vec::new());
        }
        let last = self.lines.len() - 1;
        &mut self.lines[last]
    }

    fn extend(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.open_line().extend(bytes);
            self.bytes += bytes.len();
        }
    }

    fn end_line(&mut self) {
        self.open_line();
        self.is_open = false;
    }

    fn remove_last_cluster(&mut self) {
        let line = self.open_line();
        let length = last_cluster(line);
        line.truncate(line.len() - length);
        self.bytes -= length;
    }
}

/// The built-in engine, with the lines that have left it.
#[derive(Debug)]
pub(super) struct ScrollbackEngine {
    vterm: Vterm,
    cols: usize,
    /// Upper bound of the rows that were added since rows were taken.
    added: usize,
    lines: ScrollbackLines,
}

impl ScrollbackEngine {
    pub(super) fn new(size: WindowSize) -> Self {
        Self {
            vterm: Vterm::with_rows(size, ROWS + EXTRA_ROWS),
            cols: usize::from(size.cols.max(1)),
            added: 0,
            lines: ScrollbackLines::new(usize::MAX),
        }
    }

    fn feed_text(&mut self, text: &[u8]) {
        for piece in text.chunks(PIECE) {
            let is_break = |byte: &&u8| matches!(**byte, b'\n' | 0x0b | 0x0c);
            let breaks = piece.iter().filter(is_break).count();
            self.make_room(breaks + piece.len() / self.cols + 1);
            self.vterm.feed(piece);
        }
    }

    fn feed_sequence(&mut self, sequence: &[u8]) {
        let csi = Csi::read(sequence);
        let rows = match &csi {
            // REP repeats a character, also over many rows.
            Some(csi) if csi.final_byte == b'b' => usize::from(csi.param(0, 1)) / self.cols + 1,
            _ => self.vterm.height(),
        };
        self.make_room(rows);
        self.vterm.feed(sequence);
        // ED 3, RIS.
        let clears = csi.is_some_and(|csi| {
            csi.command() == (0, b"", b'J') && csi.params().any(|kind| kind == Some(3))
        });
        if clears || sequence == b"\x1bc" {
            self.lines.clear();
        }
    }

    /// Takes rows if as many more might not fit.
    fn make_room(&mut self, rows: usize) {
        self.added += rows;
        if self.added > EXTRA_ROWS {
            self.take_rows(ROWS);
            self.added = rows;
        }
    }

    /// Takes all rows but the newest, which include those of the screen.
    fn take_rows(&mut self, keep: usize) {
        let rows = self.vterm.take_rows(keep);
        self.lines.push_rows(&rows);
        self.added = 0;
    }
}

impl VtEngine for ScrollbackEngine {
    fn feed(&mut self, bytes: &[u8]) {
        if bytes.first() == Some(&0x1b) {
            self.feed_sequence(bytes);
        } else {
            self.feed_text(bytes);
        }
    }

    fn resize(&mut self, size: WindowSize) {
        self.take_rows(ROWS);
        self.vterm.resize(size);
        self.cols = usize::from(size.cols.max(1));
        // Narrow rows are more.
        self.added = EXTRA_ROWS;
    }

    fn contents(&self) -> Vec<u8> {
        self.vterm.contents()
    }

    fn cursor(&self) -> (u16, u16) {
        self.vterm.cursor()
    }

    fn limit_scrollback(&mut self, max_lines: usize) {
        self.lines.max_lines = max_lines;
    }

    fn count_scrollback(&mut self) -> u64 {
        self.take_rows(ROWS);
        let mut above = ScrollbackLines::new(usize::MAX);
        above.is_open = self.lines.is_open;
        above.lines.extend(above.is_open.then(Vec::new));
        above.push_rows(&self.vterm.rows_above(0));
        let begun = above.begun() - u64::from(self.lines.is_open);
        self.lines.begun() + begun
    }

    fn take_scrollback(&mut self) -> (VecDeque<Vec<u8>>, bool) {
        self.take_rows(0);
        let rest = ScrollbackLines::new(self.lines.max_lines);
        let lines = std::mem::replace(&mut self.lines, rest);
        (lines.lines, lines.is_open)
    }
}
