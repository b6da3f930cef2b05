//! The input of every parser.

use std::iter::{Copied, Enumerate};
use std::slice::Iter;

use nom::error::{ErrorKind, ParseError};
use nom::{Compare, CompareResult, IResult, Input, Needed};

use crate::error::{Expected, SyntaxError};

/// What every parser of the grammar returns: the cursor after what it parsed, and a value.
pub(crate) type Parsed<'a, T = ()> = IResult<Cursor<'a>, T, SyntaxError>;

/// What a parser returns that is called out of line: the index after what it parsed, and a value.
///
/// It fits in registers, which [`Parsed`] does not, and the caller knows that the text is the same.
pub(crate) type ParsedAt<T = ()> = Result<(usize, T), nom::Err<SyntaxError>>;

/// Makes a [`Parsed`] a [`ParsedAt`].
#[inline(always)]
pub(crate) fn index<T>(parsed: Parsed<'_, T>) -> ParsedAt<T> {
    let (end, value) = parsed?;
    Ok((end.at(), value))
}

/// A position in the text of a window.
///
/// It is an index beside the whole text instead of the rest of the text, so that a step changes one
/// register, and no step has to prove that it ends at the boundary of a character.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// The beginning of `text`.
    #[inline(always)]
    pub(crate) const fn new(text: &'a str) -> Self {
        Self::at_index(text, 0)
    }

    #[inline(always)]
    pub(crate) const fn at_index(text: &'a str, at: usize) -> Self {
        Self { text, at }
    }

    #[inline(always)]
    pub(crate) const fn text(self) -> &'a str {
        self.text
    }

    /// Calls a parser out of line.
    #[inline(always)]
    pub(crate) fn call<T>(
        self,
        parser: impl FnOnce(&'a str, usize) -> ParsedAt<T>,
    ) -> Parsed<'a, T> {
        let (end, value) = parser(self.text, self.at)?;
        Ok((self.with(end), value))
    }

    /// Index of the next byte.
    #[inline(always)]
    pub(crate) const fn at(self) -> usize {
        self.at
    }

    /// The same text at another index, which must not exceed its length.
    #[inline(always)]
    pub(crate) const fn with(self, at: usize) -> Self {
        Self { at, ..self }
    }

    #[inline(always)]
    pub(crate) const fn advance(self, count: usize) -> Self {
        self.with(self.at + count)
    }

    /// The next byte; NUL at the end of the text, since NUL begins nothing in JSON.
    #[inline(always)]
    pub(crate) fn first(self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    #[inline(always)]
    pub(crate) fn rest(self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// The text from here to `end`; empty when either is inside a character.
    #[inline(always)]
    pub(crate) fn until(self, end: Self) -> &'a str {
        self.text.get(self.at..end.at).unwrap_or_default()
    }

    /// The error that `expected` is missing here.
    #[inline(always)]
    pub(crate) const fn error<T>(self, expected: Expected) -> Parsed<'a, T> {
        Err(nom::Err::Error(SyntaxError::new(self.at, expected)))
    }
}

impl<'a> Input for Cursor<'a> {
    type Item = u8;
    type Iter = Copied<Iter<'a, u8>>;
    type IterIndices = Enumerate<Self::Iter>;

    fn input_len(&self) -> usize {
        self.text.len() - self.at
    }

    #[inline(always)]
    fn take(&self, index: usize) -> Self {
        let text = self.text.get(..self.at + index);
        Self {
            text: text.unwrap_or(self.text),
            at: self.at,
        }
    }

    #[inline(always)]
    fn take_from(&self, index: usize) -> Self {
        self.advance(index)
    }

    #[inline(always)]
    fn take_split(&self, index: usize) -> (Self, Self) {
        (self.take_from(index), self.take(index))
    }

    #[inline(always)]
    fn position<P: Fn(u8) -> bool>(&self, predicate: P) -> Option<usize> {
        self.rest().iter().position(|&byte| predicate(byte))
    }

    #[inline(always)]
    fn iter_elements(&self) -> Self::Iter {
        self.rest().iter().copied()
    }

    #[inline(always)]
    fn iter_indices(&self) -> Self::IterIndices {
        self.iter_elements().enumerate()
    }

    fn slice_index(&self, count: usize) -> Result<usize, Needed> {
        let missing = count.saturating_sub(self.input_len());
        if missing == 0 {
            Ok(count)
        } else {
            Err(Needed::new(missing))
        }
    }
}

impl Compare<&str> for Cursor<'_> {
    #[inline(always)]
    fn compare(&self, literal: &str) -> CompareResult {
        if self.rest().starts_with(literal.as_bytes()) {
            CompareResult::Ok
        } else {
            CompareResult::Error
        }
    }

    fn compare_no_case(&self, literal: &str) -> CompareResult {
        let found = self.rest().get(..literal.len());
        if found.is_some_and(|found| found.eq_ignore_ascii_case(literal.as_bytes())) {
            CompareResult::Ok
        } else {
            CompareResult::Error
        }
    }
}

/// What a missing character or an unmet rule means for the error message.
impl<'a> ParseError<Cursor<'a>> for SyntaxError {
    fn from_error_kind(input: Cursor<'a>, kind: ErrorKind) -> Self {
        Self::new(
            input.at(),
            match kind {
                ErrorKind::Digit => Expected::Digit,
                ErrorKind::Eof => Expected::LineEnd,
                _ => Expected::Value,
            },
        )
    }

    fn from_char(input: Cursor<'a>, missing: char) -> Self {
        Self::new(
            input.at(),
            match missing {
                ':' => Expected::Colon,
                '}' | ']' => Expected::CommaOrEnd,
                'u' => Expected::EscapeLetter,
                '\n' => Expected::LineEnd,
                _ => Expected::Value,
            },
        )
    }

    fn append(_input: Cursor<'a>, _kind: ErrorKind, other: Self) -> Self {
        other
    }
}
