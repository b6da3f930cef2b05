//! Finds the end of a string without looking at its bytes one by one.

mod swar;

#[cfg(all(feature = "simd", target_arch = "x86_64"))]
pub(crate) use crate::simd::names::names_end;
#[cfg(all(feature = "simd", target_arch = "x86_64"))]
use crate::simd::scan::{near_quote, run};
#[cfg(all(feature = "simd", target_arch = "x86_64"))]
pub(crate) use crate::simd::scan::{near_string, quoted};
#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
use swar::near_quote;

use crate::error::{Expected, Stop};
#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
use crate::grammar::byte;

/// Where a string ends, and whether a backslash stands before that: one word, so that it travels in
/// a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StringEnd(usize);

impl StringEnd {
    #[inline(always)]
    pub(crate) const fn new(quote: usize, has_escapes: bool) -> Self {
        Self(quote << 1 | has_escapes as usize)
    }

    /// Index of the closing quote.
    #[inline(always)]
    pub(crate) const fn quote(self) -> usize {
        self.0 >> 1
    }

    #[inline(always)]
    pub(crate) const fn has_escapes(self) -> bool {
        self.0 & 1 == 1
    }
}

/// Finds the closing quote of the string whose content begins at `from`.
///
/// # Errors
///
/// The index of the byte that breaks the grammar, and what was expected there.
#[inline(always)]
pub(crate) fn string_end(bytes: &[u8], from: usize) -> Result<StringEnd, Stop> {
    // Keys, ids and most values are short and hold no escape: they cost no call.
    match near_quote(bytes, from) {
        Ok(quote) => Ok(StringEnd::new(quote, false)),
        Err(at) => far_end(bytes, at),
    }
}

/// The string whose opening quote stands at `open`, and the index of its closing quote, when that is
/// near and no escape stands before it; otherwise an index up to which nothing is special.
#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
#[inline(always)]
pub(crate) fn near_string(text: &str, open: usize) -> Result<(usize, &str), usize> {
    let quote = near_quote(text.as_bytes(), open + 1)?;
    let content = quoted(text, open, quote - open - 1).ok_or(quote)?;
    Ok((quote, content))
}

/// The `length` bytes between the quote at `open` and another one; none when there are no quotes.
#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
#[inline(always)]
pub(crate) fn quoted(text: &str, open: usize, length: usize) -> Option<&str> {
    let rest = text.get(open..)?.strip_prefix('"')?;
    (byte(rest.as_bytes(), length) == b'"').then(|| rest.get(..length))?
}

/// No blocks: an array of strings is read as any other.
#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
pub(crate) const fn names_end(_bytes: &[u8], _from: usize) -> Option<usize> {
    None
}

/// How far a reader of blocks has come.
pub(crate) enum Run {
    #[cfg_attr(
        not(all(feature = "simd", target_arch = "x86_64")),
        expect(dead_code, reason = "the safe scanner has no blocks")
    )]
    Ended(StringEnd),
    /// At the last block, or before a byte that breaks a rule: no end, but as far as it was read.
    Stopped(StringEnd),
}

/// No blocks: the string is read piece by piece from its beginning.
#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
const fn run(_bytes: &[u8], from: usize) -> Run {
    Run::Stopped(StringEnd::new(from, false))
}

/// The end of a string that is long or holds an escape; nothing is special before `from`.
#[inline(never)]
fn far_end(bytes: &[u8], from: usize) -> Result<StringEnd, Stop> {
    end_from(bytes, from)
}

/// The same in place.
#[inline(always)]
pub(crate) fn end_from(bytes: &[u8], from: usize) -> Result<StringEnd, Stop> {
    match run(bytes, from) {
        Run::Ended(end) => Ok(end),
        Run::Stopped(read) => piecewise_end(bytes, read),
    }
}

/// The end of a string that was read so far, from special byte to special byte.
#[inline(never)]
fn piecewise_end(bytes: &[u8], read: StringEnd) -> Result<StringEnd, Stop> {
    let (mut at, mut escaped) = (read.quote(), read.has_escapes());
    loop {
        at = swar::special(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return Ok(StringEnd::new(at, escaped)),
            Some(b'\\') => {
                escaped = true;
                at = escape_end(bytes, at)?;
            }
            None | Some(b'\n') => return Err(Stop::new(at, Expected::Quote)),
            Some(_) => return Err(Stop::new(at, Expected::EscapedControl)),
        }
    }
}

