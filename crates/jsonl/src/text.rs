//! Strings of the input: validated, not decoded yet.

use std::borrow::Cow;
use std::fmt;

use crate::escape::Surrogates;
#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
use crate::escape::unescape;
#[cfg(all(feature = "simd", target_arch = "x86_64"))]
use crate::simd::unescape::unescape;

/// A JSON string, borrowed from its line and decoded on demand.
///
/// Escapes were validated when the line was parsed, so that decoding cannot fail. A lone surrogate
/// (`\ud83d`), which the agent passes on, decodes to U+FFFD; [`Str::raw`] has the original text.
//
// The slice begins with the opening quote exactly if the string has an escape. The content itself
// never begins with a bare quote, so that this is unambiguous, and a string takes 16 bytes.
#[derive(Clone, Copy, Default)]
pub struct Str<'a>(&'a str);

impl<'a> Str<'a> {
    /// A string without escapes; `content` is the text between the quotes.
    pub(crate) const fn plain(content: &'a str) -> Self {
        Self(content)
    }

    /// A string with escapes; `quoted` is the content after its opening quote, and that quote.
    pub(crate) const fn escaped(quoted: &'a str) -> Self {
        Self(quoted)
    }

    /// Returns the text between the quotes, with its escapes.
    #[must_use]
    #[inline]
    pub fn raw(self) -> &'a str {
        if self.has_escapes() {
            self.0.get(1..).unwrap_or_default()
        } else {
            self.0
        }
    }

    /// Returns whether the string has escapes.
    #[must_use]
    #[inline]
    pub fn has_escapes(self) -> bool {
        self.0.as_bytes().first() == Some(&b'"')
    }

    /// Returns whether the string is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Returns the decoded text, which is borrowed if there is no escape.
    #[must_use]
    pub fn decode(self) -> Cow<'a, str> {
        if !self.has_escapes() {
            return Cow::Borrowed(self.0);
        }
        let mut out = String::with_capacity(self.0.len());
        self.decode_into(&mut out);
        Cow::Owned(out)
    }

    /// Appends the decoded text to `out`.
    pub fn decode_into(self, out: &mut String) {
        self.decode_joining(out, &mut None);
    }

    /// Appends the decoded text to `out` and joins a surrogate pair that is split between strings.
    ///
    /// A text that is streamed in deltas may end one delta with `\ud83d` and begin the next with `\ude00`.
    /// `high` carries the high surrogate from call to call. While it is set, the last character of
    /// `out` is a U+FFFD, which the joined character replaces when the low surrogate follows.
    pub fn decode_joining(self, out: &mut String, high: &mut Option<u16>) {
        if self.0.is_empty() {
            return;
        }
        let carried = high.take();
        if !self.has_escapes() {
            out.push_str(self.0);
            return;
        }
        let mut surrogates = Surrogates::new(carried);
        unescape(self.raw(), out, &mut surrogates);
        *high = surrogates.high();
    }
}

impl fmt::Debug for Str<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.decode(), f)
    }
}

impl fmt::Display for Str<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.decode())
    }
}

impl PartialEq for Str<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
            || (self.has_escapes() || other.has_escapes()) && self.decode() == other.decode()
    }
}

impl Eq for Str<'_> {}

impl PartialEq<str> for Str<'_> {
    #[inline]
    fn eq(&self, other: &str) -> bool {
        if self.has_escapes() {
            self.decode() == other
        } else {
            self.0 == other
        }
    }
}

