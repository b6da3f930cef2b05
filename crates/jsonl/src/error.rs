//! Errors of single lines.

use std::fmt;

/// The reason why a line is not an event, and its place. The stream continues with the next line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    kind: ParseErrorKind,
    offset: u64,
    line: u64,
}

/// Why a line is not an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// The line is no object, and no object with a `type` follows other text on it: a banner, an escape
    /// sequence, an array, a bare value.
    NotAnObject,
    /// The line is an object that breaks the grammar of RFC 8259 (or a limit of this parser).
    Syntax(Expected),
    /// The line is not UTF-8.
    NotUtf8,
    /// The line is longer than the framer's limit; it was skipped to its LF.
    TooLong {
        /// Length of the line without its LF, in bytes.
        length: u64,
        /// The limit, in bytes.
        limit: u64,
    },
    /// The input ended inside the line.
    Truncated,
}

/// What the grammar expected at the place of a syntax error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expected {
    /// A value: object, array, string, number, `true`, `false` or `null`.
    Value,
    /// A key, or the end of the object.
    Key,
    /// The colon after a key.
    Colon,
    /// A comma, or the end of the object or array.
    CommaOrEnd,
    /// The closing quote of a string.
    Quote,
    /// An escape in place of a bare control character in a string.
    EscapedControl,
    /// One of the escape letters `"\/bfnrtu`.
    EscapeLetter,
    /// Four hexadecimal digits after `\u`.
    HexDigits,
    /// A digit of a number.
    Digit,
    /// A number that fits in a 64-bit float.
    SmallerNumber,
    /// Less nesting: a member that is kept as text nests at most 120 levels.
    LessNesting,
    /// The end of the line.
    LineEnd,
}

impl ParseError {
    pub(crate) const fn new(kind: ParseErrorKind, offset: u64, line: u64) -> Self {
        Self { kind, offset, line }
    }

    /// Why the line is not an event.
    #[must_use]
    pub const fn kind(&self) -> ParseErrorKind {
        self.kind
    }

    /// Offset in the stream of the byte that broke the grammar, in bytes from 0.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Number of the line in the stream, from 1.
    #[must_use]
    pub const fn line(&self) -> u64 {
        self.line
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at line {}, byte {}",
            self.kind, self.line, self.offset
        )
    }
}

impl std::error::Error for ParseError {}

impl fmt::Display for ParseErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnObject => f.write_str("expected a JSON object"),
            Self::Syntax(expected) => write!(f, "expected {expected}"),
            Self::NotUtf8 => f.write_str("expected UTF-8"),
            Self::TooLong { length, limit } => {
                write!(f, "expected a line of at most {limit} bytes, got {length}")
            }
            Self::Truncated => f.write_str("expected the rest of a line, got the end of input"),
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Value => "a value",
            Self::Key => "a key or `}`",
            Self::Colon => "`:`",
            Self::CommaOrEnd => "`,` or the end of the object or array",
            Self::Quote => "a closing quote",
            Self::EscapedControl => "an escape instead of a bare control character",
            Self::EscapeLetter => "one of \"\\/bfnrtu after a backslash",
            Self::HexDigits => "four hexadecimal digits",
            Self::Digit => "a digit",
            Self::SmallerNumber => "a number that fits in 64 bits",
            Self::LessNesting => "less nesting",
            Self::LineEnd => "the end of the line",
        })
    }
}

/// The error of the parsers of the grammar: the index of a byte, and what was expected there.
///
/// It is packed into one word, so that results of the grammar stay small. [`ParseError`] is made from
/// it at the end of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct SyntaxError(u64);

/// Every [`Expected`], by its number in a [`SyntaxError`].
const EXPECTED: [Expected; 12] = [
    Expected::Value,
    Expected::Key,
    Expected::Colon,
    Expected::CommaOrEnd,
    Expected::Quote,
    Expected::EscapedControl,
    Expected::EscapeLetter,
    Expected::HexDigits,
    Expected::Digit,
    Expected::SmallerNumber,
    Expected::LessNesting,
    Expected::LineEnd,
];

impl SyntaxError {
    /// `at` is the index of a byte in the input of the grammar.
    pub(crate) const fn new(at: usize, expected: Expected) -> Self {
        Self((at as u64) << 8 | expected as u64)
    }

    pub(crate) const fn at(self) -> usize {
        (self.0 >> 8) as usize
    }

    pub(crate) fn expected(self) -> Expected {
        let number = (self.0 & 0xff) as usize;
        EXPECTED.get(number).copied().unwrap_or(Expected::Value)
    }
}

impl fmt::Debug for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {} at {}", self.expected(), self.at())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_error_keeps_index_and_expectation() {
        for expected in EXPECTED {
            for at in [0, 1, 64 << 20] {
                let error = SyntaxError::new(at, expected);
                assert_eq!((error.at(), error.expected()), (at, expected));
            }
        }
    }
}
