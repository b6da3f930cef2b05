//! JSON values that are kept as text.

use std::fmt;

use memchr::memmem;

use crate::grammar::{Cursor, Field, Parsed, ParsedAt, array, member, object, skip, string};
use crate::text::Str;

/// One validated JSON value, borrowed from its line and parsed on demand.
///
/// Tool inputs, structured results and members that this crate does not name are kept like this.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RawJson<'a>(&'a str);

/// The kind of a [`RawJson`] value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonKind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl<'a> RawJson<'a> {
    /// Wraps text that the grammar has accepted as one value.
    pub(crate) const fn validated(text: &'a str) -> Self {
        Self(text)
    }

    /// Parses text that is one JSON value in whitespace; none for any other text.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim_matches([' ', '\t', '\r', '\n']);
        let (end, value) = raw_value(Cursor::new(text)).ok()?;
        (end.at() == text.len()).then_some(value)
    }

    /// Returns the text of the value.
    #[must_use]
    pub const fn text(self) -> &'a str {
        self.0
    }

    /// The value as a `T`; its default members where the value has others.
    pub(crate) fn parse_as<T: Field<'a> + Default>(self) -> T {
        let mut value = T::default();
        // The text is valid, so that this cannot fail.
        let _ = value.parse(Cursor::new(self.0));
        value
    }

    /// The elements of an array, each as a `T`.
    pub(crate) fn list_of<T: Field<'a> + Default>(self) -> impl Iterator<Item = T> {
        self.elements().map(RawJson::parse_as)
    }

    /// Skips a member that is probably a copy of this value.
    pub(crate) fn skip_copy(self, input: Cursor<'a>) -> Parsed<'a> {
        let is_copy =
            self.kind() == JsonKind::Object && input.rest().starts_with(self.0.as_bytes());
        if is_copy {
            return Ok((input.advance(self.0.len()), ()));
        }
        skip(input)
    }

    /// Returns the kind of the value.
    #[must_use]
    pub fn kind(self) -> JsonKind {
        match self.0.as_bytes().first() {
            Some(b'{') => JsonKind::Object,
            Some(b'[') => JsonKind::Array,
            Some(b'"') => JsonKind::String,
            Some(b't' | b'f') => JsonKind::Bool,
            Some(b'n') => JsonKind::Null,
            _ => JsonKind::Number,
        }
    }

    /// Returns whether the value is `null`.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.kind() == JsonKind::Null
    }

    /// Returns the value if it is a string.
    #[must_use]
    pub fn as_str(self) -> Option<Str<'a>> {
        let value = (self.kind() == JsonKind::String).then(|| string(Cursor::new(self.0)));
        value?.ok().map(|(_, value)| value)
    }

    /// Returns the value if it is a bool.
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        match self.0 {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// Returns the value if it is an unsigned integer.
    #[must_use]
    pub fn as_u64(self) -> Option<u64> {
        self.0.parse().ok()
    }

    /// Returns the value if it is a number.
    #[must_use]
    pub fn as_f64(self) -> Option<f64> {
        if self.kind() == JsonKind::Number {
            self.0.parse().ok()
        } else {
            None
        }
    }

    /// Returns the member `key` of an object; the last one when the key is repeated.
    #[must_use]
    pub fn get(self, key: &str) -> Option<Self> {
        self.members()
            .filter(|(name, _)| *name == *key)
            .last()
            .map(|(_, value)| value)
    }

    /// Returns the members of an object in order; nothing for any other kind.
    #[must_use]
    pub fn members(self) -> Members<'a> {
        let mut members = Vec::new();
        // The text is valid, so that this fails only at once, for a value of another kind.
        let _ = object(Cursor::new(self.0), |key, input| {
            let (end, value) = raw_part(input)?;
            members.push((key, value));
            Ok((end, ()))
        });
        Members(members.into_iter())
    }

    /// Returns the values of an array in order; nothing for any other kind.
    #[must_use]
    pub fn elements(self) -> Elements<'a> {
        let mut elements = Vec::new();
        let _ = array(Cursor::new(self.0), |input| {
            let (end, value) = raw_part(input)?;
            elements.push(value);
            Ok((end, ()))
        });
        Elements(elements.into_iter())
    }

    /// Appends the value to `out` with every lone surrogate escape replaced by `\ufffd`, which every JSON
    /// parser accepts.
    pub fn write_lossy(self, out: &mut String) {
        let mut rest = self.0;
        // Nearly every value has no `\u` escape and is copied as a whole.
        while let Some(escape) = memmem::find(rest.as_bytes(), b"\\u") {
            // The backslash may itself be escaped: count the run that ends with it.
            let run = rest
                .bytes()
                .take(escape + 1)
                .rev()
                .take_while(|&byte| byte == b'\\')
                .count();
            let (before, after) = rest.split_at_checked(escape + 1).unwrap_or((rest, ""));
            let is_escaped = run % 2 == 0;
            if is_escaped {
                out.push_str(before);
                rest = after;
                continue;
            }
            out.push_str(before.strip_suffix('\\').unwrap_or(before));
            rest = escape_lossy(after, out);
        }
        out.push_str(rest);
    }
}

