//! Finds the end of a string without looking at its bytes one by one.

#[cfg(all(feature = "simd", target_arch = "x86_64"))]
mod simd;
#[cfg(any(test, not(all(feature = "simd", target_arch = "x86_64"))))]
mod swar;

#[cfg(all(feature = "simd", target_arch = "x86_64"))]
use simd::{near_special, special};
#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
use swar::{near_special, special};

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
#[inline(always)]
pub(crate) fn string_end(bytes: &[u8], from: usize) -> Result<StringEnd, (usize, Expected)> {
    // Keys, ids and most values are short and hold no escape: they cost no call.
    match near_special(bytes, from) {
        Some(at) if bytes.get(at) == Some(&b'"') => Ok(StringEnd {
            quote: at,
            escaped: false,
        }),
        _ => far_end(bytes, from),
    }
}

/// The end of a string that is long or holds an escape.
#[inline(never)]
fn far_end(bytes: &[u8], from: usize) -> Result<StringEnd, (usize, Expected)> {
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

/// The same byte by byte, for the last bytes of a window.
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

#[cfg(test)]
mod tests {
    use super::*;

    type Find = fn(&[u8], usize) -> usize;

    /// Every way to find a special byte, by name.
    fn ways() -> Vec<(&'static str, Find)> {
        let mut ways: Vec<(_, Find)> = vec![("chosen", special)];
        ways.push(("swar", swar::special));
        #[cfg(all(feature = "simd", target_arch = "x86_64"))]
        ways.push(("sse2", simd::special_without_avx2));
        ways
    }

    #[test]
    fn every_way_finds_every_special_byte_at_every_place() {
        for length in 0..160 {
            for place in 0..length {
                for byte in [
                    b'"', b'\\', 0, 0x1f, b'\n', 0x20, 0x7f, 0x80, 0xff, b'!', b'#',
                ] {
                    let mut bytes = vec![b'a'; length];
                    bytes[place] = byte;
                    for from in [0, 1, place] {
                        let right = special_in_tail(&bytes, from);
                        let near = [near_special(&bytes, from), swar::near_special(&bytes, from)];
                        assert!(
                            near.into_iter().flatten().all(|at| at == right),
                            "near {length} {place} {byte}"
                        );
                        for (way, special) in ways() {
                            assert_eq!(
                                special(&bytes, from),
                                right,
                                "{way} {length} {place} {byte}"
                            );
                        }
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
