//! `number = [ "-" ] int [ frac ] [ exp ]`

use nom::Parser as _;
use nom::branch::alt;
use nom::character::complete::{char, digit1, one_of};
use nom::combinator::{cut, opt, value};

use crate::error::Expected;
use crate::grammar::cursor::{Cursor, Parsed};
use crate::scan::{HIGHS, ONES};

/// Length up to which a number without an exponent is surely finite, in bytes.
const FINITE_LENGTH: usize = 300;

/// Skips a number.
///
/// A number that no 64-bit float can hold is refused, since readers of the parsed line could not
/// agree on its value.
pub(crate) fn number(input: Cursor<'_>) -> Parsed<'_> {
    let digits = || value((), digit1);
    let int = alt((value((), char('0')), digits()));
    let frac = (char('.'), cut(digits()));
    let exp = (one_of("eE"), opt(one_of("+-")), cut(digits()));
    let (end, (_, (), _, exponent)) = (opt(char('-')), int, opt(frac), opt(exp)).parse(input)?;
    let may_be_infinite = exponent.is_some() || end.at() - input.at() > FINITE_LENGTH;
    if may_be_infinite && !input.until(end).parse().is_ok_and(f64::is_finite) {
        return input.error(Expected::SmallerNumber);
    }
    Ok((end, ()))
}

/// A non-negative integer of at most eight digits; an error for every other number.
///
/// Its digits are counted and added up at once: a loop would end with a mispredicted branch.
#[inline(always)]
pub(crate) fn short_integer(input: Cursor<'_>) -> Parsed<'_, u64> {
    let word = input.rest().first_chunk().copied().unwrap_or_default();
    let (length, value) = leading_digits(u64::from_le_bytes(word));
    let end = input.advance(length);
    let is_integer = length > 0
        && !(length > 1 && input.first() == b'0')
        && !matches!(end.first(), b'0'..=b'9' | b'.' | b'e' | b'E');
    if is_integer {
        Ok((end, value))
    } else {
        input.error(Expected::Digit)
    }
}

/// Returns how many of eight bytes, the first one lowest, are digits before any other byte, and their value.
#[inline(always)]
const fn leading_digits(word: u64) -> (usize, u64) {
    let digits = word ^ (ONES * 0x30);
    // The high bit of each byte that is more than 9, up to the first one.
    let others = (digits.wrapping_add(ONES * 0x76) | digits) & HIGHS;
    let bits = others.trailing_zeros() & !7;
    // Zeros before the digits.
    let digits = digits.wrapping_shl(64 - bits);
    // Pairs of digits in every second byte, then the four pairs by their weights.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let odd = (pairs & PAIRS).wrapping_mul(1_000_000 << 32 | 100);
    let even = (pairs >> 16 & PAIRS).wrapping_mul(10_000 << 32 | 1);
    (bits as usize / 8, odd.wrapping_add(even) >> 32)
}

const PAIRS: u64 = 0xff << 32 | 0xff;

/// A number of at most fifteen digits with a fraction and no exponent; an error for every other number.
///
/// Floats hold such digits and their power of ten exactly, so that the quotient is the nearest one.
#[inline]
pub(crate) fn short_decimal(input: Cursor<'_>) -> Parsed<'_, f64> {
    const MAX_LENGTH: usize = 16;
    let mut digits = 0_u64;
    let mut divisor = 1_u64;
    let mut point = None;
    let mut end = input;
    loop {
        match end.first() {
            digit @ b'0'..=b'9' => {
                digits = digits * 10 + u64::from(digit - b'0');
                divisor = if point.is_some() {
                    divisor * 10
                } else {
                    divisor
                };
            }
            b'.' if point.is_none() => point = Some(end.at()),
            _ => break,
        }
        end = end.advance(1);
        if end.at() - input.at() > MAX_LENGTH {
            return input.error(Expected::SmallerNumber);
        }
    }
    let whole = point.map_or(0, |point| point - input.at());
    let is_decimal = match whole {
        0 => false,
        1 => true,
        _ => input.first() != b'0',
    };
    if !is_decimal || divisor == 1 || matches!(end.first(), b'.' | b'e' | b'E') {
        return input.error(Expected::Digit);
    }
    Ok((end, digits as f64 / divisor as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: [&str; 24] = [
        "0",
        "7",
        "10",
        "99",
        "123",
        "4096",
        "65535",
        "654321",
        "1234567",
        "9999999",
        "12345678",
        "00",
        "01",
        "0123",
        "0.5",
        "12.75",
        "0.163692",
        "123456789.012345",
        "1234567890.123456",
        "00.5",
        "1.",
        ".5",
        "1.5.2",
        "-1",
    ];

    #[test]
    fn short_numbers_are_equal_to_the_general_ones() {
        for digits in NUMBERS {
            for after in [
                "", ",", "}", "]", " ", "e3", "E-2", ".", ".25", "x", "\u{7f}", "é", "/", ":", "\n",
            ] {
                for tail in ["", "0123456789"] {
                    let text = [digits, after, tail].concat();
                    let input = Cursor::new(&text);
                    let general = number(input).ok().map(|(end, ())| end);
                    let value = general.map(|end| (end.at(), input.until(end)));
                    if let Ok((end, short)) = short_integer(input) {
                        assert_eq!(
                            value,
                            Some((end.at(), short.to_string().as_str())),
                            "{text}"
                        );
                    }
                    if let Ok((end, short)) = short_decimal(input) {
                        let parsed = value.and_then(|(end, text)| Some((end, text.parse().ok()?)));
                        assert_eq!(parsed, Some((end.at(), short)), "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn usual_numbers_are_short() {
        for (text, value) in [
            ("0,      ", 0),
            ("7654321}", 7_654_321),
            ("87654321", 87_654_321),
            ("42]     ", 42),
        ] {
            assert_eq!(
                short_integer(Cursor::new(text)).ok().map(|it| it.1),
                Some(value)
            );
        }
        for (text, value) in [
            ("0.163692,", 0.163_692),
            ("12.5", 12.5),
            ("123456789.012345}", 123_456_789.012_345),
        ] {
            assert_eq!(
                short_decimal(Cursor::new(text)).ok().map(|it| it.1),
                Some(value)
            );
        }
    }
}
