//! Splits the output of a terminal into lines of text.

mod row;
mod scanner;
mod sgr;

use std::fmt;

use self::row::Row;
pub(crate) use self::scanner::{Scanner, Token};

/// Default limit of a line, in characters: more than real lines have, and small enough that a thousand
/// hostile sessions fit into memory.
const MAX_LINE: usize = 64 << 10;

/// Splits the output of a terminal into lines of text with colours.
///
/// Colours and styles (SGR) are kept; other escape sequences and control characters except the tab are
/// removed. Edits within a line are applied: `\r`, backspace, erasing and horizontal moves, so that a
/// progress bar yields its final state. Vertical moves are ignored; the output of full-screen programs
/// has no meaningful lines. Invalid UTF-8 becomes U+FFFD. Every character counts as one column, also a
/// tab.
///
/// The result does not depend on how the bytes are split into chunks. Time is linear in the number of
/// bytes; memory is bounded by the longest line.
///
/// ```
/// use bowline_shell::LineBuffer;
///
/// let (mut buffer, mut lines) = (LineBuffer::default(), Vec::new());
/// buffer.push(b"\x1b[2J 10%\r 99%\r\n\x1b[32mdo", |line| lines.push(line.text));
/// buffer.push(b"ne\x1b[0m\n$ ", |line| lines.push(line.text));
/// assert_eq!(lines, [" 99%", "\x1b[32mdone\x1b[0m"]);
/// assert_eq!(buffer.partial(), "$ ");
/// ```
pub struct LineBuffer {
    scanner: Scanner,
    row: Row,
}

/// The limits of a [`LineBuffer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineLimits {
    /// Longest line, in characters; 65,536 by default. A longer one is truncated and reports by how
    /// much.
    pub max_line: usize,
    /// Columns of the terminal that the program sees. `\r` then moves to the start of the wrapped row;
    /// without a width, to the start of the line.
    pub columns: Option<u16>,
}

impl Default for LineLimits {
    fn default() -> Self {
        Self {
            max_line: MAX_LINE,
            columns: None,
        }
    }
}

/// A line without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// The text with SGR sequences. A truncated line ends in ` [N characters cut]`.
    pub text: String,
    /// Number of characters that were cut off.
    pub cut: u64,
}

impl Default for LineBuffer {
    fn default() -> Self {
        Self::new(LineLimits::default())
    }
}

impl LineBuffer {
    /// Creates an empty buffer.
    pub fn new(limits: LineLimits) -> Self {
        Self {
            scanner: Scanner::default(),
            row: Row::new(limits),
        }
    }

    /// Appends bytes and calls `lines` for each line that they complete.
    pub fn push(&mut self, bytes: &[u8], mut lines: impl FnMut(Line)) {
        let row = &mut self.row;
        self.scanner.push(bytes, |token| match token {
            Token::Control(b'\n') => lines(row.finish()),
            token => row.apply(token),
        });
    }

    /// Returns the unfinished line, if it has text; for the end of the stream or a gap in it. An
    /// incomplete escape sequence or character is dropped.
    pub fn finish(&mut self) -> Option<Line> {
        let row = &mut self.row;
        self.scanner.finish(|token| row.apply(token));
        (!row.is_empty()).then(|| row.finish())
    }

    /// Returns the unfinished line so far, such as a prompt.
    pub fn partial(&self) -> String {
        self.row.clone().finish().text
    }

    /// Sets the width of the terminal.
    pub fn set_columns(&mut self, columns: Option<u16>) {
        self.row.set_columns(columns);
    }
}

/// Shows no contents: they may hold secrets.
impl fmt::Debug for LineBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineBuffer").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
