//! `number = [ "-" ] int [ frac ] [ exp ]`

use crate::error::{Expected, Fault};
use crate::grammar::Parsed;

/// Longer numbers are tried as floats, because they may be out of range without an exponent.
const SURELY_FINITE: usize = 300;

/// One number, as it is written.
#[inline]
pub(crate) fn number(input: &str) -> Parsed<'_, &str> {
    match number_end(input.as_bytes(), 0) {
        Ok(end) => {
            let (text, rest) = input.split_at(end);
            Ok((rest, text))
        }
        Err((at, expected)) => Err(nom::Err::Error(Fault {
            left: input.len() - at,
            expected,
        })),
    }
}

/// Index behind the number that begins at `from`.
///
/// A number that no 64-bit float can hold is refused: the readers behind this parser could not
/// agree on what it means.
pub(crate) fn number_end(bytes: &[u8], from: usize) -> Result<usize, (usize, Expected)> {
    let start = from + usize::from(bytes.get(from) == Some(&b'-'));
    let mut at = match bytes.get(start) {
        Some(b'0') => start + 1,
        _ => digits(bytes, start)?,
    };
    if bytes.get(at) == Some(&b'.') {
        at = digits(bytes, at + 1)?;
    }
    let exponent = matches!(bytes.get(at), Some(b'e' | b'E'));
    if exponent {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        at = digits(bytes, at + 1 + sign)?;
    }
    if (exponent || at - from > SURELY_FINITE) && !is_finite(bytes.get(from..at)) {
        return Err((from, Expected::SmallerNumber));
    }
    Ok(at)
}

fn is_finite(number: Option<&[u8]>) -> bool {
    let text = number.and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.and_then(|text| text.parse().ok())
        .is_some_and(f64::is_finite)
}

/// `1*DIGIT`; the index behind the last digit.
#[inline]
fn digits(bytes: &[u8], from: usize) -> Result<usize, (usize, Expected)> {
    let mut at = from;
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    if at == from {
        Err((from.min(bytes.len()), Expected::Digit))
    } else {
        Ok(at)
    }
}
