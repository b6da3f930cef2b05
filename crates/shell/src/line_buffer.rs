//! Bytes of a terminal in, lines of text out.

mod pen;
mod row;
mod scanner;

use std::fmt;

use self::row::Row;
pub(crate) use self::scanner::{Scanner, Token};

/// Longest line that is handed over, in characters: more than a page of minified code, and few
/// enough that a thousand hostile sessions fit into memory.
const MAX_LINE: usize = 64 << 10;

/// Turns what a program writes to a terminal into lines of text with colours.
///
/// Colours and styles (SGR) stay where they are; every other escape sequence and control character
/// but the tab goes. What a program does to the line it is on is done: `\r`, backspace, erasing and
/// moving sideways, so a progress bar gives its last state. Moving to other lines is not done; for
/// full-screen programs there is no line to hand over. Invalid UTF-8 becomes U+FFFD. Every character
/// is one column, and a tab too.
///
/// How the bytes are cut into chunks makes no difference. Time is linear in their number and memory
/// is bounded by the longest line.
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

/// What a [`LineBuffer`] holds to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineLimits {
    /// Longest line in characters; 65,536 unless said otherwise. What is over it is cut, and the
    /// line says how much.
    pub max_line: usize,
    /// Columns of the terminal, if the program believes it to have so many: `\r` then goes to the
    /// start of the terminal's row and not of the whole line.
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

/// One line without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// The text, with SGR sequences. If it was cut, ` [N characters cut]` stands at its end.
    pub text: String,
    /// Characters that were cut off; 0 as a rule.
    pub cut: u64,
}

impl Default for LineBuffer {
    fn default() -> Self {
        Self::new(LineLimits::default())
    }
}

impl LineBuffer {
    /// An empty buffer.
    pub fn new(limits: LineLimits) -> Self {
        Self {
            scanner: Scanner::default(),
            row: Row::new(limits),
        }
    }

    /// Takes the next bytes and hands over every line that they finish.
    pub fn push(&mut self, bytes: &[u8], mut lines: impl FnMut(Line)) {
        let row = &mut self.row;
        self.scanner.push(bytes, |token| match token {
            Token::Control(b'\n') => lines(row.finish()),
            token => row.apply(token),
        });
    }

    /// The stream ends here, or bytes of it are missing from here on: the unfinished line, if it has
    /// any text. An escape sequence or character that was cut in two is given up.
    pub fn finish(&mut self) -> Option<Line> {
        let row = &mut self.row;
        self.scanner.finish(|token| row.apply(token));
        (!row.is_empty()).then(|| row.finish())
    }

    /// The unfinished line as it stands: a prompt, or a program that has not said all yet.
    pub fn partial(&self) -> String {
        self.row.clone().finish().text
    }

    /// The terminal has another width from now on.
    pub fn set_columns(&mut self, columns: Option<u16>) {
        self.row.set_columns(columns);
    }
}

/// Contents may be secrets.
impl fmt::Debug for LineBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineBuffer").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
