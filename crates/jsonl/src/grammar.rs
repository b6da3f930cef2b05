//! The grammar of one line: RFC 8259, held to one line and to a bounded depth.
//!
//! Input is text that was checked to be UTF-8; a parser takes what is left of the window and gives
//! back what is left behind it (nom's shape). Leaves are scanners written by hand, because that is
//! where the bytes are; everything above them is small functions over `nom::IResult`.

mod number;
mod object;
mod read;
mod scan;
mod skip;
mod string;

use nom::IResult;

use crate::error::{Expected, Fault};

pub(crate) use object::{array, object};
pub(crate) use read::{Read, Record, read_into, record};
pub(crate) use skip::{raw, skip};
pub(crate) use string::string;

/// What every parser of the grammar returns: the rest of the window and a value.
pub(crate) type Parsed<'a, T> = IResult<&'a str, T, Fault>;

/// `ws = *( %x20 / %x09 / %x0D )`: LF is missing, because it ends the line.
#[inline(always)]
pub(crate) fn space(input: &str) -> &str {
    match input.as_bytes().first() {
        Some(b' ' | b'\t' | b'\r') => input.trim_start_matches([' ', '\t', '\r']),
        _ => input,
    }
}

/// One structural character, with the space behind it.
#[inline]
pub(crate) fn token<'a>(wanted: char, expected: Expected) -> impl FnMut(&'a str) -> Parsed<'a, ()> {
    move |input| match input.strip_prefix(wanted) {
        Some(rest) => Ok((space(rest), ())),
        None => Err(Fault::at(input, expected)),
    }
}
