//! Names that are said again and again, each kept once: models, tools, subtypes, session ids.

use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher as _;

/// A name that is kept once; the default is the empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Name(u32);

impl Name {
    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) const fn number(self) -> u32 {
        self.0
    }

    /// The name with this number.
    pub(crate) const fn of(number: u32) -> Self {
        Self(number)
    }
}

/// Names by their number. They are few and stay as long as the transcript; copies share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    table: Arc<Table>,
    /// The name that was asked for last: the next one is often the same.
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

impl Names {
    pub(crate) fn str(&self, name: Name) -> &str {
        self.table.str(name.0)
    }

    pub(crate) fn keep(&mut self, name: &str) -> Name {
        if self.str(self.last) != name {
            self.last = self.find(name).unwrap_or_else(|| self.add(name));
        }
        self.last
    }

    fn find(&self, name: &str) -> Option<Name> {
        if name.is_empty() {
            return Some(Name::default());
        }
        let is_it = |&number: &u32| self.table.str(number) == name;
        let found = self.table.numbers.find(hash(name), is_it);
        found.copied().map(Name)
    }

    fn add(&mut self, name: &str) -> Name {
        let table = Arc::make_mut(&mut self.table);
        table.names.push(name.into());
        let number = table.names.len() as u32;
        let names = &table.names;
        let rehash = |&number: &u32| {
            let name = names.get(number as usize - 1);
            hash(name.map(|name| &**name).unwrap_or_default())
        };
        table.numbers.insert_unique(hash(name), number, rehash);
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
    fn a_name_is_kept_once() {
        let mut names = Names::default();
        let numbers = ["a", "b", "", "a", "b"].map(|name| names.keep(name));
        assert_eq!(numbers.map(|it| it.0), [1, 2, 0, 1, 2]);
        assert_eq!(numbers.map(|it| names.str(it)), ["a", "b", "", "a", "b"]);
    }
}
