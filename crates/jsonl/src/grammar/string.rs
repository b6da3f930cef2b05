//! `string = quotation-mark *char quotation-mark`

use nom::Parser as _;
use nom::branch::alt;
use nom::character::complete::{char, satisfy};
use nom::combinator::value;

use crate::error::Expected;
use crate::grammar::cursor::{Cursor, Parsed, ParsedAt, index};
use crate::scan::{BlockScan, special};
use crate::text::Str;

#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
pub(crate) use crate::scan::{
    compact_end, names_end, near_quote, near_string, quoted, scan_blocks,
};
#[cfg(all(feature = "simd", target_arch = "x86_64"))]
pub(crate) use crate::simd::{
    compact::compact_end,
    names::names_end,
    scan::{near_quote, near_string, quoted, scan_blocks},
};

/// A string, whose opening quote is the next byte.
#[inline(always)]
pub(crate) fn string(input: Cursor<'_>) -> Parsed<'_, Str<'_>> {
    match near_string(input.text(), input.at()) {
        Ok((quote, content)) => Ok((input.with(quote + 1), Str::plain(content))),
        Err(from) => input.call(|text, at| long_string(text, at, from)),
    }
}

/// Skips a string, whose opening quote is the next byte.
#[inline(always)]
pub(crate) fn skip_string(input: Cursor<'_>) -> Parsed<'_> {
    // Keys, ids and most values are short and hold no escape: they cost no call.
    match near_quote(input.text().as_bytes(), input.at() + 1) {
        Ok(quote) => Ok((input.with(quote + 1), ())),
        Err(from) => {
            let (quote, _) = input.with(from).call(long_chars)?;
            Ok((quote.advance(1), ()))
        }
    }
}

/// [`string`] for one that is long or has escapes; nothing is special before `from`.
#[inline(never)]
fn long_string(text: &str, at: usize, from: usize) -> ParsedAt<Str<'_>> {
    let input = Cursor::at_index(text, at);
    let (quote, has_escapes) = chars(input.with(from))?;
    let string = if has_escapes {
        // The mark of a string with escapes is its opening quote.
        Str::escaped(input.until(quote))
    } else {
        Str::plain(input.advance(1).until(quote))
    };
    Ok((quote.at() + 1, string))
}

#[inline(never)]
fn long_chars(text: &str, from: usize) -> ParsedAt<bool> {
    index(chars(Cursor::at_index(text, from)))
}

