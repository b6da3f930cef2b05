//! Borrowed texts of the arena.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};

use super::chunks::Span;
use super::{Arena, Text};

/// A borrowed text of a transcript.
///
/// It is usually contiguous; a text that streamed while others did has several pieces. See
/// [`Transcript`](crate::Transcript) for an example.
#[derive(Clone, Copy)]
pub struct TextRef<'a> {
    arena: &'a Arena,
    text: Text,
    /// Bytes skipped at the beginning.
    from: u32,
    /// Length of the whole text in bytes.
    end: u32,
}

impl<'a> TextRef<'a> {
    pub(crate) fn new(arena: &'a Arena, text: Text) -> Self {
        Self {
            arena,
            text,
            from: 0,
            end: arena.len(text),
        }
    }

    /// Returns the text from byte `from` on.
    pub(crate) fn starting_at(self, from: u32) -> Self {
        Self {
            from: from.min(self.end),
            ..self
        }
    }

    /// Returns the length in bytes.
    #[must_use]
    pub const fn len(self) -> usize {
        (self.end - self.from) as usize
    }

    /// Returns whether the text is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the pieces of the text in order. Each is split between characters.
    #[must_use]
    pub fn pieces(self) -> Pieces<'a> {
        Pieces {
            arena: self.arena,
            span: Some(self.text.head),
            next: self.arena.first_link(self.text),
            skip: self.from as usize,
        }
    }

    /// Returns the whole text, borrowed if it is contiguous.
    #[must_use]
    pub fn to_cow(self) -> Cow<'a, str> {
        let mut pieces = self.pieces();
        let first = pieces.next().unwrap_or_default();
        if first.len() == self.len() {
            return Cow::Borrowed(first);
        }
        let mut out = String::with_capacity(self.len());
        out.push_str(first);
        out.extend(pieces);
        Cow::Owned(out)
    }

    pub(crate) fn starts_with(self, prefix: &str) -> bool {
        self.common_prefix(prefix) == prefix.len()
    }

    /// Returns the length of the common prefix in bytes, rounded down to a character.
    pub(crate) fn common_prefix(self, other: &str) -> usize {
        let mut rest = other;
        let mut same = 0;
        for piece in self.pieces() {
            let equal = match rest.strip_prefix(piece) {
                Some(after) => {
                    rest = after;
                    piece.len()
                }
                None => {
                    let bytes = piece.bytes().zip(rest.bytes());
                    let equal = bytes.take_while(|(a, b)| a == b).count();
                    return same + piece.floor_char_boundary(equal);
                }
            };
            same += equal;
        }
        same
    }
}

impl PartialEq<str> for TextRef<'_> {
    fn eq(&self, other: &str) -> bool {
        self.len() == other.len() && self.common_prefix(other) == other.len()
    }
}

impl PartialEq<&str> for TextRef<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl fmt::Display for TextRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces().try_for_each(|piece| f.write_str(piece))
    }
}

impl fmt::Debug for TextRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_cow(), f)
    }
}

impl Serialize for TextRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Iterator over the pieces of a text; see [`TextRef::pieces`].
#[derive(Clone, Debug)]
pub struct Pieces<'a> {
    arena: &'a Arena,
    span: Option<Span>,
    next: u32,
    skip: usize,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            let piece = self.arena.chunks.slice(self.span.take()?);
            if let Some(link) = self.arena.links.get(self.next as usize) {
                (self.span, self.next) = (Some(link.span), link.next);
            }
            let skipped = self.skip.min(piece.len());
            self.skip -= skipped;
            let piece = piece.get(skipped..).unwrap_or_default();
            if !piece.is_empty() {
                return Some(piece);
            }
        }
    }
}
