//! Decodes escapes from backslash to backslash, without `unsafe`.

use memchr::memchr;

use crate::text::{Change, Escape, Surrogates, escape};

/// Appends the decoded `content` of one string, whose escapes are valid, to `out`.
pub(crate) fn unescape(content: &str, out: &mut String, surrogates: &mut Surrogates) {
    out.reserve(content.len());
    let mut rest = content;
    loop {
        let plain = memchr(b'\\', rest.as_bytes()).unwrap_or(rest.len());
        if plain > 0 {
            surrogates.end();
        }
        // A backslash is ASCII, so the text can be cut on both sides of it.
        let (before, after) = rest.split_at_checked(plain).unwrap_or_default();
        out.push_str(before);
        let Some(Escape { length, unit }) = escape(after.as_bytes()) else {
            return;
        };
        match surrogates.push(unit) {
            Change::Add(char) => out.push(char),
            Change::Replace(char) => {
                out.pop();
                out.push(char);
            }
        }
        rest = after.get(length..).unwrap_or_default();
    }
}