/// `*char` up to the closing quote; returns whether there are escapes.
///
/// Whole blocks are scanned at once where the machine can; the rules below decide about the rest.
#[inline(always)]
fn chars(input: Cursor<'_>) -> Parsed<'_, bool> {
    match scan_blocks(input.text().as_bytes(), input.at()) {
        BlockScan::Ended(end) => Ok((input.with(end.quote()), end.has_escapes())),
        BlockScan::Stopped(read) => input
            .with(read.quote())
            .call(|text, at| ruled_chars(text, at, read.has_escapes())),
    }
}

/// `*char`, rule by rule: `char = unescaped / escape`.
#[inline(never)]
fn ruled_chars(text: &str, at: usize, mut has_escapes: bool) -> ParsedAt<bool> {
    let mut input = Cursor::at_index(text, at);
    loop {
        input = input.with(special(input.text().as_bytes(), input.at()));
        match input.first() {
            b'"' => return Ok((input.at(), has_escapes)),
            b'\\' => (input, has_escapes) = (escaped(input.advance(1))?.0, true),
            b'\n' => return index(input.error(Expected::Quote)),
            0 if input.rest().is_empty() => return index(input.error(Expected::Quote)),
            _ => return index(input.error(Expected::EscapedControl)),
        }
    }
}

/// `escape = "\" ( %x22 / "\" / "/" / "b" / "f" / "n" / "r" / "t" / "u" 4HEXDIG )`, from the byte
/// after the backslash on.
#[inline(always)]
fn escaped(input: Cursor<'_>) -> Parsed<'_> {
    let letter = satisfy(|c| matches!(c, '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't'));
    let unicode = (char('u'), hex_digit, hex_digit, hex_digit, hex_digit);
    alt((value((), letter), value((), unicode))).parse(input)
}

#[inline(always)]
fn hex_digit(input: Cursor<'_>) -> Parsed<'_> {
    if input.first().is_ascii_hexdigit() {
        Ok((input.advance(1), ()))
    } else {
        input.error(Expected::HexDigits)
    }
}

/// Length of a UUID in bytes.
const UUID: usize = 36;

/// A string that is as long as a UUID and has no escapes; an error for every other string.
///
/// It is the fast path of [`string`] for ids: all of its bytes are compared at once.
#[inline(always)]
pub(crate) fn uuid(input: Cursor<'_>) -> Parsed<'_, Str<'_>> {
    let Some(content) = plain_uuid(input) else {
        return input.error(Expected::Quote);
    };
    Ok((input.advance(UUID + 2), Str::plain(content)))
}

#[inline(always)]
fn plain_uuid(input: Cursor<'_>) -> Option<&str> {
    let content = quoted(input.text(), input.at(), UUID)?;
    let (first, rest) = content.as_bytes().split_first_chunk::<16>()?;
    let (second, last) = (rest.first_chunk::<16>()?, rest.last_chunk::<16>()?);
    let mut special = [false; 16];
    for i in 0..16 {
        let least = first[i].min(second[i]).min(last[i]);
        let common = first[i] & second[i] & last[i];
        // A special byte is below `#` or, as a backslash, does not have this bit.
        special[i] = least.saturating_sub(b'"').min(common & 0x20) == 0;
    }
    (special == [false; 16]).then_some(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::SyntaxError;
    use crate::scan::{StringEnd, is_special};

    type End = Result<StringEnd, nom::Err<SyntaxError>>;

    fn end(parsed: Parsed<'_, bool>) -> End {
        parsed.map(|(quote, has_escapes)| StringEnd::new(quote.at(), has_escapes))
    }

    /// The end of a string byte by byte.
    fn reference_end(mut input: Cursor<'_>) -> End {
        let mut has_escapes = false;
        loop {
            match input.first() {
                b'"' => return Ok(StringEnd::new(input.at(), has_escapes)),
                b'\\' => (input, has_escapes) = (escaped(input.advance(1))?.0, true),
                b'\n' => return end(input.error(Expected::Quote)),
                0 if input.rest().is_empty() => return end(input.error(Expected::Quote)),
                byte if byte < 0x20 => return end(input.error(Expected::EscapedControl)),
                _ => input = input.advance(1),
            }
        }
    }

    /// Compares every implementation from `from` on. The text is made of whole characters.
    fn check(text: &str, from: usize) {
        let input = Cursor::new(text).with(from);
        let expected = reference_end(input);
        assert_eq!(end(chars(input)), expected, "blocks, {from} in {text}");
        assert_eq!(
            end(input.call(|text, at| ruled_chars(text, at, false))),
            expected,
            "rules, {from} in {text}"
        );
        #[cfg(all(feature = "simd", target_arch = "x86_64"))]
        {
            let sse2 = match crate::simd::scan::scan_blocks_sse2(text.as_bytes(), from) {
                BlockScan::Ended(end) => Ok(end),
                BlockScan::Stopped(read) => {
                    let input = input.with(read.quote());
                    end(input.call(|text, at| ruled_chars(text, at, read.has_escapes())))
                }
            };
            assert_eq!(sse2, expected, "SSE2, {from} in {text}");
        }
        let bytes = text.as_bytes();
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
    fn special_bytes_are_found_at_every_offset() {
        for length in 0..160 {
            for place in 0..length {
                for special in [
                    "\"", "\\", "\0", "\u{1f}", "\n", " ", "\u{7f}", "é", "\u{3fff}", "!", "#",
                ] {
                    let mut text = "a".repeat(length);
                    text.replace_range(place..=place, special);
                    for from in [0, 1, place] {
                        check(&text, from);
                    }
                }
            }
        }
    }

    #[test]
    fn backslash_runs_are_counted_over_block_edges() {
        for run in 1..12 {
            for place in 40..80 {
                for next in ["\"", "n", "u00e9", "u00g9", "x", "\u{1}", "\n", "é\""] {
                    let text = format!("{}{}{next}tail\"", "a".repeat(place), "\\".repeat(run));
                    let padded = format!("{text}{}", " ".repeat(70));
                    check(&text, 0);
                    check(&padded, 0);
                    check(&padded, place);
                }
            }
        }
    }

    #[test]
    fn random_strings_are_scanned_alike() {
        let alphabet = ["\\\\", "\\", "\"", "n", "u0", "a", " ", "\n", "\t", "é"];
        let mut state = 7_u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..150 {
                // SplitMix64.
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let pick = (mixed >> 33) as usize;
                let is_plain = pick % 7 < 5;
                text += if is_plain {
                    "a"
                } else {
                    alphabet[pick / 7 % alphabet.len()]
                };
            }
            check(&text, 0);
        }
    }

    #[test]
    fn broken_string_reports_offset_and_expectation() {
        for (text, at, expected) in [
            (r#"ab\x""#, 3, Expected::EscapeLetter),
            (r#"\u12g4""#, 4, Expected::HexDigits),
            (r"\u12", 4, Expected::HexDigits),
            ("a\tb\"", 1, Expected::EscapedControl),
            ("abc", 3, Expected::Quote),
            ("abc\\", 4, Expected::EscapeLetter),
            ("ab\n\"", 2, Expected::Quote),
        ] {
            let error = nom::Err::Error(SyntaxError::new(at, expected));
            assert_eq!(end(chars(Cursor::new(text))), Err(error), "{text}");
        }
    }

    const QUOTED_UUID: &str = r#""0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9","#;

    /// Whether the fast path takes the string; the general parser must agree then.
    fn is_uuid(text: &str) -> bool {
        let input = Cursor::new(text);
        let found = uuid(input).map(|(end, value)| (end.at(), value));
        let general = string(input).map(|(end, value)| (end.at(), value));
        assert!(found.is_err() || found == general, "{text}");
        found.is_ok()
    }

    #[test]
    fn uuid_fast_path_agrees_with_string() {
        assert!(is_uuid(QUOTED_UUID));
        for at in 0..QUOTED_UUID.len() - 1 {
            assert!(
                !is_uuid(QUOTED_UUID.get(..at).expect("ASCII")),
                "cut at {at}"
            );
            for byte in 0..128 {
                let mut bytes = QUOTED_UUID.as_bytes().to_vec();
                bytes[at] = byte;
                let text = String::from_utf8(bytes).expect("ASCII");
                let is_usual = byte.is_ascii_digit() || byte.is_ascii_lowercase() || byte == b'-';
                let is_inside = (1..QUOTED_UUID.len() - 2).contains(&at);
                assert!(is_uuid(&text) || !is_usual || !is_inside, "{text}");
            }
        }
    }
}
