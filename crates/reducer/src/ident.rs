//! Ids of messages and tool uses, in as few bits as they say.
//!
//! The API names them by a word and 24 letters and digits, and they are much of what a transcript of
//! short texts holds beside its texts. They are not kept as text therefore, but as a word from a list
//! and six bits a character; an id of another form is kept as text.

use std::fmt;
use std::ops::Deref;

use serde::{Serialize, Serializer};

use crate::arena::{Arena, ArenaMark, Atom};
use crate::number::U48;

/// What ids begin with: tool uses, messages (protocol, sections A.5 and A.9), and what the API runs
/// itself, its tools and those of MCP (Messages API). The first stands for everything else.
const HEADS: [&str; 5] = ["", "toolu_", "msg_", "srvtoolu_", "mcptoolu_"];

/// Bits of a head in a row.
const HEAD: u32 = 3;

/// In the place of a head: the id is kept as text.
const SAID: u64 = (1 << HEAD) - 1;

/// What six bits stand for, in the order of ASCII.
const LETTERS: &[u8; 64] = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";

/// The six bits of each byte.
const CODES: [u8; 256] = {
    let (mut codes, mut at) = ([NO_CODE; 256], 0);
    while at < LETTERS.len() {
        codes[LETTERS[at] as usize] = at as u8;
        at += 1;
    }
    codes
};

/// The bit of what is no letter.
const NO_CODE: u8 = 1 << 6;

/// Letters of a word, and words.
const LETTERS_OF_WORD: usize = 8;
const WORDS: usize = 4;

/// Most letters behind the head: more than those of the API have, through its partners too.
const MOST: usize = WORDS * LETTERS_OF_WORD;

/// Most bytes of an id that is spelled.
const LONGEST: usize = MOST + 9;

/// An id as it is kept. One that can be spelled always is, so that two are the same when they are
/// kept the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ident {
    Spelled(Spelled),
    Said(Atom),
}

/// A head, and so many letters behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spelled {
    head: u8,
    len: u8,
    words: [U48; WORDS],
}

impl Default for Ident {
    fn default() -> Self {
        Self::Spelled(Spelled::default())
    }
}

impl Ident {
    /// Its form, in [`Self::FORM`] bits, and four numbers.
    pub(crate) fn numbers(self) -> (u64, [u64; WORDS]) {
        match self {
            Self::Spelled(spelled) => spelled.numbers(),
            Self::Said(atom) => {
                let [place, beyond, len] = atom.numbers();
                (SAID, [place, beyond, len, 0])
            }
        }
    }

    /// Bits of a form.
    pub(crate) const FORM: u32 = HEAD + 6;

    pub(crate) fn of(form: u64, words: [u64; WORDS]) -> Self {
        let [place, beyond, len, _] = words;
        if form & SAID == SAID {
            return Self::Said(Atom::of([place, beyond, len]));
        }
        Self::Spelled(Spelled {
            head: (form & SAID) as u8,
            len: (form >> HEAD) as u8,
            words: words.map(U48::new),
        })
    }
}

/// Eight letters or fewer; none when one of them is none.
#[inline(always)]
fn packed(letters: &[u8]) -> Option<U48> {
    let (mut number, mut all) = (0, 0);
    for &letter in letters {
        let code = CODES[usize::from(letter)];
        all |= code;
        number = number << 6 | u64::from(code);
    }
    (all & NO_CODE == 0).then(|| U48::new(number))
}

impl Spelled {
    fn of(id: &str) -> Option<Self> {
        let heads = HEADS.iter().zip(0..).skip(1);
        let found = heads.filter_map(|(head, at)| Some((at, id.strip_prefix(head)?)));
        let (head, letters) = found.last().unwrap_or((0, id));
        if letters.len() > MOST {
            return None;
        }
        let mut words = [U48::default(); WORDS];
        let (full, rest) = letters.as_bytes().as_chunks::<LETTERS_OF_WORD>();
        let (start, last) = words.split_at_mut_checked(full.len())?;
        for (word, letters) in start.iter_mut().zip(full) {
            *word = packed(letters)?;
        }
        if let Some(word) = last.first_mut() {
            *word = packed(rest)?;
        }
        let len = letters.len() as u8;
        Some(Self { head, len, words })
    }

    /// Its form, and four numbers.
    pub(crate) fn numbers(self) -> (u64, [u64; WORDS]) {
        let form = u64::from(self.head) | u64::from(self.len) << HEAD;
        (form, self.words.map(U48::get))
    }

    fn letters(self) -> Letters<'static> {
        let head = HEADS.get(usize::from(self.head)).copied().unwrap_or("");
        let (mut bytes, len) = ([0; LONGEST], usize::from(self.len));
        let (start, rest) = bytes.split_at_mut(head.len());
        start.copy_from_slice(head.as_bytes());
        let rest = rest.get_mut(..len).unwrap_or_default();
        let words = rest.chunks_mut(LETTERS_OF_WORD).zip(self.words);
        for (letters, word) in words {
            let mut number = word.get();
            for letter in letters.iter_mut().rev() {
                *letter = LETTERS[(number % 64) as usize];
                number /= 64;
            }
        }
        Letters::Spelled(bytes, (head.len() + len) as u8)
    }
}

