//! Hash index from external ids to record numbers.

use std::hash::{BuildHasher as _, Hash};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// The kind of id that is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexKind {
    /// `message.id`, scoped by its thread.
    Message,
    /// `tool_use.id`
    Call,
    /// `task_id`
    Task,
    /// The `tool_use_id` of a task; finds the first task of the call.
    TaskOfCall,
    /// `request_id` of a permission request.
    Permission,
    /// The id of a sub-agent's thread.
    Thread,
    /// The number of a part of a message that a dialect names, scoped by its entry.
    Part,
}

/// A hashed id. The index stores no ids: the record that an entry points to knows its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexKey {
    kind: IndexKind,
    hash: u32,
}

impl IndexKey {
    // The hash has a fixed seed, so that the same stream gives the same transcript, byte for byte.
    #[inline]
    pub(crate) fn new(kind: IndexKind, scope: u32, id: &str) -> Self {
        let hash = hash(id) ^ scope.wrapping_mul(0x9e37_79b1);
        Self { kind, hash }
    }

    /// The key of a part of the message with this number.
    pub(crate) fn part(entry: u32, index: u32) -> Self {
        let hash = fold_hash((entry, index));
        Self {
            kind: IndexKind::Part,
            hash,
        }
    }
}

/// Hashes an id to 32 bits.
pub(crate) fn hash(id: &str) -> u32 {
    fold_hash(id)
}

fn fold_hash(value: impl Hash) -> u32 {
    let hash = FixedState::default().hash_one(value);
    (hash >> 32) as u32 ^ hash as u32
}

/// Spreads 32 bits over the 64 that the table takes its slot and its tag from.
const fn spread(hash: u32) -> u64 {
    (hash as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// An id's hash, and the number of its record.
type IndexEntry = (u32, u32);

/// Record numbers by id.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    tables: [HashTable<IndexEntry>; 7],
    is_absent: bool,
}

impl Index {
    /// An index for a copy that is only read; its records are searched one by one.
    pub(crate) fn absent() -> Self {
        Self {
            is_absent: true,
            ..Self::default()
        }
    }

    pub(crate) const fn is_absent(&self) -> bool {
        self.is_absent
    }

    /// Bytes of the tables.
    pub(crate) fn size(&self) -> u64 {
        let entries: usize = self.tables.iter().map(HashTable::capacity).sum();
        (entries * size_of::<IndexEntry>()) as u64
    }

    /// Returns the record with this key for which `is_match` holds; two ids may have the same key.
    #[inline]
    pub(crate) fn find(&self, key: IndexKey, is_match: impl Fn(u32) -> bool) -> Option<u32> {
        let is_match = |&(hash, number): &IndexEntry| hash == key.hash && is_match(number);
        let found = self.tables[key.kind as usize].find(spread(key.hash), is_match);
        found.map(|&(_, number)| number)
    }

    /// Adds a record whose id is not in the index yet.
    pub(crate) fn insert(&mut self, key: IndexKey, number: u32) {
        let table = &mut self.tables[key.kind as usize];
        table.insert_unique(spread(key.hash), (key.hash, number), |it| spread(it.0));
    }

    /// Removes a record.
    pub(crate) fn remove(&mut self, key: IndexKey, number: u32) {
        let table = &mut self.tables[key.kind as usize];
        if let Ok(entry) = table.find_entry(spread(key.hash), |it| *it == (key.hash, number)) {
            entry.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_by_kind_and_scope() {
        let mut index = Index::default();
        let key = IndexKey::new(IndexKind::Message, 0, "msg_1");
        index.insert(key, 7);
        assert_eq!(index.find(key, |_| true), Some(7));
        assert_eq!(index.find(key, |number| number != 7), None);
        for other in [
            IndexKey::new(IndexKind::Message, 1, "msg_1"),
            IndexKey::new(IndexKind::Call, 0, "msg_1"),
        ] {
            assert_eq!(index.find(other, |_| true), None);
        }
        index.remove(key, 7);
        assert_eq!(index.find(key, |_| true), None);
    }
}
