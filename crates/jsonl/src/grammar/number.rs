//! `number = [ "-" ] int [ frac ] [ exp ]`

use nom::Parser as _;
use nom::branch::alt;
use nom::character::complete::{char, digit1, one_of};
use nom::combinator::{cut, opt, value};

use crate::error::Expected;
use crate::grammar::cursor::{Cursor, Parsed};

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

/// A non-negative integer of at most eighteen digits; an error for every other number.
#[inline(always)]
pub(crate) fn short_integer(input: Cursor<'_>) -> Parsed<'_, u64> {
    const MAX_DIGITS: usize = 18;
    let mut value = 0;
    let mut end = input;
    while let digit @ b'0'..=b'9' = end.first() {
        value = value * 10 + u64::from(digit - b'0');
        end = end.advance(1);
        if end.at() - input.at() > MAX_DIGITS {
            return input.error(Expected::SmallerNumber);
        }
    }
    let is_integer = match end.at() - input.at() {
        0 => false,
        1 => true,
        _ => input.first() != b'0',
    };
    if !is_integer || matches!(end.first(), b'.' | b'e' | b'E') {
        return input.error(Expected::Digit);
    }
    Ok((end, value))
}