/// `escape = "\" ( %x22 / "\" / "/" / "b" / "f" / "n" / "r" / "t" / "u" 4HEXDIG )`
fn escape_end(bytes: &[u8], backslash: usize) -> Result<usize, Stop> {
    let letter = backslash + 1;
    match bytes.get(letter) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(letter + 1),
        Some(b'u') => match (1..=4).find(|i| !is_hex(bytes.get(letter + i))) {
            None => Ok(letter + 5),
            Some(i) => Err(Stop::new(letter + i, Expected::HexDigits)),
        },
        _ => Err(Stop::new(letter, Expected::EscapeLetter)),
    }
}

pub(crate) fn is_hex(byte: Option<&u8>) -> bool {
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

    /// The end of a string byte by byte.
    fn slow_end(bytes: &[u8], from: usize) -> Result<StringEnd, Stop> {
        let mut at = from;
        let mut escaped = false;
        loop {
            match bytes.get(at) {
                Some(b'"') => return Ok(StringEnd::new(at, escaped)),
                Some(b'\\') => (at, escaped) = (escape_end(bytes, at)?, true),
                None | Some(b'\n') => return Err(Stop::new(at, Expected::Quote)),
                Some(byte) if *byte < 0x20 => return Err(Stop::new(at, Expected::EscapedControl)),
                Some(_) => at += 1,
            }
        }
    }

    fn check(bytes: &[u8], from: usize) {
        let right = slow_end(bytes, from);
        let text = String::from_utf8_lossy(bytes);
        assert_eq!(string_end(bytes, from), right, "chosen, {from} in {text}");
        assert_eq!(
            piecewise_end(bytes, StringEnd::new(from, false)),
            right,
            "piecewise, {from} in {text}"
        );
        #[cfg(all(feature = "simd", target_arch = "x86_64"))]
        {
            let end = match crate::simd::scan::run_sse2(bytes, from) {
                Run::Ended(end) => Ok(end),
                Run::Stopped(read) => piecewise_end(bytes, read),
            };
            assert_eq!(end, right, "SSE2, {from} in {text}");
        }
        let special = (from..bytes.len()).find(|&at| is_special(bytes[at]));
        match near_quote(bytes, from) {
            Ok(quote) => assert_eq!(
                (Some(quote), bytes[quote]),
                (special, b'"'),
                "{from} in {text}"
            ),
            Err(at) => assert!(
                from <= at && special.is_none_or(|it| at <= it),
                "{from} in {text}"
            ),
        }
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
                        check(&bytes, from);
                    }
                }
            }
        }
    }

    /// Runs of backslashes of every length over every edge of a block, before every kind of byte.
    #[test]
    fn every_way_counts_backslashes_alike() {
        for run in 1..12 {
            for place in 40..80 {
                for behind in ["\"", "n", "u00e9", "u00g9", "x", "\u{1}", "\n", "é\""] {
                    let text = format!("{}{}{behind}tail\"", "a".repeat(place), "\\".repeat(run));
                    let padded = format!("{text}{}", " ".repeat(70));
                    check(text.as_bytes(), 0);
                    check(padded.as_bytes(), 0);
                    check(padded.as_bytes(), place);
                }
            }
        }
    }

    /// Strings of the bytes that matter, in every mixture (SplitMix64).
    #[test]
    fn every_way_reads_random_strings_alike() {
        let alphabet = b"\\\\\\\"\"nu0a \n\t";
        let mut state = 7_u64;
        for _ in 0..20_000 {
            let mut bytes = Vec::new();
            for _ in 0..150 {
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let pick = (mixed >> 33) as usize;
                let plain = pick % 7 < 5;
                bytes.push(if plain {
                    b'a'
                } else {
                    alphabet[pick / 7 % alphabet.len()]
                });
            }
            check(&bytes, 0);
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
                Err(Stop::new(at, expected)),
                "{text}"
            );
        }
    }
}
