//! From names to records, in constant time at any length of the transcript.

use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

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
/// no names: eight bytes for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    kind: Kind,
    hash: u32,
}

impl Key {
    pub(crate) fn new(kind: Kind, scope: u32, name: &str) -> Self {
        // The seed is fixed: the same stream gives the same transcript, byte for byte.
        let hash = FixedState::with_seed(u64::from(scope)).hash_one(name);
        let hash = (hash >> 32) as u32;
        Self { kind, hash }
    }
}

#[derive(Clone, Copy, Debug)]
struct Named {
    hash: u32,
    id: u32,
}

impl Named {
    fn hash(&self) -> u64 {
        spread(self.hash)
    }
}

/// The table looks at both ends of a hash.
const fn spread(hash: u32) -> u64 {
    (hash as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Ids by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    names: [HashTable<Named>; 5],
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

    fn names(&self, kind: Kind) -> &HashTable<Named> {
        &self.names[kind as usize]
    }

    /// The id with this key that `is_it`: keys of two names may be the same.
    #[inline]
    pub(crate) fn find(&self, key: Key, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let same = |it: &Named| it.hash == key.hash && is_it(it.id);
        let found = self.names(key.kind).find(spread(key.hash), same);
        found.map(|it| it.id)
    }

    /// Adds an id whose name is not there yet.
    pub(crate) fn insert(&mut self, key: Key, id: u32) {
        let named = Named { hash: key.hash, id };
        self.names[key.kind as usize].insert_unique(named.hash(), named, Named::hash);
    }
}

impl Index {
    /// Forgets a name.
    pub(crate) fn remove(&mut self, key: Key, id: u32) {
        let same = |it: &Named| it.hash == key.hash && it.id == id;
        let names = &mut self.names[key.kind as usize];
        if let Ok(named) = names.find_entry(spread(key.hash), same) {
            named.remove();
        }
    }
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

/// A uuid, hashed to 96 bits: two uuids that are not the same never meet in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Uuid {
    first: u64,
    second: u32,
}

impl Uuid {
    /// Two independent hashes of the whole text.
    #[inline]
    pub(crate) fn new(text: &str) -> Self {
        let [first, second] = match words(text.as_bytes()) {
            Some([a, b, c, d, e]) => {
                let [x, y] = [a ^ SEEDS[0], c ^ SEEDS[1]];
                let both = [fold(x, b ^ SEEDS[2]), fold(y, d ^ SEEDS[3])];
                let first = fold(both[0] ^ e, both[1] ^ SEEDS[4]);
                [first, fold(both[0] ^ SEEDS[5], both[1].wrapping_add(e))]
            }
            None => [1, 2].map(|seed| FixedState::with_seed(seed).hash_one(text)),
        };
        Self {
            first,
            second: second as u32,
        }
    }
}

/// Digits of pi, as foldhash has them.
const SEEDS: [u64; 6] = [
    0x243f_6a88_85a3_08d3,
    0x1319_8a2e_0370_7344,
    0xa409_3822_299f_31d0,
    0x082e_fa98_ec4e_6c89,
    0x4528_21e6_38d0_1377,
    0xbe54_66cf_34e9_0c6c,
];

/// The text of a uuid as words, of which the last two overlap; none for a text of another length.
#[inline]
fn words(text: &[u8]) -> Option<[u64; 5]> {
    if text.len() != 36 {
        return None;
    }
    let word = |at: usize| {
        let bytes = text.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map(|bytes| u64::from_le_bytes(*bytes))
    };
    Some([word(0)?, word(8)?, word(16)?, word(24)?, word(28)?])
}

/// Both halves of the product.
#[inline]
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

/// What a line brought, in 16 bytes.
#[derive(Clone, Copy, Debug)]
struct Line {
    first: u64,
    second: u32,
    /// The id, doubled, and one more for blocks.
    brought: u32,
}

/// A line that brought nothing.
const NOTHING: u32 = u32::MAX;

impl Line {
    const fn new(uuid: Uuid, brought: Brought) -> Self {
        Self {
            first: uuid.first,
            second: uuid.second,
            brought: match brought {
                Brought::Entry(id) => id << 1,
                Brought::Blocks(id) => id << 1 | 1,
                Brought::Nothing => NOTHING,
            },
        }
    }

    const fn brought(self) -> Brought {
        match (self.brought, self.brought & 1) {
            (NOTHING, _) => Brought::Nothing,
            (id, 0) => Brought::Entry(id >> 1),
            (id, _) => Brought::Blocks(id >> 1),
        }
    }

    fn is_of(&self, uuid: Uuid) -> bool {
        self.first == uuid.first && self.second == uuid.second
    }

    const fn hash(&self) -> u64 {
        self.first
    }
}

/// Uuids of lines that came before.
///
/// Lines that make content are kept for good: their uuids are what `supersedes` names. Everything
/// else, above all the deltas of a draft, is kept in a window of fixed size.
#[derive(Debug, Default)]
pub(crate) struct Uuids {
    lines: HashTable<Line>,
    /// Lines before those; none while they are kept for good.
    older: HashTable<Line>,
    /// The first uuids of a session, hashed: a short one needs no more.
    few: HashTable<u64>,
    /// The newest uuids, hashed, each where its hash says; empty while there are few.
    recent: Box<[u64]>,
}

/// How many recent uuids are kept at most; 32 KiB in all. A line that was sent twice comes twice
/// in a row, or within one burst of a reconnect.
const RECENT: usize = 4096;

/// How many are few: what the table of them takes, 9 bytes a place and at most twice as many places,
/// is a fraction of that of many.
const FEW: usize = 448;

impl Uuids {
    pub(crate) fn line(&self, uuid: Uuid) -> Option<Brought> {
        let same = |it: &Line| it.is_of(uuid);
        let found = self.lines.find(uuid.first, same);
        let found = found.or_else(|| self.older.find(uuid.first, same));
        found.map(|it| it.brought())
    }

    /// Notes what a line brought; the newest line of a uuid counts.
    pub(crate) fn note(&mut self, uuid: Uuid, brought: Brought) {
        let line = Line::new(uuid, brought);
        let same = |it: &Line| it.is_of(uuid);
        match self.lines.entry(uuid.first, same, Line::hash) {
            Entry::Occupied(mut known) => *known.get_mut() = line,
            Entry::Vacant(free) => drop(free.insert(line)),
        }
    }

    /// Whether a line with this uuid came before; it is kept from now on.
    pub(crate) fn is_known(&mut self, uuid: Uuid) -> bool {
        let same = |it: &Line| it.is_of(uuid);
        if !self.older.is_empty() && self.older.find(uuid.first, same).is_some() {
            return true;
        }
        match self.lines.entry(uuid.first, same, Line::hash) {
            Entry::Occupied(_) => true,
            Entry::Vacant(free) => {
                free.insert(Line::new(uuid, Brought::Nothing));
                false
            }
        }
    }

    /// Forgets the oldest lines, so that `most` of them and as many again are kept at most.
    pub(crate) fn age(&mut self, most: usize) {
        if self.lines.len() > most {
            self.older = std::mem::take(&mut self.lines);
        }
    }

    /// Whether this uuid came a short while ago; it is remembered from now on.
    #[inline]
    pub(crate) fn is_repeated(&mut self, uuid: Uuid) -> bool {
        match self.recent.get_mut((uuid.first as usize) % RECENT) {
            Some(slot) => std::mem::replace(slot, uuid.first) == uuid.first,
            None => self.is_among_few(uuid.first),
        }
    }

    #[cold]
    fn is_among_few(&mut self, hash: u64) -> bool {
        match self.few.entry(hash, |&it| it == hash, |&it| it) {
            Entry::Occupied(_) => return true,
            Entry::Vacant(free) => drop(free.insert(hash)),
        }
        if self.few.len() >= FEW {
            self.recent = vec![0; RECENT].into_boxed_slice();
            for hash in std::mem::take(&mut self.few) {
                self.recent[hash as usize % RECENT] = hash;
            }
        }
        false
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

    #[test]
    fn lines_are_kept_and_the_newest_counts() {
        let mut uuids = Uuids::default();
        let [one, two, three] = [
            "aaaaaaaa-0000-4000-8000-000000000001",
            "not a uuid",
            "aaaaaaaa-0000-4000-8000-000000000002",
        ]
        .map(Uuid::new);
        uuids.note(one, Brought::Entry(1));
        assert!(!uuids.is_known(two) && uuids.is_known(two));
        uuids.note(one, Brought::Blocks(2));
        assert_eq!(uuids.line(one), Some(Brought::Blocks(2)));
        assert_eq!(uuids.line(two), Some(Brought::Nothing));
        assert_eq!(uuids.line(three), None);
    }

    #[test]
    fn uuids_that_differ_in_any_digit_are_apart() {
        let uuid = "0f14e45f-ceea-467f-a0e6-c7b1d3a5f201";
        let mut seen = vec![Uuid::new(uuid)];
        for at in (0..uuid.len()).filter(|&at| uuid.as_bytes()[at] != b'-') {
            for digit in "0123456789abcdef".chars() {
                let mut other = uuid.to_owned();
                other.replace_range(at..=at, &digit.to_string());
                if other != uuid {
                    seen.push(Uuid::new(&other));
                }
            }
        }
        let mut firsts: Vec<_> = seen.iter().map(|it| it.first).collect();
        let mut seconds: Vec<_> = seen.iter().map(|it| it.second).collect();
        firsts.sort_unstable();
        firsts.dedup();
        seconds.sort_unstable();
        seconds.dedup();
        assert_eq!(firsts.len(), 1 + 32 * 15);
        assert!(seconds.len() > 32 * 15 - 2);
    }

    #[test]
    fn the_window_knows_a_line_that_comes_again() {
        let mut uuids = Uuids::default();
        let uuid = |n: u32| Uuid::new(&format!("00000000-0000-4000-8000-{n:012x}"));
        assert!(!uuids.is_repeated(uuid(1)));
        assert!(uuids.is_repeated(uuid(1)));
        assert!(!uuids.is_repeated(uuid(2)));
        assert!(uuids.is_repeated(uuid(1)));
    }

    #[test]
    fn the_window_grows_and_stays_bounded() {
        let mut uuids = Uuids::default();
        let uuid = |n: usize| Uuid::new(&format!("00000000-0000-4000-8000-{n:012x}"));
        for n in 1..FEW {
            assert!(!uuids.is_repeated(uuid(n)), "{n} is new");
        }
        assert!(uuids.recent.is_empty() && uuids.few.len() == FEW - 1);
        assert!((1..FEW).all(|n| uuids.is_repeated(uuid(n))));
        for n in FEW..20_000 {
            assert!(!uuids.is_repeated(uuid(n)), "{n} is new");
            assert!(uuids.is_repeated(uuid(n)), "{n} came");
        }
        assert_eq!((uuids.recent.len(), uuids.few.capacity()), (RECENT, 0));
    }
}