/// An id as a line says it: to look for, or to keep.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Named<'a> {
    Spelled(Spelled),
    Said(&'a str),
}

impl<'a> Named<'a> {
    pub(crate) fn of(id: &'a str) -> Self {
        Spelled::of(id).map_or(Self::Said(id), Self::Spelled)
    }
}

impl Arena {
    /// Keeps an id.
    pub(crate) fn ident(&mut self, id: Named<'_>) -> Ident {
        match id {
            Named::Spelled(spelled) => Ident::Spelled(spelled),
            Named::Said(id) => Ident::Said(self.atom(id)),
        }
    }

    pub(crate) fn id(&self, ident: Ident) -> ApiId<'_> {
        ApiId(match ident {
            Ident::Spelled(spelled) => spelled.letters(),
            Ident::Said(atom) => Letters::Kept(self.str(atom)),
        })
    }

    pub(crate) fn is(&self, ident: Ident, id: Named<'_>) -> bool {
        match (ident, id) {
            (Ident::Spelled(one), Named::Spelled(other)) => one == other,
            (Ident::Said(atom), Named::Said(id)) => self.str(atom) == id,
            _ => false,
        }
    }

    /// Copies an id whose text stands before a mark behind it.
    pub(crate) fn save_ident(&mut self, ident: &mut Ident, from: ArenaMark) {
        if let Ident::Said(atom) = ident {
            self.save_atom(atom, from);
        }
    }
}

/// The id of a message or of a tool use; it is read as a `str`.
#[derive(Clone, Copy)]
pub struct ApiId<'a>(Letters<'a>);

#[derive(Clone, Copy)]
enum Letters<'a> {
    Kept(&'a str),
    Spelled([u8; LONGEST], u8),
}

impl ApiId<'_> {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Letters::Kept(id) => id,
            Letters::Spelled(bytes, len) => {
                let id = bytes.get(..usize::from(*len)).unwrap_or_default();
                std::str::from_utf8(id).unwrap_or_default()
            }
        }
    }
}

impl Default for ApiId<'_> {
    fn default() -> Self {
        Self(Letters::Kept(""))
    }
}

impl Deref for ApiId<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for ApiId<'_> {
    fn as_ref(&self) -> &str {
        self
    }
}

impl PartialEq for ApiId<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for ApiId<'_> {}

impl PartialEq<str> for ApiId<'_> {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for ApiId<'_> {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl From<ApiId<'_>> for String {
    fn from(id: ApiId<'_>) -> Self {
        id.as_str().to_owned()
    }
}

impl fmt::Debug for ApiId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for ApiId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl Serialize for ApiId<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPELLED: [&str; 9] = [
        "",
        "msg_",
        "toolu_01XFDUDYJgAACzvnptvVoYEL",
        "msg_01Aq9w938a90dw8q",
        "srvtoolu_01WYG3ziw53XMcoyKL4XcZmE",
        "toolu_bdrk_01XFDUDYJgAACzvnptvVoYEL",
        "call_9-zZ",
        "_-0zZAa9",
        "0f14e45fceea467fa0e6c7b1d3a5f201",
    ];

    const SAID: [&str; 5] = [
        "toolu_é",
        "a b",
        "0f14e45f-ceea-467f-a0e6-c7b1d3a5f201",
        "toolu_0123456789012345678901234567890123",
        "call:1",
    ];

    #[test]
    fn every_id_comes_back() {
        let mut arena = Arena::default();
        for id in SPELLED.into_iter().chain(SAID) {
            let ident = arena.ident(Named::of(id));
            assert_eq!(arena.id(ident), id);
            let (form, words) = ident.numbers();
            assert!(form < 1 << Ident::FORM);
            assert_eq!(Ident::of(form, words), ident);
        }
    }

    #[test]
    fn ids_of_the_usual_forms_take_no_text() {
        let mut arena = Arena::default();
        for id in SPELLED {
            assert!(
                matches!(arena.ident(Named::of(id)), Ident::Spelled(_)),
                "{id}"
            );
        }
        assert_eq!(arena.written(), 0);
        for id in SAID {
            assert!(matches!(arena.ident(Named::of(id)), Ident::Said(_)), "{id}");
        }
    }

    #[test]
    fn ids_are_apart() {
        let mut arena = Arena::default();
        let all = SPELLED
            .into_iter()
            .chain(SAID)
            .chain(["-", "--", "0", "00"]);
        let all: Vec<_> = all.collect();
        for one in &all {
            let ident = arena.ident(Named::of(one));
            for other in &all {
                assert_eq!(
                    arena.is(ident, Named::of(other)),
                    one == other,
                    "{one} {other}"
                );
            }
        }
    }
}
