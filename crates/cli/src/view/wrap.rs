//! Wraps a growing text between words. The last word is pending until its end is known.

use bowline_reducer::BlockId;

use crate::style::{ColorMode, Paint};
use crate::text::char_width;

/// Columns that a tab is assumed to take, the distance of a terminal's tab stops.
const TAB_WIDTH: usize = 8;

/// Where a growing text is printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockPosition {
    pub(crate) block: BlockId,
    pub(crate) depth: usize,
    pub(crate) is_thinking: bool,
    /// The block has begun earlier; if its line was ended meanwhile, the text continues on a new one.
    pub(crate) is_continued: bool,
}

/// A line that is being written.
#[derive(Debug)]
pub(super) struct WrappedLine {
    pub(super) position: BlockPosition,
    /// Text that fits and is not written yet.
    pub(super) ready: String,
    /// Columns in use, without the prefix.
    column: usize,
    /// White space before the word.
    space: String,
    word: String,
    /// Columns of the space and the word.
    pending: usize,
}

impl WrappedLine {
    pub(super) const fn new(position: BlockPosition, column: usize) -> Self {
        Self {
            position,
            ready: String::new(),
            column,
            space: String::new(),
            word: String::new(),
            pending: 0,
        }
    }

    /// Appends a character. Returns `false` if the word does not fit in `width` columns: the caller
    /// writes what is ready, ends the line, and calls [`WrappedLine::restart`].
    pub(super) fn push(&mut self, c: char, width: usize) -> bool {
        if c == ' ' || c == '\t' {
            self.end_word();
            self.space.push(c);
            self.pending += if c == '\t' { TAB_WIDTH } else { 1 };
            return true;
        }
        // East Asian text is wrapped between characters.
        if char_width(c) == 2 {
            self.end_word();
        }
        let is_full = self.column + self.pending + char_width(c) > width;
        let is_first = self.column == 0 && self.ready.is_empty();
        if is_full && is_first {
            // A word wider than the line is split at its end.
            self.end_word();
        }
        self.word.push(c);
        self.pending += char_width(c);
        !is_full
    }

    /// Starts the next line with the word that did not fit.
    pub(super) fn restart(&mut self) {
        self.column = 0;
        self.space.clear();
        self.pending = self.word.chars().map(char_width).sum();
    }

    /// Makes the pending word ready.
    pub(super) fn end_word(&mut self) {
        if !self.word.is_empty() {
            self.column += std::mem::take(&mut self.pending);
            self.ready.push_str(&std::mem::take(&mut self.space));
            self.ready.push_str(&std::mem::take(&mut self.word));
        }
    }

    /// Writes what is ready.
    pub(super) fn write(&mut self, colors: ColorMode, out: &mut String) {
        let paint = if self.position.is_thinking {
            Paint::Dim
        } else {
            Paint::Plain
        };
        colors.paint(out, paint, &std::mem::take(&mut self.ready));
    }
}
