//! Interned names: models, tools, subtypes, session ids.

use std::hash::BuildHasher as _;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// An interned name; the default is the empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name(u32);

impl Name {
    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) const fn number(self) -> u32 {
        self.0
    }

    pub(crate) const fn from_number(number: u32) -> Self {
        Self(number)
    }
}

/// The interned names of a transcript. They are few and never dropped; copies share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameTable {
    table: Arc<Table>,
    /// The name that was looked up last; the next one is often the same.
    last: Name,
}

#[derive(Clone, Debug, Default)]
struct Table {
    names: Vec<Box<str>>,
    numbers: HashTable<u32>,
}

impl Table {
    fn str(&self, number: u32) -> &str {
        let name = self.names.get((number as usize).wrapping_sub(1));
        name.map(|name| &**name).unwrap_or_default()
    }
}

impl NameTable {
    pub(crate) fn str(&self, name: Name) -> &str {
        self.table.str(name.0)
    }

    pub(crate) fn intern(&mut self, name: &str) -> Name {
        if self.str(self.last) != name {
            self.last = self.find(name).unwrap_or_else(|| self.add(name));
        }
        self.last
    }

    fn find(&self, name: &str) -> Option<Name> {
        if name.is_empty() {
            return Some(Name::default());
        }
        let is_match = |&number: &u32| self.table.str(number) == name;
        let found = self.table.numbers.find(hash(name), is_match);
        found.copied().map(Name)
    }

    fn add(&mut self, name: &str) -> Name {
        let Table { names, numbers } = Arc::make_mut(&mut self.table);
        names.push(name.into());
        let number = names.len() as u32;
        numbers.insert_unique(hash(name), number, |&number| {
            let name = names.get(number as usize - 1);
            hash(name.map(|name| &**name).unwrap_or_default())
        });
        Name(number)
    }
}

fn hash(name: &str) -> u64 {
    FixedState::default().hash_one(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_stored_once() {
        let mut names = NameTable::default();
        let interned = ["a", "b", "", "a", "b"].map(|name| names.intern(name));
        assert_eq!(interned.map(|it| it.0), [1, 2, 0, 1, 2]);
        assert_eq!(interned.map(|it| names.str(it)), ["a", "b", "", "a", "b"]);
    }
}
