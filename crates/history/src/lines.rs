//! The lines of a file, found by a part of them.

use bowline_jsonl::RawJson;
use memchr::memmem::Finder;
use memchr::{memchr, memrchr};

/// Sizes of the tails that are searched for a last line, in bytes, before the whole file is.
const TAILS: [usize; 2] = [64 << 10, 1 << 20];

/// The contents of a file of lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines<'a>(pub(crate) &'a [u8]);

impl<'a> Lines<'a> {
    /// Returns the line with the byte at `at`, and its end.
    fn around(self, at: usize) -> (&'a [u8], usize) {
        let (before, after) = self.0.split_at(at);
        let start = memrchr(b'\n', before).map_or(0, |it| it + 1);
        let end = memchr(b'\n', after).map_or(self.0.len(), |it| at + it);
        (&self.0[start..end], end)
    }

    /// The lines with `part`, in order.
    pub(crate) fn with(self, part: &Finder<'_>) -> impl Iterator<Item = &'a [u8]> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let rest = self.0.get(at..)?;
            let found = part.find(rest);
            #[cfg(test)]
            tests::SEARCHED.set(tests::SEARCHED.get() + found.unwrap_or(rest.len()));
            let found = at + found?;
            let (line, end) = self.around(found);
            at = end;
            Some(line)
        })
    }

    /// Returns the first value that `read` makes of a line with `part`.
    pub(crate) fn first<T>(
        self,
        part: &Finder<'_>,
        read: impl FnMut(RawJson<'a>) -> Option<T>,
    ) -> Option<T> {
        self.with(part).filter_map(parse).find_map(read)
    }

    /// Returns the last value that `read` makes of a line with `part`.
    pub(crate) fn last<T>(
        self,
        part: &Finder<'_>,
        mut read: impl FnMut(RawJson<'a>) -> Option<T>,
    ) -> Option<T> {
        let mut searched = self.0.len();
        for length in TAILS.into_iter().chain([self.0.len()]) {
            let start = self.0.len().saturating_sub(length).min(searched);
            // A part may begin before what was searched and end in it.
            let end = (searched + part.needle().len()).min(self.0.len());
            let found = part.find_iter(self.0.get(start..end)?).map(|at| start + at);
            let found: Vec<usize> = found.filter(|&at| at < searched).collect();
            let mut unread = usize::MAX;
            for at in found.into_iter().rev() {
                if at >= unread {
                    continue;
                }
                let (line, end) = self.around(at);
                unread = end - line.len();
                if let Some(value) = parse(line).and_then(&mut read) {
                    return Some(value);
                }
            }
            searched = start;
        }
        None
    }
}

/// Parses a line that is an object.
pub(crate) fn parse(line: &[u8]) -> Option<RawJson<'_>> {
    let line = RawJson::parse(std::str::from_utf8(line).ok()?)?;
    line.text().starts_with('{').then_some(line)
}

/// Returns a string member.
pub(crate) fn text(object: RawJson<'_>, key: &str) -> Option<String> {
    let text = object.get(key)?.as_str()?;
    (!text.is_empty()).then(|| text.decode().into_owned())
}

/// Returns whether the object's `type` is `kind`.
pub(crate) fn is_kind(object: RawJson<'_>, kind: &str) -> bool {
    object
        .get("type")
        .and_then(RawJson::as_str)
        .is_some_and(|it| it == *kind)
}

/// Returns whether a member is `true`.
pub(crate) fn is_set(object: RawJson<'_>, key: &str) -> bool {
    object.get(key).and_then(RawJson::as_bool) == Some(true)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// Number of bytes that this thread has searched.
        pub(crate) static SEARCHED: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn last_line_is_found_beyond_the_tails() {
        let early = r#"{"x":1,"type":"a"}"#;
        let mut file = format!("{early}\n{{\"x\":2,\"type\":\"b\"}}\n").into_bytes();
        file.extend(br#"{"pad":""#);
        file.resize((2 << 20) + 11, b'p');
        file.extend(b"\"}\n{torn \"type\":\"a\"\n");
        let part = Finder::new(r#""type":"a""#);
        let x = |line: RawJson<'_>| line.get("x")?.as_u64();
        assert_eq!(Lines(&file).last(&part, x), Some(1));
        assert_eq!(Lines(&file).first(&part, x), Some(1));
        assert_eq!(Lines(&file).with(&part).count(), 2);
        assert_eq!(Lines(b"").last(&part, x), None);
    }

    #[test]
    fn last_line_across_the_boundary_of_a_tail_is_found() {
        let part = Finder::new(r#""type":"a""#);
        for shift in 0..24 {
            let mut file = br#"{"x":7,"type":"a"}"#.to_vec();
            file.push(b'\n');
            file.resize(file.len() + TAILS[0] - shift, b' ');
            let found = Lines(&file).last(&part, |line| line.get("x")?.as_u64());
            assert_eq!(found, Some(7), "{shift}");
        }
    }
}
