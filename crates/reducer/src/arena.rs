//! Text in chunks: appended, never moved, never freed one by one.
//!
//! A transcript holds millions of small pieces of text that live as long as it does. They lie in
//! chunks, and records hold spans. A text that grows is extended in place while it is the last of
//! its chunk; when something else came in between, a further span is linked to it. A chunk that is
//! full is shared by every copy of the arena.

mod text;

use std::sync::Arc;

pub use text::{Pieces, TextRef};

use bowline_jsonl::{RawJson, Str};

use crate::store::Store;

/// Most bytes of a chunk: what it costs beside its text is small beside it.
const CHUNK: usize = 96 << 10;

/// Bytes that a chunk begins with in a short session, and as many as are there already are added until
/// it is full: by and by, so that there is little room that nothing is written into.
const FIRST: usize = 4 << 10;

/// Most bytes that are added at once.
const STEP: usize = 48 << 10;

/// From this size on, in bytes, a text that does not fit has a chunk of its own: what a chunk costs
/// beside its text is next to nothing, and a copy is spared.
const OWN: usize = 16 << 10;

/// Largest buffer that is kept from text to text, in bytes: more than a delta takes.
const SCRATCH: usize = 4 << 10;

/// Room that decoding wants beyond the text, in bytes: it writes blocks of 64.
const SPARE: usize = 128;

/// Text in the chunk that is being filled is copied with the arena up to this size, in bytes; a
/// longer one is shared, and the next text begins a new chunk.
const COPIED: usize = 4 << 10;

/// No chain, no link, no chunk.
const NONE: u32 = u32::MAX;

/// The replacement character that stands for half of a surrogate pair, in bytes.
const REPLACEMENT: usize = char::REPLACEMENT_CHARACTER.len_utf8();

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Span {
    chunk: u32,
    start: u32,
    len: u32,
}

impl Span {
    /// Whether `next` stands right behind it.
    const fn is_before(self, next: Self) -> bool {
        self.chunk == next.chunk && self.start + self.len == next.start
    }

    /// Where it lies when all chunks are as long as they are usually, what is to be added to that, and
    /// its length.
    const fn numbers(self) -> [u64; 3] {
        let (chunk, start) = (self.chunk as u64, self.start as u64);
        let (beyond, start) = (start / CHUNK as u64, start % CHUNK as u64);
        [chunk * CHUNK as u64 + start, beyond, self.len as u64]
    }

    const fn of([place, beyond, len]: [u64; 3]) -> Self {
        let (chunk, start) = (place / CHUNK as u64, place % CHUNK as u64);
        Self {
            chunk: chunk as u32,
            start: (beyond * CHUNK as u64 + start) as u32,
            len: len as u32,
        }
    }
}

/// A short text that never grows and lies in one piece: an id, a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Atom(Span);

impl Atom {
    pub(crate) const fn is_empty(self) -> bool {
        self.0.len == 0
    }

    /// Where it lies, in two numbers, and its length.
    pub(crate) const fn numbers(self) -> [u64; 3] {
        self.0.numbers()
    }

