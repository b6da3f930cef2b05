//! Text in chunks: appended, never moved, never freed one by one.
//!
//! A transcript holds millions of small pieces of text that live as long as it does. They lie in
//! chunks, and records hold spans. A text that grows is extended in place while it is the last of
//! its chunk; when something else came in between, a further span is linked to it.

mod text;

pub use text::{Pieces, TextRef};

use bowline_jsonl::{RawJson, Str};

/// Size of a chunk in bytes: large enough that the waste at its end is small beside it, small
/// enough that a short session stays small.
const CHUNK: usize = 64 << 10;

/// No link.
const NONE: u32 = u32::MAX;

/// The replacement character that stands for half of a surrogate pair, in bytes.
const REPLACEMENT: usize = char::REPLACEMENT_CHARACTER.len_utf8();

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Span {
    chunk: u32,
    start: u32,
    len: u32,
}

/// A short text that never grows and lies in one piece: an id, a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Atom(Span);

impl Atom {
    pub(crate) const fn is_empty(self) -> bool {
        self.0.len == 0
    }
}

/// A text that may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    head: Span,
    first: u32,
    last: u32,
    len: u32,
}

impl Default for Text {
    fn default() -> Self {
        Self {
            head: Span::default(),
            first: NONE,
            last: NONE,
            len: 0,
        }
    }
}

impl Text {
    pub(crate) const fn len(self) -> u32 {
        self.len
    }
}

#[derive(Clone, Copy, Debug)]
struct Link {
    span: Span,
    next: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Arena {
    chunks: Vec<String>,
    links: Vec<Link>,
    /// The chunk that is being filled; large texts have chunks of their own behind or before it.
    current: usize,
    scratch: String,
}

impl Arena {
    pub(crate) fn atom(&mut self, text: &str) -> Atom {
        self.reserve(text.len());
        Atom(self.write(text))
    }

    pub(crate) fn atom_of(&mut self, text: Str<'_>) -> Atom {
        self.atom(&text.decode())
    }

    pub(crate) fn str(&self, atom: Atom) -> &str {
        self.slice(atom.0)
    }

    pub(crate) fn text(&self, text: Text) -> TextRef<'_> {
        TextRef::new(self, text)
    }

    pub(crate) fn store(&mut self, text: &str) -> Text {
        let mut out = Text::default();
        self.append(&mut out, text);
        out
    }

    pub(crate) fn store_of(&mut self, text: Str<'_>) -> Text {
        let mut out = Text::default();
        self.append_of(&mut out, text, &mut None);
        out
    }

    /// Keeps a JSON value so that any reader of JSON accepts it.
    pub(crate) fn store_raw(&mut self, raw: RawJson<'_>) -> Text {
        if !raw.text().contains('\\') {
            return self.store(raw.text());
        }
        let mut scratch = self.take_scratch();
        raw.write_lossy(&mut scratch);
        let out = self.store(&scratch);
        self.scratch = scratch;
        out
    }

    /// Appends the decoded `more`; returns the length that was kept of what was there before, which
    /// is shorter by one replacement character when a cut surrogate pair was joined.
    pub(crate) fn append_of(
        &mut self,
        text: &mut Text,
        more: Str<'_>,
        high: &mut Option<u16>,
    ) -> u32 {
        if !more.has_escapes() {
            if !more.is_empty() {
                *high = None;
            }
            let from = text.len;
            self.append(text, more.raw());
            return from;
        }
        let mut scratch = self.take_scratch();
        let joins = high.is_some() && text.len as usize >= REPLACEMENT;
        if joins {
            scratch.push(char::REPLACEMENT_CHARACTER);
            self.truncate(text, text.len - REPLACEMENT as u32);
        }
        let from = text.len;
        more.decode_joining(&mut scratch, high);
        self.append(text, &scratch);
        self.scratch = scratch;
        from
    }

    pub(crate) fn append(&mut self, text: &mut Text, more: &str) {
        let mut rest = more;
        if rest.len() > CHUNK {
            let span = self.own_chunk(rest);
            return self.extend(text, span);
        }
        while !rest.is_empty() {
            let room = self.room();
            let cut = rest.floor_char_boundary(room.min(rest.len()));
            let (now, later) = rest.split_at_checked(cut).unwrap_or((rest, ""));
            if now.is_empty() {
                self.new_chunk();
                continue;
            }
            let span = self.write(now);
            self.extend(text, span);
            rest = later;
        }
    }

    /// Makes `text` say `wanted`, and returns how much of the beginning stayed. What is cut off
    /// stays in its chunk, unused: texts are replaced only when an agent corrects itself.
    pub(crate) fn replace(&mut self, text: &mut Text, wanted: Str<'_>) -> u32 {
        let mut scratch = self.take_scratch();
        let wanted = if wanted.has_escapes() {
            wanted.decode_into(&mut scratch);
            scratch.as_str()
        } else {
            wanted.raw()
        };
        let kept = self.text(*text).common_prefix(wanted);
        if kept < text.len as usize {
            self.truncate(text, kept as u32);
        }
        self.append(text, wanted.get(kept..).unwrap_or_default());
        self.scratch = scratch;
        kept as u32
    }

