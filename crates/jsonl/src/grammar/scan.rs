//! Finds the end of a string without looking at its bytes one by one.

use crate::error::Expected;

/// Where a string ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StringEnd {
    /// Index of the closing quote.
    pub(crate) quote: usize,
    /// Whether a backslash stands before it.
    pub(crate) escaped: bool,
}

/// Finds the closing quote of the string whose content begins at `from`.
///
/// # Errors
///
/// The index of the byte that breaks the grammar, and what was expected there.
#[inline]
pub(crate) fn string_end(bytes: &[u8], from: usize) -> Result<StringEnd, (usize, Expected)> {
    let mut at = from;
    let mut escaped = false;
    loop {
        at = special(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return Ok(StringEnd { quote: at, escaped }),
            Some(b'\\') => {
                escaped = true;
                at = escape_end(bytes, at)?;
            }
            None | Some(b'\n') => return Err((at, Expected::Quote)),
            Some(_) => return Err((at, Expected::EscapedControl)),
        }
    }
}

/// `escape = "\" ( %x22 / "\" / "/" / "b" / "f" / "n" / "r" / "t" / "u" 4HEXDIG )`
fn escape_end(bytes: &[u8], backslash: usize) -> Result<usize, (usize, Expected)> {
    let letter = backslash + 1;
    match bytes.get(letter) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(letter + 1),
        Some(b'u') => match (1..=4).find(|i| !is_hex(bytes.get(letter + i))) {
            None => Ok(letter + 5),
            Some(i) => Err((letter + i, Expected::HexDigits)),
        },
        _ => Err((letter, Expected::EscapeLetter)),
    }
}

fn is_hex(byte: Option<&u8>) -> bool {
    byte.is_some_and(u8::is_ascii_hexdigit)
}

/// Index of the first quote, backslash or control character at or behind `from`; the length of
/// `bytes` when there is none.
#[inline]
fn special(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    // Most strings of a stream are ids and short deltas: two words decide them.
    for _ in 0..2 {
        match word_at(bytes, at) {
            Some(0) => at += 8,
            Some(marks) => return at + first_mark(marks),
            None => return special_in_tail(bytes, at),
        }
    }
    at = skip_blocks(bytes, at);
    loop {
        match word_at(bytes, at) {
            Some(0) => at += 8,
            Some(marks) => return at + first_mark(marks),
            None => return special_in_tail(bytes, at),
        }
    }
}

/// Steps over whole blocks that hold nothing special. The inner loop has no early exit, so that
/// the compiler makes vector code of it on every target, without `unsafe`.
#[inline]
fn skip_blocks(bytes: &[u8], from: usize) -> usize {
    const BLOCK: usize = 32;
    let mut at = from;
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        if block
            .iter()
            .fold(false, |hit, &byte| hit | is_special(byte))
        {
            break;
        }
        at += BLOCK;
    }
    at
}

fn special_in_tail(bytes: &[u8], from: usize) -> usize {
    let tail = bytes.get(from..).unwrap_or_default();
    from + tail
        .iter()
        .position(|&byte| is_special(byte))
        .unwrap_or(tail.len())
}

#[inline]
const fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

const ONES: u64 = u64::from_le_bytes([1; 8]);
const HIGHS: u64 = ONES << 7;

/// The marks of the eight bytes at `at`: the lowest set bit belongs to the first special byte.
/// Bits above it may be false, which is why only the lowest is ever used.
#[inline]
fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    Some((zero_bytes(quote) | zero_bytes(backslash) | control) & HIGHS)
}

#[inline]
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word
}

#[inline]
const fn first_mark(marks: u64) -> usize {
    (marks.trailing_zeros() / 8) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same answer, byte by byte.
    fn naive(bytes: &[u8], from: usize) -> usize {
        (from..bytes.len())
            .find(|&i| is_special(bytes[i]))
            .unwrap_or(bytes.len())
    }

    #[test]
    fn finds_every_special_byte_at_every_place() {
        for length in 0..120 {
            for place in 0..length {
                for byte in [
                    b'"', b'\\', 0, 0x1f, b'\n', 0x20, 0x7f, 0x80, 0xff, b'!', b'#',
                ] {
                    let mut bytes = vec![b'a'; length];
                    bytes[place] = byte;
                    for from in [0, 1, place] {
                        assert_eq!(
                            special(&bytes, from),
                            naive(&bytes, from),
                            "{length} {place} {byte}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn says_where_an_escape_breaks() {
        for (text, at, expected) in [
            (r#"ab\x""#, 3, Expected::EscapeLetter),
            (r#"\u12g4""#, 4, Expected::HexDigits),
            (r"\u12", 4, Expected::HexDigits),
            ("a\tb\"", 1, Expected::EscapedControl),
            ("abc", 3, Expected::Quote),
            ("abc\\", 4, Expected::EscapeLetter),
            ("ab\n\"", 2, Expected::Quote),
        ] {
            assert_eq!(
                string_end(text.as_bytes(), 0),
                Err((at, expected)),
                "{text}"
            );
        }
    }
}