    pub(crate) const fn of(numbers: [u64; 3]) -> Self {
        Self(Span::of(numbers))
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

    /// Where its first span lies, in two numbers, its length, and the chain of the others, or 0.
    pub(crate) const fn numbers(self) -> [u64; 4] {
        let [place, beyond, len] = self.head.numbers();
        [place, beyond, len, self.chain.wrapping_add(1) as u64]
    }

    pub(crate) const fn of([place, beyond, len, chain]: [u64; 4]) -> Self {
        Self {
            head: Span::of([place, beyond, len]),
            chain: (chain as u32).wrapping_sub(1),
        }
    }
}

/// The spans of a text behind its first.
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

/// A place in the order in which text comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArenaMark {
    chunk: u32,
    chain: usize,
    link: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Arena {
    /// None stands for the chunk that is being filled.
    chunks: Store<Option<Arc<String>>>,
    chains: Store<Chain>,
    links: Store<Link>,
    /// The chunk that is being filled, and its number; large texts have chunks of their own behind
    /// or before it.
    current: String,
    at: u32,
    /// Bytes of all chunks, the one that is being filled left out.
    full: u64,
    scratch: String,
}

impl Default for Arena {
    fn default() -> Self {
        Self {
            chunks: Store::default(),
            chains: Store::default(),
            links: Store::default(),
            current: String::new(),
            at: NONE,
            full: 0,
            scratch: String::new(),
        }
    }
}

impl Arena {
    pub(crate) fn atom(&mut self, text: &str) -> Atom {
        if self.room() < text.len() && !self.grow(text.len()) {
            self.turn(text.len());
        }
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

    /// Length in bytes.
    pub(crate) fn len(&self, text: Text) -> u32 {
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

    /// Keeps a JSON value so that any reader of JSON accepts it.
    pub(crate) fn store_raw(&mut self, raw: RawJson<'_>) -> Text {
        if !raw.text().contains('\\') {
            return self.store(raw.text());
        }
        let mut out = Text::default();
        self.append_with(&mut out, raw.text().len(), |out| raw.write_lossy(out));
        out
    }

    /// Appends the decoded `more`; returns the length that was kept of what was there before, which
    /// is shorter by one replacement character when a cut surrogate pair was joined. `high` is the
    /// first half of a pair at the end of the text, or 0.
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

    /// Appends what `write` writes, `bound` bytes at most: straight into its place where that is
    /// possible.
    fn append_with(&mut self, text: &mut Text, bound: usize, write: impl FnOnce(&mut String)) {
        if bound + SPARE <= self.room() || self.grow(bound + SPARE) {
            let start = self.current.len();
            write(&mut self.current);
            let len = (self.current.len() - start) as u32;
            let (chunk, start) = (self.at, start as u32);
            return self.extend(text, Span { chunk, start, len });
        }
        let mut out = self.take_scratch();
        out.reserve_exact(bound + SPARE);
        write(&mut out);
        if out.len() < OWN {
            self.append(text, &out);
            return self.give_back(out);
        }
        out.shrink_to_fit();
        let span = self.own_chunk(out);
        self.extend(text, span);
    }

    #[inline]
    pub(crate) fn append(&mut self, text: &mut Text, more: &str) {
        if more.len() <= self.room() {
            let span = self.write(more);
            return self.extend(text, span);
        }
        self.append_slowly(text, more);
    }

    /// Appends what does not fit into the chunk that is being filled.
    #[cold]
    fn append_slowly(&mut self, text: &mut Text, more: &str) {
        if self.grow(more.len()) {
            let span = self.write(more);
            return self.extend(text, span);
        }
        if more.len() >= OWN {
            let span = self.own_chunk(more.to_owned());
            return self.extend(text, span);
        }
        let cut = more.floor_char_boundary(self.room());
        let (now, later) = more.split_at_checked(cut).unwrap_or((more, ""));
        let span = self.write(now);
        self.extend(text, span);
        self.turn(later.len());
        let span = self.write(later);
        self.extend(text, span);
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
        self.truncate(text, kept as u32);
        self.append(text, wanted.get(kept..).unwrap_or_default());
        self.give_back(scratch);
        kept as u32
    }

    /// Keeps the first `len` bytes of a text.
    pub(crate) fn truncate(&mut self, text: &mut Text, len: u32) {
        let Some(&chain) = self.chains.get(text.chain as usize) else {
            text.head.len = text.head.len.min(len);
            return;
        };
        if len <= text.head.len {
            text.head.len = len;
            text.chain = NONE;
            return;
        }
        let mut left = len - text.head.len;
        let mut at = chain.first;
        while let Some(link) = self.links.get_mut(at as usize) {
            if left <= link.span.len {
                link.span.len = left;
                link.next = NONE;
                break;
            }
            left -= link.span.len;
            at = link.next;
        }
        if let Some(chain) = self.chains.get_mut(text.chain as usize) {
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

    /// Puts a span behind a text that is not the last of its chunk, or was not once.
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

    /// Bytes left in the chunk that is being filled.
    #[inline]
    fn room(&self) -> usize {
        self.current.capacity() - self.current.len()
    }

    /// Makes room for `len` bytes in the chunk that is being filled; says whether there is.
    #[cold]
    fn grow(&mut self, len: usize) -> bool {
        let size = self.current.capacity();
        let needed = self.current.len() + len;
        if self.at == NONE || needed > CHUNK {
            return false;
        }
        let size = (size + size.clamp(FIRST, STEP)).clamp(needed, CHUNK);
        self.current.reserve_exact(size - self.current.len());
        true
    }

    /// Begins a new chunk with room for `len` bytes at least.
    fn turn(&mut self, len: usize) {
        let size = self.current.capacity().clamp(FIRST, STEP);
        let full = std::mem::replace(&mut self.current, String::with_capacity(size.max(len)));
        self.close(full);
        self.at = self.chunks.push(None) as u32;
    }

    /// A copy that shares the text.
    pub(crate) fn share(&mut self) -> Self {
        if self.current.len() > COPIED {
            let mut full = std::mem::take(&mut self.current);
            full.shrink_to_fit();
            self.close(full);
            self.at = NONE;
        }
        Self {
            chunks: self.chunks.clone(),
            chains: self.chains.clone(),
            links: self.links.clone(),
            current: self.current.clone(),
            at: self.at,
            full: self.full,
            scratch: String::new(),
        }
    }

    /// Where text stands that comes from now on.
    pub(crate) fn mark(&self) -> ArenaMark {
        let next = self.chunks.len() as u32;
        ArenaMark {
            chunk: self.at.min(next),
            chain: self.chains.len(),
            link: self.links.len(),
        }
    }

    /// Gives up the text before a mark, but for what was saved from it.
    pub(crate) fn evict(&mut self, to: ArenaMark) {
        // A page of chunks is large: its text is given up before the page is.
        for at in self.chunks.before(to.chunk as usize).collect::<Vec<_>>() {
            self.chunks[at] = None;
        }
        self.chunks.evict(to.chunk as usize, |_| false);
        self.chains.evict(to.chain, |_| false);
        self.links.evict(to.link, |_| false);
    }

    /// Copies a text that stands before a mark behind it.
    pub(crate) fn save(&mut self, text: &mut Text, from: ArenaMark) {
        if !text.is_empty() && (text.head.chunk < from.chunk || (text.chain as usize) < from.chain)
        {
            let said = self.text(*text).to_cow().into_owned();
            *text = self.store(&said);
        }
    }

    /// Copies a short text that stands before a mark behind it.
    pub(crate) fn save_atom(&mut self, atom: &mut Atom, from: ArenaMark) {
        if !atom.is_empty() && atom.0.chunk < from.chunk {
            let said = self.str(*atom).to_owned();
            *atom = self.atom(&said);
        }
    }

    /// Leaves the chunk that is being filled as it is.
    pub(crate) fn begin_chunk(&mut self) {
        let full = std::mem::take(&mut self.current);
        self.close(full);
        self.at = NONE;
    }

    /// Bytes of text that were kept so far.
    pub(crate) const fn written(&self) -> u64 {
        self.full + self.current.len() as u64
    }

    /// The chunk that was being filled is full.
    fn close(&mut self, full: String) {
        self.full += full.len() as u64;
        if let Some(chunk) = self.chunks.get_mut(self.at as usize) {
            *chunk = Some(Arc::new(full));
        }
    }

    fn own_chunk(&mut self, text: String) -> Span {
        let len = text.len() as u32;
        self.full += u64::from(len);
        Span {
            chunk: self.chunks.push(Some(Arc::new(text))) as u32,
            start: 0,
            len,
        }
    }

    /// Writes into the current chunk, which has room.
    #[inline]
    fn write(&mut self, text: &str) -> Span {
        let start = self.current.len() as u32;
        self.current.push_str(text);
        Span {
            chunk: self.at,
            start,
            len: text.len() as u32,
        }
    }

    #[inline]
    fn slice(&self, span: Span) -> &str {
        let (start, len) = (span.start as usize, span.len as usize);
        let chunk = if span.chunk == self.at {
            Some(self.current.as_str())
        } else {
            let chunk = self.chunks.get(span.chunk as usize);
            chunk.and_then(|chunk| chunk.as_ref().map(|it| it.as_str()))
        };
        chunk
            .and_then(|chunk| chunk.get(start..start + len))
            .unwrap_or_default()
    }

    fn take_scratch(&mut self) -> String {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch
    }

    fn give_back(&mut self, scratch: String) {
        if scratch.capacity() <= SCRATCH {
            self.scratch = scratch;
        }
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
        let (mut text, mut high) = (Text::default(), 0);
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