/// Copies one escape, from the byte after its backslash on, and returns the text after it.
fn escape_lossy<'a>(after: &'a str, out: &mut String) -> &'a str {
    let unit = |text: &str| -> Option<u16> {
        text.strip_prefix('u')
            .and_then(|hex| u16::from_str_radix(hex.get(..4)?, 16).ok())
    };
    let copied = match unit(after) {
        None => 1,
        Some(0xd800..=0xdbff) => {
            let low = after
                .get(5..)
                .and_then(|rest| unit(rest.strip_prefix('\\')?));
            if matches!(low, Some(0xdc00..=0xdfff)) {
                11
            } else {
                0
            }
        }
        Some(0xdc00..=0xdfff) => 0,
        Some(_) => 5,
    };
    out.push('\\');
    if copied == 0 {
        out.push_str("ufffd");
        return after.get(5..).unwrap_or_default();
    }
    let (kept, rest) = after.split_at_checked(copied).unwrap_or((after, ""));
    out.push_str(kept);
    rest
}

/// Parses a member and keeps its text.
#[inline]
pub(crate) fn raw_value(input: Cursor<'_>) -> Parsed<'_, RawJson<'_>> {
    let (end, ()) = member(input)?;
    Ok((end, RawJson::validated(input.until(end))))
}

/// [`raw_value`] in text that was accepted before, which may be a whole line and nest to any depth.
pub(crate) fn raw_part(input: Cursor<'_>) -> Parsed<'_, RawJson<'_>> {
    let (end, ()) = skip(input)?;
    Ok((end, RawJson::validated(input.until(end))))
}

/// `null` counts as no value.
impl<'a> Field<'a> for Option<RawJson<'a>> {
    #[inline]
    fn parse_at(&mut self, text: &'a str, at: usize) -> ParsedAt {
        let (end, value) = raw_value(Cursor::at_index(text, at))?;
        *self = (!value.is_null()).then_some(value);
        Ok((end.at(), ()))
    }
}

impl fmt::Debug for RawJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Display for RawJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Iterator over the members of an object, in the order of the line.
#[derive(Clone, Debug)]
pub struct Members<'a>(std::vec::IntoIter<(Str<'a>, RawJson<'a>)>);

impl<'a> Iterator for Members<'a> {
    type Item = (Str<'a>, RawJson<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

/// Iterator over the values of an array, in order.
#[derive(Clone, Debug)]
pub struct Elements<'a>(std::vec::IntoIter<RawJson<'a>>);

impl<'a> Iterator for Elements<'a> {
    type Item = RawJson<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_and_arrays_are_iterated() {
        let value =
            RawJson::parse(r#" {"a" : [1, "x", null], "b\u0063":{"d":1.5},"a":true} "#).unwrap();
        let names: Vec<_> = value
            .members()
            .map(|(name, _)| name.decode().into_owned())
            .collect();
        assert_eq!(names, ["a", "bc", "a"]);
        assert_eq!(
            value
                .get("bc")
                .and_then(|v| v.get("d"))
                .and_then(RawJson::as_f64),
            Some(1.5)
        );
        assert_eq!(value.get("a").and_then(RawJson::as_bool), Some(true));
        let first = value.members().next().unwrap().1;
        assert_eq!(
            first.elements().map(RawJson::text).collect::<Vec<_>>(),
            ["1", "\"x\"", "null"]
        );
    }

    #[test]
    fn invalid_text_is_refused() {
        for text in [
            "",
            "1 2",
            "{",
            "[1,]",
            "{\"a\":}",
            "01",
            "1e999",
            "nul",
            "{a:1}",
            "\"\u{1}\"",
        ] {
            assert_eq!(RawJson::parse(text), None, "{text}");
        }
    }

    #[test]
    fn deepest_accepted_line_is_iterated() {
        let deep = format!("{}1{}", "[".repeat(119), "]".repeat(119));
        let line = format!(
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":{deep}}}]}},"uuid":"u"}}"#
        );
        let mut framer = crate::Framer::default();
        framer.push(line.clone().into());
        framer.finish();
        let frame = framer.next_frame().expect("a line");
        let item = frame.items().next().expect("an item");
        let raw = item.event.expect("an event").raw;
        assert_eq!(raw.members().count(), 3);
        assert_eq!(
            raw.get("uuid").and_then(RawJson::as_str),
            Some(Str::plain("u"))
        );
    }

    #[test]
    fn lossy_text_replaces_lone_surrogates_only() {
        let mut out = String::new();
        let text = r#"["\ud83d\ude00","\ud83d","\ude00x","\\ud83d","\n\u00e9","\ud83d\u0041"]"#;
        RawJson::parse(text).unwrap().write_lossy(&mut out);
        assert_eq!(
            out,
            r#"["\ud83d\ude00","\ufffd","\ufffdx","\\ud83d","\n\u00e9","\ufffd\u0041"]"#
        );
    }
}
