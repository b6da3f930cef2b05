//! `number = [ "-" ] int [ frac ] [ exp ]`

use crate::error::{Expected, Fault};
use crate::grammar::Parsed;

/// Longer numbers are tried as floats, because they may be out of range without an exponent.
const SURELY_FINITE: usize = 300;

/// One number, as it is written.
///
/// A number that no 64-bit float can hold is refused: the readers behind this parser could not
/// agree on what it means.
pub(crate) fn number(input: &str) -> Parsed<'_, &str> {
    let bytes = input.as_bytes();
    let fault = |at: usize| {
        nom::Err::Error(Fault {
            left: bytes.len() - at,
            expected: Expected::Digit,
        })
    };
    let start = usize::from(bytes.first() == Some(&b'-'));
    let mut at = match bytes.get(start) {
        Some(b'0') => start + 1,
        _ => digits(bytes, start).map_err(fault)?,
    };
    if bytes.get(at) == Some(&b'.') {
        at = digits(bytes, at + 1).map_err(fault)?;
    }
    let exponent = matches!(bytes.get(at), Some(b'e' | b'E'));
    if exponent {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        at = digits(bytes, at + 1 + sign).map_err(fault)?;
    }
    let (text, rest) = input.split_at(at);
    if (exponent || at > SURELY_FINITE) && !text.parse::<f64>().is_ok_and(f64::is_finite) {
        return Err(Fault::at(input, Expected::SmallerNumber));
    }
    Ok((rest, text))
}

/// `1*DIGIT`; the index behind the last digit, or that of the byte that should have been one.
fn digits(bytes: &[u8], from: usize) -> Result<usize, usize> {
    let count = bytes
        .iter()
        .skip(from)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if count == 0 {
        Err(from.min(bytes.len()))
    } else {
        Ok(from + count)
    }
}
