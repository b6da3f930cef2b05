//! `object = "{" [ member *( "," member ) ] "}"` and `array = "[" [ value *( "," value ) ] "]"`

use nom::Parser as _;
use nom::sequence::{preceded, terminated};

use crate::error::{Expected, Fault};
use crate::grammar::{Parsed, space, string, token};
use crate::text::Str;

/// Walks the members of one object in whatever order they stand. `member` gets the key and the
/// input at its value, and returns the input behind the value.
#[inline]
pub(crate) fn object<'a>(
    input: &'a str,
    mut member: impl FnMut(&str, &'a str) -> Parsed<'a, ()>,
) -> Parsed<'a, ()> {
    let (mut rest, ()) = token('{', Expected::Value)(input)?;
    if let Some(rest) = rest.strip_prefix('}') {
        return Ok((rest, ()));
    }
    loop {
        let (value, name) = key(rest)?;
        let (behind, ()) = if name.has_escapes() {
            member(&name.decode(), value)
        } else {
            member(name.raw(), value)
        }?;
        rest = match next(space(behind), '}')? {
            (rest, More::Yes) => rest,
            (rest, More::No) => return Ok((rest, ())),
        };
    }
}

/// Walks the values of one array.
pub(crate) fn array<'a>(
    input: &'a str,
    mut element: impl FnMut(&'a str) -> Parsed<'a, ()>,
) -> Parsed<'a, ()> {
    let (mut rest, ()) = token('[', Expected::Value)(input)?;
    if let Some(rest) = rest.strip_prefix(']') {
        return Ok((rest, ()));
    }
    loop {
        let (behind, ()) = element(rest)?;
        rest = match next(space(behind), ']')? {
            (rest, More::Yes) => rest,
            (rest, More::No) => return Ok((rest, ())),
        };
    }
}

/// `string ws ":" ws`
#[inline(always)]
pub(crate) fn key(input: &str) -> Parsed<'_, Str<'_>> {
    if !input.starts_with('"') {
        return Err(Fault::at(input, Expected::Key));
    }
    let colon = preceded(blank, token(':', Expected::Colon));
    terminated(string, colon).parse(input)
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of a parser")]
#[inline(always)]
fn blank(input: &str) -> Parsed<'_, ()> {
    Ok((space(input), ()))
}

enum More {
    Yes,
    No,
}

/// `"," ws` or the closing bracket.
#[inline(always)]
fn next(input: &str, close: char) -> Parsed<'_, More> {
    if let Some(rest) = input.strip_prefix(',') {
        return Ok((space(rest), More::Yes));
    }
    match input.strip_prefix(close) {
        Some(rest) => Ok((rest, More::No)),
        None => Err(Fault::at(input, Expected::CommaOrEnd)),
    }
}
