//! `object = "{" [ member *( "," member ) ] "}"` and `array = "[" [ value *( "," value ) ] "]"`

use crate::error::{Expected, Stop};
use crate::grammar::{Index, byte, space, string_at};
use crate::text::Str;

/// What stands behind a value or an opening bracket.
pub(crate) enum Next {
    /// Another member or value, at this index.
    More(usize),
    /// Nothing: the index behind the closing bracket.
    End(usize),
}

/// Walks the members of the object at `at`, in whatever order they stand. `member` gets the key and
/// the index of the value, and returns the index behind the value.
#[inline(always)]
pub(crate) fn object<'a>(
    text: &'a str,
    at: usize,
    mut member: impl FnMut(&str, &'a str, usize) -> Index,
) -> Index {
    let mut next = first_member(text.as_bytes(), at)?;
    loop {
        let at = match next {
            Next::More(at) => at,
            Next::End(end) => return Ok(end),
        };
        let behind = any_member(text, at, &mut member)?;
        next = next_member(text.as_bytes(), behind)?;
    }
}

/// Walks the values of the array at `at`.
pub(crate) fn array<'a>(
    text: &'a str,
    at: usize,
    mut element: impl FnMut(&'a str, usize) -> Index,
) -> Index {
    let mut next = first(text.as_bytes(), at, b'[', b']')?;
    loop {
        let at = match next {
            Next::More(at) => at,
            Next::End(end) => return Ok(end),
        };
        let behind = element(text, at)?;
        next = self::next(text.as_bytes(), behind, b']')?;
    }
}

/// Reads the key at `at` and hands it to `member` with the index of its value; gives the index
/// behind the value.
#[inline(always)]
pub(crate) fn any_member<'a>(
    text: &'a str,
    at: usize,
    member: impl FnOnce(&str, &'a str, usize) -> Index,
) -> Index {
    let (value, name) = key_at(text, at)?;
    if name.has_escapes() {
        return member(&name.decode(), text, value);
    }
    member(name.raw(), text, value)
}

/// The key at `at`, and the index of its value.
#[inline(always)]
fn key_at(text: &str, at: usize) -> Result<(usize, Str<'_>), Stop> {
    let bytes = text.as_bytes();
    if byte(bytes, at) != b'"' {
        return Err(Stop::new(at.min(bytes.len()), Expected::Key));
    }
    let (behind, name) = string_at(text, at)?;
    Ok((colon(bytes, behind)?, name))
}

/// The index of what stands behind `spelling` (a key in quotes, with its colon; there may be whole
/// members before it), when it stands at `at` just like that.
#[inline(always)]
pub(crate) fn spelt(bytes: &[u8], at: usize, spelling: &str) -> Option<usize> {
    let rest = bytes.get(at..)?;
    rest.starts_with(spelling.as_bytes())
        .then(|| space(bytes, at + spelling.len()))
}

/// The first member of the object at `at`.
#[inline(always)]
pub(crate) fn first_member(bytes: &[u8], at: usize) -> Result<Next, Stop> {
    first(bytes, at, b'{', b'}')
}

/// What stands behind the value of a member.
#[inline(always)]
pub(crate) fn next_member(bytes: &[u8], at: usize) -> Result<Next, Stop> {
    if bytes.get(at..).and_then(|rest| rest.first_chunk()) == Some(b",\"") {
        return Ok(Next::More(at + 1));
    }
    next(bytes, at, b'}')
}

#[inline(always)]
fn first(bytes: &[u8], at: usize, open: u8, close: u8) -> Result<Next, Stop> {
    if byte(bytes, at) != open {
        return Err(Stop::new(at, Expected::Value));
    }
    let at = space(bytes, at + 1);
    Ok(if byte(bytes, at) == close {
        Next::End(at + 1)
    } else {
        Next::More(at)
    })
}

/// `ws "," ws` or the closing bracket.
#[inline(always)]
fn next(bytes: &[u8], at: usize, close: u8) -> Result<Next, Stop> {
    let at = space(bytes, at);
    match byte(bytes, at) {
        b',' => Ok(Next::More(space(bytes, at + 1))),
        found if found == close => Ok(Next::End(at + 1)),
        _ => Err(Stop::new(at, Expected::CommaOrEnd)),
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
