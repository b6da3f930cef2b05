//! Text storage: append-only chunks that copies of a transcript share.
//!
//! A transcript holds millions of small texts that live as long as it does. One allocation for each
//! would cost more than the text; instead texts lie in chunks, and records hold spans. A text that
//! grows is extended in place while it is the last of its chunk; otherwise a further span is linked to
//! it.

mod chunks;
mod text;

pub use text::{Pieces, TextRef};

use bowline_jsonl::{RawJson, Str};

use crate::store::Store;
use chunks::{Chunks, Span};

/// From this size on, in bytes, a text that does not fit gets a chunk of its own, which saves a copy.
const LARGE_TEXT: usize = 16 << 10;

/// Largest buffer that is kept for reuse, in bytes; a delta needs less.
const MAX_SCRATCH: usize = 4 << 10;

/// Spare capacity that decoding needs beyond the text, in bytes: it writes blocks of 64.
const DECODE_SPARE: usize = 128;

/// No chain, no link.
const NONE: u32 = u32::MAX;

/// Length of U+FFFD, which stands for half of a surrogate pair, in bytes.
const REPLACEMENT: usize = char::REPLACEMENT_CHARACTER.len_utf8();

/// A short text that lies in one piece and never grows, such as an id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShortText(Span);

impl ShortText {
    pub(crate) const fn is_empty(self) -> bool {
        self.0.len == 0
    }
}

/// A text that may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    head: Span,
    /// The chain of its further spans.
    chain: u32,
}

impl Default for Text {
    fn default() -> Self {
        Self {
            head: Span::default(),
            chain: NONE,
        }
    }
}

impl Text {
    pub(crate) const fn is_empty(self) -> bool {
        self.head.len == 0
    }
}

/// The spans of a text after its first.
#[derive(Clone, Copy, Debug)]
struct Chain {
    first: u32,
    last: u32,
    /// Length of the whole text.
    len: u32,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    span: Span,
    next: u32,
}

/// A position in the order in which texts are appended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArenaMark {
    chunk: u32,
    chain: usize,
    link: usize,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Arena {
    chunks: Chunks,
    chains: Store<Chain>,
    links: Store<Link>,
    scratch: String,
}

impl Arena {
    pub(crate) fn store_short(&mut self, text: &str) -> ShortText {
        if !self.chunks.fits(text.len()) {
            self.chunks.begin_for(text.len());
        }
        ShortText(self.chunks.write(text))
    }

    pub(crate) fn store_short_of(&mut self, text: Str<'_>) -> ShortText {
        self.store_short(&text.decode())
    }

    pub(crate) fn str(&self, text: ShortText) -> &str {
        self.chunks.slice(text.0)
    }

