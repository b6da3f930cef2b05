//! Lays text out in lines: indentation, blank lines between sections, and at most one open line.

use bowline_reducer::BlockId;

use super::wrap::{BlockPosition, WrappedLine};
use crate::style::{ColorMode, Paint};
use crate::text::{text_width, truncate};

/// Prefix of each line of a sub-agent, repeated for each level.
const RAIL: &str = "│ ";

/// Prefix of each line of the model's thinking.
const THINKING: &str = "┊ ";

/// Prefix of the rest of a line that is wrapped.
const INDENT: &str = "  ";

/// Deeper levels are drawn at this one.
const MAX_DEPTH: usize = 16;

/// Width of the lines where no terminal sets one, in columns.
const DEFAULT_WIDTH: usize = 100;

/// The kind of a part of the output. A blank line separates parts of different kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Prompt,
    Text,
    Thinking,
    Tool,
    Note,
    Caption,
}

/// Append-only text with a layout.
#[derive(Debug)]
pub(crate) struct Layout {
    out: String,
    colors: ColorMode,
    width: usize,
    /// Growing texts are wrapped between words.
    wraps: bool,
    /// The line that a growing text is on.
    open: Option<WrappedLine>,
    /// Line ends of the open block that are written once more text follows.
    held_line_ends: usize,
    section: Option<Section>,
}

impl Layout {
    pub(crate) const fn new(colors: ColorMode) -> Self {
        Self {
            out: String::new(),
            colors,
            width: DEFAULT_WIDTH,
            wraps: false,
            open: None,
            held_line_ends: 0,
            section: None,
        }
    }

    /// Wraps and truncates lines at this many columns.
    pub(crate) const fn set_width(&mut self, columns: usize) {
        self.width = columns;
        self.wraps = true;
    }

    /// Returns the text since the last call.
    pub(crate) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// Whether the next text starts a line.
    pub(crate) const fn is_at_line_start(&self) -> bool {
        self.open.is_none()
    }

    /// The block whose text is on the open line.
    pub(crate) fn open_block(&self) -> Option<BlockId> {
        self.open.as_ref().map(|line| line.position.block)
    }

    /// Returns the number of columns of a line at this depth.
    pub(crate) fn width_at(&self, depth: usize) -> usize {
        let rails = 2 * depth.min(MAX_DEPTH);
        self.width.saturating_sub(rails).max(20)
    }

    /// Ends the open line.
    pub(crate) fn end_line(&mut self) {
        self.write_open_line();
        if self.open.take().is_some() {
            self.out.push('\n');
        }
        self.held_line_ends = 0;
    }

    /// Begins a section: prints a blank line if the previous one was of another kind.
    pub(crate) fn begin_section(&mut self, depth: usize, section: Section) {
        self.end_line();
        if depth > 0 {
            return;
        }
        let is_always_separate = !matches!(section, Section::Tool | Section::Note);
        if self
            .section
            .is_some_and(|last| last != section || is_always_separate)
        {
            self.out.push('\n');
        }
        self.section = Some(section);
    }

    /// Writes one line, from coloured parts; on a terminal, one that is too long is wrapped between words.
    pub(crate) fn line(&mut self, depth: usize, parts: &[(Paint, &str)]) {
        self.end_line();
        self.rails(depth);
        let width: usize = parts.iter().map(|(_, text)| text_width(text)).sum();
        if self.wraps && width > self.width_at(depth) {
            self.wrapped_line(depth, parts);
        } else {
            for (paint, text) in parts {
                self.colors.paint(&mut self.out, *paint, text);
            }
        }
        self.out.push('\n');
    }

    fn wrapped_line(&mut self, depth: usize, parts: &[(Paint, &str)]) {
        let (width, mut column) = (self.width_at(depth), 0);
        let words = parts
            .iter()
            .flat_map(|(paint, text)| text.split_inclusive(' ').map(|word| (*paint, word)));
        for (paint, word) in words {
            let next = column + text_width(word.trim_end());
            if next > width && column > INDENT.len() {
                self.out.push('\n');
                self.rails(depth);
                self.out.push_str(INDENT);
                column = INDENT.len();
            }
            self.colors.paint(&mut self.out, paint, word);
            column += text_width(word);
        }
    }

    /// Writes at most `count` lines of a text, truncated to the width, and the number of the others.
    pub(crate) fn excerpt(
        &mut self,
        depth: usize,
        prefix: &str,
        text: &str,
        count: usize,
        paint: Paint,
    ) {
        let text = text.trim_matches(['\n', '\r']);
        let width = self.width_at(depth).saturating_sub(2);
        let mut lines = text.lines();
        let shown = lines.by_ref().take(count);
        for line in shown.filter(|line| !line.trim().is_empty()) {
            self.line(depth, &[(paint, prefix), (paint, &truncate(line, width))]);
        }
        let more = lines.count();
        if more > 0 {
            let plural = if more == 1 { "" } else { "s" };
            self.line(
                depth,
                &[(Paint::Dim, &format!("{prefix}… {more} more line{plural}"))],
            );
        }
    }

    /// Appends to a growing text. Omits line ends at its start and end.
    pub(crate) fn append(&mut self, position: BlockPosition, text: &str) {
        if self.open_block().is_some_and(|open| open != position.block) {
            self.end_line();
        }
        for (number, part) in text.split('\n').enumerate() {
            if number > 0 {
                self.write_open_line();
                self.held_line_ends += 1;
            }
            if !part.is_empty() {
                self.begin_line(position);
                self.write_words(part);
            }
        }
        if let Some(line) = &mut self.open {
            line.write(self.colors, &mut self.out);
        }
    }

    /// Writes the held line ends and the prefix of the line.
    fn begin_line(&mut self, position: BlockPosition) {
        let held = std::mem::take(&mut self.held_line_ends);
        if self.open.is_none() {
            self.prefix(position);
            if position.is_continued {
                self.colors.paint(&mut self.out, Paint::Dim, "… ");
            }
            let column = 2 * usize::from(position.is_continued);
            self.open = Some(WrappedLine::new(position, column));
            return;
        }
        for _ in 0..held {
            self.out.push('\n');
            self.prefix(position);
            self.open = Some(WrappedLine::new(position, 0));
        }
    }

    /// Appends to the open line; on a terminal a word that does not fit starts a new line.
    fn write_words(&mut self, part: &str) {
        let Some(mut line) = self.open.take() else {
            return;
        };
        if !self.wraps {
            line.ready.push_str(part);
            self.open = Some(line);
            return;
        }
        let position = line.position;
        let width = self.width_at(position.depth) - 2 * usize::from(position.is_thinking);
        for c in part.chars() {
            if !line.push(c, width) {
                line.write(self.colors, &mut self.out);
                self.out.push('\n');
                self.prefix(position);
                line.restart();
            }
        }
        self.open = Some(line);
    }

    /// Writes what is pending on the open line.
    fn write_open_line(&mut self) {
        let Some(mut line) = self.open.take() else {
            return;
        };
        line.end_word();
        line.write(self.colors, &mut self.out);
        self.open = Some(line);
    }

    fn prefix(&mut self, position: BlockPosition) {
        self.rails(position.depth);
        if position.is_thinking {
            self.colors.paint(&mut self.out, Paint::Dim, THINKING);
        }
    }

    fn rails(&mut self, depth: usize) {
        let rails = RAIL.repeat(depth.min(MAX_DEPTH));
        self.colors.paint(&mut self.out, Paint::Dim, &rails);
    }
}
