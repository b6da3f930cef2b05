//! The open row of a text that grows: whole words are written, the last one waits for its end.

use crate::view::clean::wide;
use crate::view::page::Place;
use crate::view::style::{Paint, Style};

/// Columns between the tab stops of a terminal.
const TAB: usize = 8;

/// One row in the making.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) place: Place,
    /// What fits and is to be written.
    pub(super) ready: String,
    /// Columns that are taken, without what stands in front.
    column: usize,
    /// White space in front of the word.
    space: String,
    word: String,
    /// Columns of space and word.
    waiting: usize,
}

impl Row {
    pub(super) const fn new(place: Place, column: usize) -> Self {
        Self {
            place,
            ready: String::new(),
            column,
            space: String::new(),
            word: String::new(),
            waiting: 0,
        }
    }

    /// Takes the next character. When it is `false` the word does not fit: what is ready is to be
    /// written, and another row to be begun.
    pub(super) fn take(&mut self, c: char, room: usize) -> bool {
        if c == ' ' || c == '\t' {
            self.settle();
            self.space.push(c);
            self.waiting += if c == '\t' { TAB } else { 1 };
            return true;
        }
        // Wide characters need no space between them to part.
        if wide(c) == 2 {
            self.settle();
        }
        let is_full = self.column + self.waiting + wide(c) > room;
        let is_first = self.column == 0 && self.ready.is_empty();
        if is_full && is_first {
            // A word wider than the page is parted where the page ends.
            self.settle();
        }
        self.word.push(c);
        self.waiting += wide(c);
        !is_full
    }

    /// Begins the row that follows, with the word that did not fit.
    pub(super) fn begin_again(&mut self) {
        self.column = 0;
        self.space.clear();
        self.waiting = self.word.chars().map(wide).sum();
    }

    /// The word is whole.
    pub(super) fn settle(&mut self) {
        if !self.word.is_empty() {
            self.column += std::mem::take(&mut self.waiting);
            self.ready.push_str(&std::mem::take(&mut self.space));
            self.ready.push_str(&std::mem::take(&mut self.word));
        }
    }

    /// Writes what is ready.
    pub(super) fn write(&mut self, style: Style, out: &mut String) {
        let paint = if self.place.is_thought {
            Paint::Dim
        } else {
            Paint::Plain
        };
        style.paint(out, paint, &std::mem::take(&mut self.ready));
    }
}