    pub(crate) fn text(&self, text: Text) -> TextRef<'_> {
        TextRef::new(self, text)
    }

    /// Length in bytes.
    #[inline]
    pub(crate) fn len(&self, text: Text) -> u32 {
        if text.chain == NONE {
            return text.head.len;
        }
        match self.chains.get(text.chain as usize) {
            None => text.head.len,
            Some(chain) => chain.len,
        }
    }

    pub(crate) fn store(&mut self, text: &str) -> Text {
        let mut out = Text::default();
        self.append(&mut out, text);
        out
    }

    pub(crate) fn store_of(&mut self, text: Str<'_>) -> Text {
        let mut out = Text::default();
        self.append_of(&mut out, text, &mut 0);
        out
    }

    /// Stores a JSON value; lone surrogates, which many JSON parsers refuse, are replaced.
    pub(crate) fn store_raw(&mut self, raw: RawJson<'_>) -> Text {
        if !raw.text().contains('\\') {
            return self.store(raw.text());
        }
        let mut out = Text::default();
        self.append_with(&mut out, raw.text().len(), |out| raw.write_lossy(out));
        out
    }

    /// Appends the decoded `more` and returns how many bytes of the previous text are unchanged: one
    /// replacement character less when a split surrogate pair was joined. `high` is the pending first
    /// half of a pair at the end of the text, or 0.
    #[inline]
    pub(crate) fn append_of(&mut self, text: &mut Text, more: Str<'_>, high: &mut u16) -> u32 {
        let from = self.len(*text);
        if !more.has_escapes() {
            if !more.is_empty() {
                *high = 0;
            }
            self.append(text, more.raw());
            return from;
        }
        self.decode(text, from, more, high)
    }

    fn decode(&mut self, text: &mut Text, from: u32, more: Str<'_>, high: &mut u16) -> u32 {
        let mut half = Some(*high).filter(|&half| half != 0 && from as usize >= REPLACEMENT);
        let kept = match half {
            Some(_) => from - REPLACEMENT as u32,
            None => from,
        };
        self.truncate(text, kept);
        self.append_with(text, more.raw().len() + REPLACEMENT, |out| {
            if half.is_some() {
                out.push(char::REPLACEMENT_CHARACTER);
            }
            more.decode_joining(out, &mut half);
        });
        *high = half.unwrap_or_default();
        kept
    }

    /// Appends what `write` writes, at most `bound` bytes, without an intermediate copy if it fits.
    fn append_with(&mut self, text: &mut Text, bound: usize, write: impl FnOnce(&mut String)) {
        if self.chunks.fits(bound + DECODE_SPARE) {
            let span = self.chunks.write_with(write);
            return self.extend(text, span);
        }
        let mut out = self.take_scratch();
        out.reserve_exact(bound + DECODE_SPARE);
        write(&mut out);
        if out.len() < LARGE_TEXT {
            self.append(text, &out);
            return self.give_back(out);
        }
        out.shrink_to_fit();
        let span = self.chunks.push_own(out);
        self.extend(text, span);
    }

    #[inline]
    pub(crate) fn append(&mut self, text: &mut Text, more: &str) {
        if more.len() <= self.chunks.room() {
            let span = self.chunks.write(more);
            return self.extend(text, span);
        }
        self.append_slowly(text, more);
    }

    /// Appends a text that does not fit into the current chunk as it is.
    #[cold]
    fn append_slowly(&mut self, text: &mut Text, more: &str) {
        if self.chunks.fits(more.len()) {
            let span = self.chunks.write(more);
            return self.extend(text, span);
        }
        if more.len() >= LARGE_TEXT {
            let span = self.chunks.push_own(more.to_owned());
            return self.extend(text, span);
        }
        let cut = more.floor_char_boundary(self.chunks.room());
        let (now, later) = more.split_at_checked(cut).unwrap_or((more, ""));
        let span = self.chunks.write(now);
        self.extend(text, span);
        self.chunks.begin_for(later.len());
        let span = self.chunks.write(later);
        self.extend(text, span);
    }

    /// Replaces a text by `wanted` and returns the length of the common prefix. Bytes that are cut off
    /// stay in their chunk, unused: replacement happens only when the agent corrects itself.
    pub(crate) fn replace(&mut self, text: &mut Text, wanted: Str<'_>) -> u32 {
        let mut scratch = self.take_scratch();
        let wanted = if wanted.has_escapes() {
            wanted.decode_into(&mut scratch);
            scratch.as_str()
        } else {
            wanted.raw()
        };
        let kept = self.text(*text).common_prefix(wanted);
        self.truncate(text, kept as u32);
        self.append(text, wanted.get(kept..).unwrap_or_default());
        self.give_back(scratch);
        kept as u32
    }

    /// Truncates a text to `len` bytes. Costs nothing if only its last span is cut.
    pub(crate) fn truncate(&mut self, text: &mut Text, len: u32) {
        let Some(&chain) = self.chains.get(text.chain as usize) else {
            text.head.len = text.head.len.min(len);
            return;
        };
        let last = self.links.get(chain.last as usize);
        let before_last = chain.len - last.map_or(0, |link| link.span.len);
        if len <= text.head.len {
            text.head.len = len;
            text.chain = NONE;
        } else if len >= before_last {
            self.cut_link(text.chain, chain.last, len - before_last, len);
        } else {
            let mut left = len - text.head.len;
            let mut at = chain.first;
            while let Some(link) = self.links.get(at as usize).filter(|it| it.span.len < left) {
                left -= link.span.len;
                at = link.next;
            }
            self.cut_link(text.chain, at, left, len);
        }
    }

    /// Makes `at` the last link of a chain, with at most `kept` bytes; the whole text has then at most
    /// `len` bytes.
    fn cut_link(&mut self, chain: u32, at: u32, kept: u32, len: u32) {
        if let Some(link) = self.links.get_mut(at as usize) {
            link.span.len = link.span.len.min(kept);
            link.next = NONE;
        }
        if let Some(chain) = self.chains.get_mut(chain as usize) {
            (chain.last, chain.len) = (at, len.min(chain.len));
        }
    }

    #[inline]
    fn extend(&mut self, text: &mut Text, span: Span) {
        if span.len == 0 {
        } else if text.head.len == 0 {
            text.head = span;
        } else if text.chain == NONE && text.head.is_before(span) {
            text.head.len += span.len;
        } else {
            self.link(text, span);
        }
    }

    /// Links a further span to a text that is not contiguous.
    fn link(&mut self, text: &mut Text, span: Span) {
        if text.chain == NONE {
            let first = self.links.push(Link { span, next: NONE }) as u32;
            let chain = Chain {
                first,
                last: first,
                len: text.head.len + span.len,
            };
            text.chain = self.chains.push(chain) as u32;
            return;
        }
        let Some(chain) = self.chains.get_mut(text.chain as usize) else {
            return;
        };
        chain.len += span.len;
        let next = self.links.len() as u32;
        let Some(last) = self.links.get_mut(chain.last as usize) else {
            return;
        };
        if last.span.is_before(span) {
            last.span.len += span.len;
            return;
        }
        last.next = next;
        chain.last = next;
        self.links.push(Link { span, next: NONE });
    }

    fn first_link(&self, text: Text) -> u32 {
        let chain = self.chains.get(text.chain as usize);
        chain.map_or(NONE, |chain| chain.first)
    }

    /// Returns a copy that shares the text.
    pub(crate) fn share(&mut self) -> Self {
        Self {
            chunks: self.chunks.share(),
            chains: self.chains.clone(),
            links: self.links.clone(),
            scratch: String::new(),
        }
    }

    /// Returns the position of the next text.
    pub(crate) fn mark(&self) -> ArenaMark {
        ArenaMark {
            chunk: self.chunks.next(),
            chain: self.chains.len(),
            link: self.links.len(),
        }
    }

    /// Evicts the text before a mark; what is still needed must have been relocated.
    pub(crate) fn evict(&mut self, to: ArenaMark) {
        self.chunks.evict(to.chunk);
        self.chains.evict(to.chain, |_| false);
        self.links.evict(to.link, |_| false);
    }

    /// Copies a text to the end of the arena if it lies before a mark.
    pub(crate) fn relocate(&mut self, text: &mut Text, from: ArenaMark) {
        if !text.is_empty() && (text.head.chunk < from.chunk || (text.chain as usize) < from.chain)
        {
            let copy = self.text(*text).to_cow().into_owned();
            *text = self.store(&copy);
        }
    }

    /// Copies a short text to the end of the arena if it lies before a mark.
    pub(crate) fn relocate_short(&mut self, text: &mut ShortText, from: ArenaMark) {
        if !text.is_empty() && text.0.chunk < from.chunk {
            let copy = self.str(*text).to_owned();
            *text = self.store_short(&copy);
        }
    }

    /// Closes the current chunk; the next text begins a new one.
    pub(crate) fn begin_chunk(&mut self) {
        self.chunks.close();
    }

    /// Bytes of text stored so far, including those evicted.
    pub(crate) const fn written(&self) -> u64 {
        self.chunks.written()
    }

    fn take_scratch(&mut self) -> String {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch
    }

    fn give_back(&mut self, scratch: String) {
        if scratch.capacity() <= MAX_SCRATCH {
            self.scratch = scratch;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_grows_alone_is_contiguous() {
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
    fn interleaved_texts_are_linked() {
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
    fn chunks_are_split_between_characters() {
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
    fn replace_keeps_common_prefix() {
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
    fn surrogate_pair_split_over_deltas_is_joined() {
        let mut arena = Arena::default();
        let (mut text, mut high) = (Text::default(), 0);
        let delta = |json: &'static str| RawJson::parse(json).and_then(RawJson::as_str).unwrap();
        assert_eq!(
            arena.append_of(&mut text, delta(r#""a\ud83d""#), &mut high),
            0
        );
        arena.store_short("something else");
        assert_eq!(
            arena.append_of(&mut text, delta(r#""\ude00b""#), &mut high),
            1
        );
        assert!(arena.text(text) == "a😀b");
    }
}
