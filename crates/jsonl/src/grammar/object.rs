//! `object = "{" [ member *( "," member ) ] "}"` and `array = "[" [ value *( "," value ) ] "]"`

use crate::error::{Expected, Stop};
use crate::grammar::{Index, byte, space, string_at};

/// Walks the members of the object at `at`, in whatever order they stand. `member` gets the key and
/// the index of the value, and returns the index behind the value.
#[inline(always)]
pub(crate) fn object<'a>(
    text: &'a str,
    at: usize,
    mut member: impl FnMut(&str, &'a str, usize) -> Index,
) -> Index {
    let bytes = text.as_bytes();
    let mut at = space(bytes, opened(bytes, at, b'{')?);
    if byte(bytes, at) == b'}' {
        return Ok(at + 1);
    }
    loop {
        if byte(bytes, at) != b'"' {
            return Err(Stop::new(at.min(bytes.len()), Expected::Key));
        }
        let (behind, name) = string_at(text, at)?;
        let value = colon(bytes, behind)?;
        let behind = if name.has_escapes() {
            member(&name.decode(), text, value)?
        } else {
            member(name.raw(), text, value)?
        };
        at = match next(bytes, behind, b'}')? {
            More::Yes(at) => at,
            More::No(end) => return Ok(end),
        };
    }
}

/// Walks the values of the array at `at`.
pub(crate) fn array<'a>(
    text: &'a str,
    at: usize,
    mut element: impl FnMut(&'a str, usize) -> Index,
) -> Index {
    let bytes = text.as_bytes();
    let mut at = space(bytes, opened(bytes, at, b'[')?);
    if byte(bytes, at) == b']' {
        return Ok(at + 1);
    }
    loop {
        let behind = element(text, at)?;
        at = match next(bytes, behind, b']')? {
            More::Yes(at) => at,
            More::No(end) => return Ok(end),
        };
    }
}

/// Index behind an opening bracket.
#[inline(always)]
fn opened(bytes: &[u8], at: usize, bracket: u8) -> Index {
    if byte(bytes, at) == bracket {
        Ok(at + 1)
    } else {
        Err(Stop::new(at, Expected::Value))
    }
}

/// `ws ":" ws`; the index of the value behind a key.
#[inline(always)]
pub(super) fn colon(bytes: &[u8], at: usize) -> Index {
    let at = space(bytes, at);
    if byte(bytes, at) != b':' {
        return Err(Stop::new(at, Expected::Colon));
    }
    Ok(space(bytes, at + 1))
}

enum More {
    /// Index of the next key or value.
    Yes(usize),
    /// Index behind the closing bracket.
    No(usize),
}

/// `ws "," ws` or the closing bracket.
#[inline(always)]
fn next(bytes: &[u8], at: usize, close: u8) -> Result<More, Stop> {
    let at = space(bytes, at);
    match byte(bytes, at) {
        b',' => Ok(More::Yes(space(bytes, at + 1))),
        found if found == close => Ok(More::No(at + 1)),
        _ => Err(Stop::new(at, Expected::CommaOrEnd)),
    }
}
