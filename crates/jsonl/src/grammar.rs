//! The grammar of one line: RFC 8259, held to one line and to a bounded depth.
//!
//! Input is text that was checked to be UTF-8. A line is a nom parser: it takes what is left of the
//! window and gives back what is left behind it. Inside a line the walk counts indexes, and each
//! value is written where it belongs, so that a step costs registers and not memory.

mod number;
mod object;
mod read;
mod scan;
mod skip;
mod string;

use nom::IResult;

use crate::error::{Fault, Stop};

pub(crate) use object::{Next, any_member, array, first_member, next_member, object, spelt};
pub(crate) use read::{Read, Record, nothing, record, usual};
pub(crate) use scan::quoted;
#[cfg(all(feature = "simd", target_arch = "x86_64"))]
pub(crate) use scan::{Run, StringEnd, is_hex};
pub(crate) use skip::{LINE_DEPTH, raw_at, raw_within, skip};
pub(crate) use string::{string_at, uuid_at};

/// What a nom parser of this crate returns: the rest of the window and a value.
pub(crate) type Parsed<'a, T> = IResult<&'a str, T, Fault>;

/// Index behind what was read, or where and why the walk stopped.
pub(crate) type Index = Result<usize, Stop>;

/// The byte at an index; NUL behind the end, which begins nothing in JSON.
#[inline(always)]
pub(crate) fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// `ws = *( %x20 / %x09 / %x0D )`: LF is missing, because it ends the line. Gives the index behind.
#[inline(always)]
pub(crate) fn space(bytes: &[u8], at: usize) -> usize {
    if byte(bytes, at) > b' ' {
        return at;
    }
    much_space(bytes, at)
}

#[inline(never)]
fn much_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(byte(bytes, at), b' ' | b'\t' | b'\r') {
        at += 1;
    }
    at
}
