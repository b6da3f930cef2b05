//! Strings as they stand in the input: validated, not yet decoded.

use std::borrow::Cow;
use std::fmt;

use memchr::memchr;

/// A JSON string, borrowed from its line and decoded only when somebody reads it.
///
/// Escapes were validated when the line was parsed, so decoding cannot fail. A lone surrogate
/// (`\ud83d`), which the real agent passes on, decodes to U+FFFD; [`Str::raw`] keeps what was
/// written.
//
// One slice and no flag: the slice begins with the opening quote exactly when the string holds an
// escape. The content itself can never begin with a bare quote, so the mark is unambiguous, and a
// string costs 16 bytes in an event.
#[derive(Clone, Copy, Default)]
pub struct Str<'a>(&'a str);

impl<'a> Str<'a> {
    /// A string without escapes; `content` is what stands between the quotes.
    pub(crate) const fn plain(content: &'a str) -> Self {
        Self(content)
    }

    /// A string with escapes; `quoted` is the content with its opening quote in front.
    pub(crate) const fn escaped(quoted: &'a str) -> Self {
        Self(quoted)
    }

    /// What stands between the quotes, escapes as they were written.
    #[must_use]
    pub fn raw(self) -> &'a str {
        self.0.strip_prefix('"').unwrap_or(self.0)
    }

    /// Whether decoding changes anything.
    #[must_use]
    pub fn has_escapes(self) -> bool {
        self.0.starts_with('"')
    }

    /// Whether the string is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The decoded text; borrowed when there is no escape.
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

    /// Appends the decoded text to `out` and joins a surrogate pair that was cut in two.
    ///
    /// An agent that streams a text in deltas may end one delta with `\ud83d` and begin the next
    /// with `\ude00`. `high` carries the first half from call to call: when it is set, the last
    /// character of `out` is the U+FFFD that stands for it, and it is replaced when the other half
    /// comes.
    pub fn decode_joining(self, out: &mut String, high: &mut Option<u16>) {
        if self.0.is_empty() {
            return;
        }
        let carried = high.take();
        if !self.has_escapes() {
            out.push_str(self.0);
            return;
        }
        Unescape {
            rest: self.raw(),
            high: carried,
            out,
        }
        .run(high);
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

/// Decodes the content of one string whose escapes are known to be valid.
struct Unescape<'a, 'o> {
    rest: &'a str,
    /// A high surrogate whose U+FFFD is the last character of `out`.
    high: Option<u16>,
    out: &'o mut String,
}

impl Unescape<'_, '_> {
    fn run(mut self, high: &mut Option<u16>) {
        self.out.reserve(self.rest.len());
        while let Some(backslash) = memchr(b'\\', self.rest.as_bytes()) {
            // A backslash is ASCII, so the text can be cut on both sides of it.
            let (before, after) = self.rest.split_at_checked(backslash).unwrap_or_default();
            self.plain(before);
            self.rest = after;
            self.escape();
        }
        self.plain(self.rest);
        *high = self.high;
    }

    #[inline]
    fn plain(&mut self, text: &str) {
        if !text.is_empty() {
            self.out.push_str(text);
            self.high = None;
        }
    }

    /// One escape, which begins the rest.
    #[inline]
    fn escape(&mut self) {
        let letter = self.rest.as_bytes().get(1).copied().unwrap_or(b'\\');
        if letter == b'u' {
            let unit = self
                .rest
                .get(2..6)
                .and_then(|hex| u16::from_str_radix(hex, 16).ok());
            self.rest = self.rest.get(6..).unwrap_or("");
            return self.unit(unit.unwrap_or(0xfffd));
        }
        self.rest = self.rest.get(2..).unwrap_or("");
        self.high = None;
        self.out.push(match letter {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            other => char::from(other),
        });
    }

    /// One UTF-16 code unit (RFC 8259, section 7).
    fn unit(&mut self, unit: u16) {
        if let (Some(high), 0xdc00..=0xdfff) = (self.high.take(), unit) {
            self.out.pop();
            let code = 0x10000 + ((u32::from(high) - 0xd800) << 10) + (u32::from(unit) - 0xdc00);
            self.out
                .push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            return;
        }
        self.high = (0xd800..=0xdbff).contains(&unit).then_some(unit);
        self.out
            .push(char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(raw: &str) -> String {
        Str::escaped(&format!("\"{raw}")).decode().into_owned()
    }

    #[test]
    fn decodes_every_escape() {
        assert_eq!(
            escaped(r#"a\"\\\/\b\f\n\r\t\u00e9z"#),
            "a\"\\/\u{8}\u{c}\n\r\té\u{7a}"
        );
    }

    #[test]
    fn pairs_make_one_character_and_lone_halves_a_replacement() {
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
    fn a_pair_cut_between_two_strings_is_joined() {
        let (mut out, mut high) = (String::new(), None);
        Str::escaped(r#""a\ud83d"#).decode_joining(&mut out, &mut high);
        assert_eq!(out, "a\u{fffd}");
        Str::plain("").decode_joining(&mut out, &mut high);
        Str::escaped(r#""\ude00b"#).decode_joining(&mut out, &mut high);
        assert_eq!((out.as_str(), high), ("a😀b", None));
    }

    #[test]
    fn plain_text_after_a_half_ends_the_wait() {
        let (mut out, mut high) = (String::new(), None);
        Str::escaped(r#""\ud83d"#).decode_joining(&mut out, &mut high);
        Str::plain("x").decode_joining(&mut out, &mut high);
        Str::escaped(r#""\ude00"#).decode_joining(&mut out, &mut high);
        assert_eq!(out, "\u{fffd}x\u{fffd}");
    }

    #[test]
    fn equality_is_of_the_decoded_text() {
        assert_eq!(Str::escaped(r#""\u0061"#), Str::plain("a"));
        assert_ne!(Str::escaped(r#""\u0061"#), Str::plain("b"));
        assert!(Str::escaped(r#""\u0061"#) == *"a");
    }
}
