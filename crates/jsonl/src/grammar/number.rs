//! `number = [ "-" ] int [ frac ] [ exp ]`

use crate::error::{Expected, Stop};
use crate::grammar::{Index, byte};

/// Longer numbers are tried as floats, because they may be out of range without an exponent.
const SURELY_FINITE: usize = 300;

/// Index behind the number that begins at `from`.
///
/// A number that no 64-bit float can hold is refused: the readers behind this parser could not
/// agree on what it means.
pub(crate) fn number_end(bytes: &[u8], from: usize) -> Index {
    let start = from + usize::from(byte(bytes, from) == b'-');
    let mut at = if byte(bytes, start) == b'0' {
        start + 1
    } else {
        digits(bytes, start)?
    };
    if byte(bytes, at) == b'.' {
        at = digits(bytes, at + 1)?;
    }
    let exponent = matches!(byte(bytes, at), b'e' | b'E');
    if exponent {
        let sign = usize::from(matches!(byte(bytes, at + 1), b'+' | b'-'));
        at = digits(bytes, at + 1 + sign)?;
    }
    if (exponent || at - from > SURELY_FINITE) && !is_finite(bytes.get(from..at)) {
        return Err(Stop::new(from, Expected::SmallerNumber));
    }
    Ok(at)
}

/// A non-negative integer of at most eighteen digits and the index behind it; none for every other
/// number, and for what is no number.
#[inline(always)]
pub(crate) fn integer_at(bytes: &[u8], from: usize) -> Option<(usize, u64)> {
    let mut value = 0;
    let mut at = from;
    while let digit @ b'0'..=b'9' = byte(bytes, at) {
        value = value * 10 + u64::from(digit - b'0');
        at += 1;
        if at - from > 18 {
            return None;
        }
    }
    let is_plain = match at - from {
        0 => false,
        1 => true,
        _ => byte(bytes, from) != b'0',
    };
    (is_plain && !matches!(byte(bytes, at), b'.' | b'e' | b'E')).then_some((at, value))
}

fn is_finite(number: Option<&[u8]>) -> bool {
    let text = number.and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.and_then(|text| text.parse().ok())
        .is_some_and(f64::is_finite)
}

/// `1*DIGIT`; the index behind the last digit.
#[inline(always)]
fn digits(bytes: &[u8], from: usize) -> Index {
    let mut at = from;
    while byte(bytes, at).is_ascii_digit() {
        at += 1;
    }
    if at == from {
        Err(Stop::new(from.min(bytes.len()), Expected::Digit))
    } else {
        Ok(at)
    }
}
