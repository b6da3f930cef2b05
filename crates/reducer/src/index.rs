//! From names to records, in constant time at any length of the transcript.

use std::hash::{BuildHasher as _, Hash as _, Hasher as _};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use crate::arena::{Arena, Atom};

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

#[derive(Clone, Copy, Debug)]
struct Named {
    hash: u64,
    name: Atom,
    scope: u32,
    id: u32,
    kind: Kind,
}

/// Ids by name. The names lie in the arena, so that a new one costs no allocation.
#[derive(Debug, Default)]
pub(crate) struct Index {
    names: HashTable<Named>,
}

impl Index {
    pub(crate) fn find(&self, arena: &Arena, kind: Kind, scope: u32, name: &str) -> Option<u32> {
        let same = |it: &Named| it.kind == kind && it.scope == scope && arena.str(it.name) == name;
        let found = self.names.find(hash(kind, scope, name), same);
        found.map(|it| it.id)
    }

    /// Adds a name that is not there yet.
    pub(crate) fn insert(&mut self, arena: &Arena, kind: Kind, scope: u32, name: Atom, id: u32) {
        let hash = hash(kind, scope, arena.str(name));
        let named = Named {
            hash,
            name,
            scope,
            id,
            kind,
        };
        self.names.insert_unique(hash, named, |it| it.hash);
    }
}

/// The seed is fixed: the same stream gives the same transcript, byte for byte.
fn hash(kind: Kind, scope: u32, name: &str) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    kind.hash(&mut hasher);
    scope.hash(&mut hasher);
    name.hash(&mut hasher);
    hasher.finish()
}

/// What a line with this uuid brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brought {
    /// An entry: a prompt or a result.
    Entry(u32),
    /// Blocks of this entry.
    Blocks(u32),
    /// Nothing that could be taken back.
    Nothing,
}

/// A uuid, hashed to 128 bits: two uuids that are not the same never meet in one.
type Key = [u64; 2];

#[derive(Clone, Copy, Debug)]
struct Line {
    key: Key,
    brought: Brought,
}

/// Uuids of lines that came before.
///
/// Lines that make content are kept for good: their uuids are what `supersedes` names. Everything
/// else, above all the deltas of a draft, is kept in a window of fixed size.
#[derive(Debug, Default)]
pub(crate) struct Uuids {
    lines: HashTable<Line>,
    recent: Box<[u64]>,
}

/// How many recent uuids are kept at most; 32 KiB in all. A line that was sent twice comes twice
/// in a row, or within one burst of a reconnect.
const RECENT: usize = 4096;

impl Uuids {
    pub(crate) fn line(&self, uuid: &str) -> Option<Brought> {
        let key = key(uuid);
        let found = self.lines.find(key[0], |it| it.key == key);
        found.map(|it| it.brought)
    }

    /// Notes what a line brought; the newest line of a uuid counts.
    pub(crate) fn note(&mut self, uuid: &str, brought: Brought) {
        let key = key(uuid);
        match self.lines.find_mut(key[0], |it| it.key == key) {
            Some(line) => line.brought = brought,
            None => {
                let line = Line { key, brought };
                self.lines.insert_unique(key[0], line, |it| it.key[0]);
            }
        }
    }

    /// Whether this uuid came a short while ago; it is remembered from now on.
    pub(crate) fn is_repeated(&mut self, uuid: &str) -> bool {
        if self.recent.is_empty() {
            self.recent = vec![0; RECENT].into_boxed_slice();
        }
        let key = half(uuid, 1);
        let Some(slot) = self.recent.get_mut((key as usize) % RECENT) else {
            return false;
        };
        std::mem::replace(slot, key) == key
    }
}

fn key(uuid: &str) -> Key {
    [half(uuid, 1), half(uuid, 2)]
}

fn half(uuid: &str, seed: u64) -> u64 {
    FixedState::with_seed(seed).hash_one(uuid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_apart_by_kind_and_scope() {
        let (mut arena, mut index) = (Arena::default(), Index::default());
        let name = arena.atom("msg_1");
        index.insert(&arena, Kind::Message, 0, name, 7);
        assert_eq!(index.find(&arena, Kind::Message, 0, "msg_1"), Some(7));
        assert_eq!(index.find(&arena, Kind::Message, 1, "msg_1"), None);
        assert_eq!(index.find(&arena, Kind::Call, 0, "msg_1"), None);
    }

    #[test]
    fn lines_are_kept_and_the_newest_counts() {
        let mut uuids = Uuids::default();
        let (one, two) = ("aaaaaaaa-0000-4000-8000-000000000001", "not a uuid");
        uuids.note(one, Brought::Entry(1));
        uuids.note(two, Brought::Nothing);
        uuids.note(one, Brought::Entry(2));
        assert_eq!(uuids.line(one), Some(Brought::Entry(2)));
        assert_eq!(uuids.line(two), Some(Brought::Nothing));
        assert_eq!(uuids.line("aaaaaaaa-0000-4000-8000-000000000002"), None);
    }

    #[test]
    fn the_window_knows_a_line_that_comes_again() {
        let mut uuids = Uuids::default();
        let uuid = |n: u32| format!("00000000-0000-4000-8000-{n:012x}");
        assert!(!uuids.is_repeated(&uuid(1)));
        assert!(uuids.is_repeated(&uuid(1)));
        assert!(!uuids.is_repeated(&uuid(2)));
        assert!(uuids.is_repeated(&uuid(1)));
    }
}