impl PartialEq<&str> for Str<'_> {
    fn eq(&self, other: &&str) -> bool {
        self == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::escape::unescape as unescape_safe;

    /// Decodes with every implementation and compares the results.
    fn escaped(raw: &str) -> String {
        let text = Str::escaped(&format!("\"{raw}")).decode().into_owned();
        let mut safe = String::new();
        unescape_safe(raw, &mut safe, &mut Surrogates::new(None));
        assert_eq!(text, safe, "{raw}");
        #[cfg(all(feature = "simd", target_arch = "x86_64"))]
        {
            use crate::simd::unescape::{unescape_narrow, unescape_sse2};
            for way in [unescape_narrow, unescape_sse2] {
                let mut other = String::new();
                way(raw, &mut other, &mut Surrogates::new(None));
                assert_eq!(other, safe, "{raw}");
            }
        }
        text
    }

    /// Escapes at every offset of a block and in a row, after plain text.
    #[test]
    fn escapes_are_decoded_at_every_offset() {
        for place in 0..140 {
            for tail in 0..40 {
                for escapes in [
                    r"\n",
                    r"\\\\",
                    r"\u00e9\u20ac",
                    r"\ud83d\ude00",
                    r"\ude00\t",
                ] {
                    let (before, after) = ("é".repeat(place / 2), "x".repeat(tail));
                    escaped(&format!(
                        "{before}{}{escapes}{after}",
                        "a".repeat(place % 2)
                    ));
                    escaped(&format!("{before}{escapes}{escapes}{after}{escapes}"));
                }
            }
        }
        let mut out = "before".to_owned();
        Str::escaped(r#""a\nb"#).decode_into(&mut out);
        assert_eq!(out, "beforea\nb");
    }

    /// Text and escapes in random order over several blocks (SplitMix64).
    #[test]
    fn random_strings_are_decoded_alike() {
        let plain = [
            "a",
            "é",
            "€😀",
            "some text of more than thirty-two bytes and ",
        ];
        let escapes = [
            r"\\", r"\\\\\\", r"\n", r#"\t\""#, r"\u0041", r"\ud83d", r"\ude00",
        ];
        let mut state = 11_u64;
        for length in 0..20_000 {
            let mut raw = String::new();
            for _ in 0..length % 60 {
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let pick = (mixed >> 33) as usize;
                let pieces = if pick % 3 < 2 {
                    &plain[..]
                } else {
                    &escapes[..]
                };
                raw += pieces[pick / 3 % pieces.len()];
            }
            escaped(&raw);
        }
    }

    #[test]
    fn every_escape_is_decoded() {
        assert_eq!(
            escaped(r#"a\"\\\/\b\f\n\r\t\u00e9z"#),
            "a\"\\/\u{8}\u{c}\n\r\té\u{7a}"
        );
    }

    #[test]
    fn lone_surrogates_become_replacement_character() {
        for (raw, text) in [
            (r"\ud83d\ude00", "😀"),
            (r"\ud83d", "\u{fffd}"),
            (r"\ude00", "\u{fffd}"),
            (r"\ud83d\ud83d\ude00", "\u{fffd}😀"),
            (r"\ud83dx\ude00", "\u{fffd}x\u{fffd}"),
            (r"\ud83d\n\ude00", "\u{fffd}\n\u{fffd}"),
        ] {
            assert_eq!(escaped(raw), text, "{raw}");
        }
    }

    #[test]
    fn split_surrogate_pair_is_joined() {
        let (mut out, mut high) = (String::new(), None);
        Str::escaped(r#""a\ud83d"#).decode_joining(&mut out, &mut high);
        assert_eq!(out, "a\u{fffd}");
        Str::plain("").decode_joining(&mut out, &mut high);
        Str::escaped(r#""\ude00b"#).decode_joining(&mut out, &mut high);
        assert_eq!((out.as_str(), high), ("a😀b", None));
    }

    #[test]
    fn plain_text_ends_pending_surrogate() {
        let (mut out, mut high) = (String::new(), None);
        Str::escaped(r#""\ud83d"#).decode_joining(&mut out, &mut high);
        Str::plain("x").decode_joining(&mut out, &mut high);
        Str::escaped(r#""\ude00"#).decode_joining(&mut out, &mut high);
        assert_eq!(out, "\u{fffd}x\u{fffd}");
    }

    #[test]
    fn equality_compares_decoded_text() {
        assert_eq!(Str::escaped(r#""\u0061"#), Str::plain("a"));
        assert_ne!(Str::escaped(r#""\u0061"#), Str::plain("b"));
        assert!(Str::escaped(r#""\u0061"#) == *"a");
    }
}