    pub(crate) fn truncate(&mut self, text: &mut Text, len: u32) {
        let mut left = len;
        text.len = len;
        if left <= text.head.len {
            text.head.len = left;
            (text.first, text.last) = (NONE, NONE);
            return;
        }
        left -= text.head.len;
        let mut at = text.first;
        while let Some(link) = self.links.get_mut(at as usize) {
            if left <= link.span.len {
                link.span.len = left;
                link.next = NONE;
                text.last = at;
                return;
            }
            left -= link.span.len;
            at = link.next;
        }
    }

    fn extend(&mut self, text: &mut Text, span: Span) {
        text.len += span.len;
        let last = match self.links.get_mut(text.last as usize) {
            Some(link) => &mut link.span,
            None => &mut text.head,
        };
        if last.len == 0 {
            *last = span;
        } else if last.chunk == span.chunk && last.start + last.len == span.start {
            last.len += span.len;
        } else {
            let at = self.links.len() as u32;
            self.links.push(Link { span, next: NONE });
            match self.links.get_mut(text.last as usize) {
                Some(link) => link.next = at,
                None => text.first = at,
            }
            text.last = at;
        }
    }

    /// Bytes left in the chunk that is being filled.
    fn room(&self) -> usize {
        self.chunks
            .get(self.current)
            .map_or(0, |chunk| chunk.capacity() - chunk.len())
    }

    fn reserve(&mut self, len: usize) {
        if self.room() < len {
            self.current = self.chunks.len();
            self.chunks.push(String::with_capacity(CHUNK.max(len)));
        }
    }

    fn new_chunk(&mut self) {
        self.current = self.chunks.len();
        self.chunks.push(String::with_capacity(CHUNK));
    }

    fn own_chunk(&mut self, text: &str) -> Span {
        self.chunks.push(text.to_owned());
        Span {
            chunk: self.chunks.len() as u32 - 1,
            start: 0,
            len: text.len() as u32,
        }
    }

    /// Writes into the current chunk, which has room.
    fn write(&mut self, text: &str) -> Span {
        let Some(chunk) = self.chunks.get_mut(self.current) else {
            return Span::default();
        };
        let start = chunk.len() as u32;
        chunk.push_str(text);
        Span {
            chunk: self.current as u32,
            start,
            len: text.len() as u32,
        }
    }

    fn slice(&self, span: Span) -> &str {
        let (start, len) = (span.start as usize, span.len as usize);
        self.chunks
            .get(span.chunk as usize)
            .and_then(|chunk| chunk.get(start..start + len))
            .unwrap_or_default()
    }

    fn take_scratch(&mut self) -> String {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_grows_alone_stays_in_one_piece() {
        let mut arena = Arena::default();
        let mut text = Text::default();
        for word in ["set", "ting ", "sail"] {
            arena.append(&mut text, word);
        }
        assert_eq!(
            arena.text(text).pieces().collect::<Vec<_>>(),
            ["setting sail"]
        );
    }

    #[test]
    fn texts_that_grow_in_turn_are_linked() {
        let mut arena = Arena::default();
        let (mut one, mut two) = (Text::default(), Text::default());
        for piece in ["a", "b", "c"] {
            arena.append(&mut one, piece);
            arena.append(&mut two, &piece.to_uppercase());
        }
        assert!(arena.text(one) == "abc" && arena.text(two) == "ABC");
        assert!(arena.text(one).starting_at(1) == "bc");
    }

    #[test]
    fn chunks_are_cut_between_characters() {
        let mut arena = Arena::default();
        let mut text = Text::default();
        let piece = "é€😀".repeat(5000);
        for _ in 0..5 {
            arena.append(&mut text, &piece);
        }
        assert!(arena.text(text) == piece.repeat(5).as_str());
        assert!(arena.text(text).pieces().count() > 1);
    }

    #[test]
    fn replacing_keeps_what_is_the_same() {
        let mut arena = Arena::default();
        let mut text = arena.store("a draft");
        let other = arena.store("between");
        arena.append(&mut text, " that grew");
        let cases = [
            ("a draft that grew", 17),
            ("a draft", 7),
            ("a drift\u{e9}", 4),
            ("", 0),
        ];
        for (wanted, kept) in cases {
            let json = format!("\"{wanted}\"");
            let wanted_str = RawJson::parse(&json).and_then(RawJson::as_str).unwrap();
            assert_eq!(arena.replace(&mut text, wanted_str), kept, "{wanted}");
            assert!(arena.text(text) == wanted, "{:?}", arena.text(text));
        }
        assert!(arena.text(other) == "between");
    }

    #[test]
    fn a_pair_cut_between_two_deltas_is_joined() {
        let mut arena = Arena::default();
        let (mut text, mut high) = (Text::default(), None);
        let delta = |json: &'static str| RawJson::parse(json).and_then(RawJson::as_str).unwrap();
        assert_eq!(
            arena.append_of(&mut text, delta(r#""a\ud83d""#), &mut high),
            0
        );
        arena.atom("something else");
        assert_eq!(
            arena.append_of(&mut text, delta(r#""\ude00b""#), &mut high),
            1
        );
        assert!(arena.text(text) == "a😀b");
    }
}
