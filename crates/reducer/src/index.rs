//! From names to records, in constant time at any length of the transcript.

use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;

use crate::buckets::Buckets;
use crate::ident::Named;
use crate::mix::mixed;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// `message.id`, scoped by its thread.
    Message,
    /// `tool_use.id`
    Call,
    /// `task_id`
    Task,
    /// The `tool_use_id` of a task: the first task of the call.
    TaskOfCall,
    /// `request_id` of a permission request.
    Permission,
}

/// A name, hashed. The record that it may stand for knows whether it does, so that the index holds
/// no names: seven bytes for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    kind: Kind,
    hash: [u8; 3],
}

impl Key {
    // The seeds are fixed: the same stream gives the same transcript, byte for byte.
    pub(crate) fn new(kind: Kind, scope: u32, name: &str) -> Self {
        let hash = FixedState::with_seed(u64::from(scope)).hash_one(name);
        Self::hashed(kind, hash)
    }

    /// That of an id of the API.
    pub(crate) fn of_id(kind: Kind, scope: u32, id: Named<'_>) -> Self {
        match id {
            Named::Spelled(id) => {
                let (form, [a, b, c, d]) = id.numbers();
                let form = form << 32 | u64::from(scope);
                Self::hashed(kind, mixed([a, b, c, d, form]))
            }
            Named::Said(id) => Self::new(kind, scope, id),
        }
    }

    const fn hashed(kind: Kind, hash: u64) -> Self {
        let [.., a, b, c] = hash.to_le_bytes();
        let hash = [a, b, c];
        Self { kind, hash }
    }

    /// Its hash, and an id.
    const fn with(self, id: u32) -> [u8; 7] {
        let ([a, b, c], [d, e, f, g]) = (self.hash, id.to_le_bytes());
        [a, b, c, d, e, f, g]
    }
}

fn id_of([.., d, e, f, g]: [u8; 7]) -> u32 {
    u32::from_le_bytes([d, e, f, g])
}

/// Ids by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    names: [Buckets<3, 7>; 5],
    is_absent: bool,
}

impl Index {
    /// That of a copy that nothing is added to: names are searched for.
    pub(crate) fn absent() -> Self {
        Self {
            is_absent: true,
            ..Self::default()
        }
    }

    pub(crate) const fn is_absent(&self) -> bool {
        self.is_absent
    }

    /// The id with this key that `is_it`: keys of two names may be the same.
    #[inline]
    pub(crate) fn find(&self, key: Key, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let names = &self.names[key.kind as usize];
        let found = names.find(&key.hash, |named| is_it(id_of(*named)));
        found.map(id_of)
    }

    /// Adds an id whose name is not there yet.
    pub(crate) fn insert(&mut self, key: Key, id: u32) {
        self.names[key.kind as usize].insert(&key.with(id));
    }

    /// Forgets a name.
    pub(crate) fn remove(&mut self, key: Key, id: u32) {
        let named = key.with(id);
        self.names[key.kind as usize].remove(&key.hash, |it| *it == named);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_apart_by_kind_and_scope() {
        let mut index = Index::default();
        let key = Key::new(Kind::Message, 0, "msg_1");
        index.insert(key, 7);
        assert_eq!(index.find(key, |_| true), Some(7));
        assert_eq!(index.find(key, |id| id != 7), None);
        assert_eq!(
            index.find(Key::new(Kind::Message, 1, "msg_1"), |_| true),
            None
        );
        assert_eq!(index.find(Key::new(Kind::Call, 0, "msg_1"), |_| true), None);
    }
}
