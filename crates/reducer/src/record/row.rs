//! Records as rows of numbers, to be packed.
//!
//! Ids are kept as their distance from the record's own number: those of neighbours are often the same
//! all along.

mod block;
mod call;
mod entry;
#[cfg(test)]
mod tests;

use crate::arena::{Atom, Text};
use crate::ident::Ident;
use crate::names::Name;
use crate::record::{BlockId, CallId, EntryId, ResultId};
use crate::shelf::Row;

/// Small numbers in one: the first that is put is the first that is taken.
#[derive(Clone, Copy, Debug, Default)]
struct Flags {
    bits: u64,
    at: u32,
}

impl Flags {
    const fn of(bits: u64) -> Self {
        Self { bits, at: 0 }
    }

    fn put(&mut self, number: u64, width: u32) {
        self.bits |= number << self.at;
        self.at += width;
    }

    fn put_bool(&mut self, is: bool) {
        self.put(u64::from(is), 1);
    }

    /// Puts the place of a word in its list.
    fn put_word<W: PartialEq>(&mut self, words: &[W], word: &W) {
        let at = words.iter().position(|it| it == word);
        self.put(at.unwrap_or_default() as u64, 3);
    }

    const fn take(&mut self, width: u32) -> u64 {
        let number = self.bits >> self.at & ((1 << width) - 1);
        self.at += width;
        number
    }

    const fn take_bool(&mut self) -> bool {
        self.take(1) != 0
    }

    fn take_word<W: Copy>(&mut self, words: &[W]) -> W {
        let at = self.take(3) as usize;
        words.get(at).copied().unwrap_or(words[0])
    }
}

/// An id that may be missing, by its distance from `number`.
fn far(number: usize, id: Option<u32>) -> u64 {
    id.map_or(0, |id| {
        let distance = i64::from(id) - number as i64;
        1 + (distance << 1 ^ distance >> 63) as u64
    })
}

fn near(number: usize, far: u64) -> Option<u32> {
    let zigzag = far.checked_sub(1)?;
    let distance = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
    Some((number as i64 + distance) as u32)
}

macro_rules! ids {
    ($($id:ident)*) => {
        $(impl $id {
            fn far(id: Option<Self>, number: usize) -> u64 {
                far(number, id.map(Self::number))
            }

            fn near(number: usize, far: u64) -> Option<Self> {
                near(number, far).map(Self::new)
            }
        })*
    };
}

ids!(EntryId BlockId CallId ResultId);

/// Four columns of a text. Where an empty one lies says nothing.
fn put_text(row: &mut Row, at: usize, text: Text) {
    let [place, beyond, len, chain] = text.numbers();
    row[at + 2] = len;
    row[at + 3] = chain;
    if len > 0 {
        (row[at], row[at + 1]) = (place, beyond);
    }
}

fn text(row: &Row, at: usize) -> Text {
    match row[at + 2] {
        0 => Text::default(),
        len => Text::of([row[at], row[at + 1], len, row[at + 3]]),
    }
}

/// Three columns of a short text.
fn put_atom(row: &mut Row, at: usize, atom: Atom) {
    let [place, beyond, len] = atom.numbers();
    row[at + 2] = len;
    if len > 0 {
        (row[at], row[at + 1]) = (place, beyond);
    }
}

fn atom(row: &Row, at: usize) -> Atom {
    match row[at + 2] {
        0 => Atom::default(),
        len => Atom::of([row[at], row[at + 1], len]),
    }
}

/// Four columns of an id, and its form.
fn put_id(row: &mut Row, flags: &mut Flags, columns: [usize; 4], id: Ident) {
    let (form, words) = id.numbers();
    flags.put(form, Ident::FORM);
    for (column, word) in columns.into_iter().zip(words) {
        row[column] = word;
    }
}

fn take_id(row: &Row, flags: &mut Flags, columns: [usize; 4]) -> Ident {
    Ident::of(flags.take(Ident::FORM), columns.map(|column| row[column]))
}

fn put_name(row: &mut Row, at: usize, name: Option<Name>) {
    row[at] = name.map_or(0, |name| u64::from(name.number()) + 1);
}

fn name(row: &Row, at: usize) -> Option<Name> {
    let number = row[at].checked_sub(1)?;
    Some(Name::of(number as u32))
}
