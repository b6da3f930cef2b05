//! From names to records, in constant time at any length of the transcript.

use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;

use crate::buckets::Buckets;
use crate::ident::Named;

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
                let one = fold(a ^ SEEDS[0], b ^ SEEDS[2]);
                let other = fold(c ^ SEEDS[1], d ^ SEEDS[3]);
                let form = form << 32 | u64::from(scope);
                Self::hashed(kind, fold(one ^ form, other ^ SEEDS[4]))
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

/// What a line with this uuid brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brought {
    /// An entry: a prompt or a result.
    Entry(u32),
    /// Blocks of a message, of which this is the first.
    Blocks(u32),
    /// This message, but no blocks.
    Message(u32),
    /// Nothing that could be taken back.
    Nothing,
}

/// A uuid, hashed to 64 bits: of a million lines, two that are not the same meet in one once in
/// thirty million sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Uuid(u64);

impl Uuid {
    /// A hash of the whole text.
    #[inline]
    pub(crate) fn new(text: &str) -> Self {
        Self(match words(text.as_bytes()) {
            Some([a, b, c, d, e]) => {
                let one = fold(a ^ SEEDS[0], b ^ SEEDS[2]);
                let other = fold(c ^ SEEDS[1], d ^ SEEDS[3]);
                fold(one ^ e, other ^ SEEDS[4])
            }
            None => FixedState::with_seed(1).hash_one(text),
        })
    }

    const fn bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }
}

/// Digits of pi, as foldhash has them.
const SEEDS: [u64; 5] = [
    0x243f_6a88_85a3_08d3,
    0x1319_8a2e_0370_7344,
    0xa409_3822_299f_31d0,
    0x082e_fa98_ec4e_6c89,
    0x4528_21e6_38d0_1377,
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

/// Lines that came before.
///
/// One that brought something takes four bytes more: four times the id, and what it names. Most
/// lines of results brought nothing that could be taken back.
#[derive(Debug, Default)]
struct Lines {
    empty: Buckets<8, 8>,
    full: Buckets<8, 12>,
}

impl Lines {
    const fn len(&self) -> usize {
        self.empty.len() + self.full.len()
    }

    fn find(&self, uuid: Uuid) -> Option<Brought> {
        let key = uuid.bytes();
        if let Some([.., a, b, c, d]) = self.full.find(&key, |_| true) {
            return Some(Brought::of(u32::from_le_bytes([a, b, c, d])));
        }
        let found = self.empty.find(&key, |_| true);
        found.map(|_| Brought::Nothing)
    }

    /// Adds a line that is not there, or says anew what it brought.
    fn note(&mut self, uuid: Uuid, brought: Brought) {
        let key = uuid.bytes();
        let Some(number) = brought.number() else {
            if self.find(uuid).is_none() {
                self.insert(uuid, brought);
            }
            return;
        };
        self.empty.remove(&key, |_| true);
        if !self.full.replace(&key, &line(key, number)) {
            self.insert(uuid, brought);
        }
    }

    /// Adds a line that is not there.
    fn insert(&mut self, uuid: Uuid, brought: Brought) {
        let key = uuid.bytes();
        match brought.number() {
            None => self.empty.insert(&key),
            Some(number) => self.full.insert(&line(key, number)),
        }
    }
}

fn line(key: [u8; 8], number: u32) -> [u8; 12] {
    let mut line = [0; 12];
    line[..8].copy_from_slice(&key);
    line[8..].copy_from_slice(&number.to_le_bytes());
    line
}

impl Brought {
    const fn number(self) -> Option<u32> {
        Some(match self {
            Self::Entry(id) => id << 2,
            Self::Blocks(id) => id << 2 | 1,
            Self::Message(id) => id << 2 | 2,
            Self::Nothing => return None,
        })
    }

    const fn of(number: u32) -> Self {
        match (number >> 2, number & 3) {
            (id, 0) => Self::Entry(id),
            (id, 1) => Self::Blocks(id),
            (id, _) => Self::Message(id),
        }
    }
}

/// Uuids of lines that came before.
///
/// Lines that make content are kept for good: their uuids are what `supersedes` names. Everything
/// else, above all the deltas of a draft, is kept in a window of fixed size.
#[derive(Debug, Default)]
pub(crate) struct Uuids {
    lines: Lines,
    /// Lines before those; none while they are kept for good.
    older: Lines,
    /// The newest line, which was not known, until it is noted what it brought.
    unknown: Option<Uuid>,
    /// The newest lines that are not kept.
    recent: Recent,
}

impl Uuids {
    pub(crate) fn line(&self, uuid: Uuid) -> Option<Brought> {
        let found = self.lines.find(uuid);
        found.or_else(|| self.older.find(uuid))
    }

    /// Notes what a line brought; the newest line of a uuid counts.
    pub(crate) fn note(&mut self, uuid: Uuid, brought: Brought) {
        if self.unknown.take() == Some(uuid) {
            self.lines.insert(uuid, brought);
        } else {
            self.lines.note(uuid, brought);
        }
    }

    /// Whether a line with this uuid came before. It is kept from now on, unless `is_noted_later`,
    /// with what it brought.
    pub(crate) fn is_known(&mut self, uuid: Uuid, is_noted_later: bool) -> bool {
        let is_known = self.line(uuid).is_some();
        self.unknown = (!is_known && is_noted_later).then_some(uuid);
        if !is_known && !is_noted_later {
            self.lines.insert(uuid, Brought::Nothing);
        }
        is_known
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
        self.recent.is_repeated(uuid.0)
    }
}

/// Most sets of recent uuids: 8 KiB in all, which stay in the cache that is nearest. A line that was
/// sent twice comes twice in a row, or within one burst of a reconnect.
const SETS: usize = 256;

/// Uuids of a set.
const WAYS: usize = 4;

/// A window of the newest uuids: a hash says in which set it lies, and a set forgets its oldest. Of
/// two lines with a hundred others between them one in a thousand is not known again.
#[derive(Debug, Default)]
struct Recent {
    /// As many as there is something to remember for; a power of two.
    sets: Box<[[u64; WAYS]]>,
    /// How many came until there were most.
    len: usize,
}

impl Recent {
    #[inline]
    fn is_repeated(&mut self, hash: u64) -> bool {
        if self.sets.len() < SETS && self.len >= 2 * self.sets.len() {
            self.grow();
        }
        let set = (hash as usize) & (self.sets.len() - 1);
        let Some(set) = self.sets.get_mut(set) else {
            return false;
        };
        let is_repeated = set.contains(&hash);
        if !is_repeated {
            let [a, b, c, _] = *set;
            *set = [hash, a, b, c];
            self.len += 1;
        }
        is_repeated
    }

    #[cold]
    fn grow(&mut self) {
        let sets = (2 * self.sets.len()).max(WAYS);
        let old = std::mem::replace(&mut self.sets, vec![[0; WAYS]; sets].into());
        self.len = 0;
        // The oldest of each set first, so that they stand in it as they did.
        for hash in old.iter().flat_map(|set| set.iter().rev()) {
            if *hash != 0 {
                self.is_repeated(*hash);
            }
        }
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
        assert!(!uuids.is_known(two, false) && uuids.is_known(two, false));
        assert!(!uuids.is_known(three, true));
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
        let mut hashes: Vec<_> = seen.iter().map(|it| it.0).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 1 + 32 * 15);
    }

    fn numbered(n: usize) -> Uuid {
        Uuid::new(&format!("00000000-0000-4000-8000-{n:012x}"))
    }

    #[test]
    fn the_window_knows_a_line_that_comes_again() {
        let mut uuids = Uuids::default();
        assert!(!uuids.is_repeated(numbered(1)));
        assert!(uuids.is_repeated(numbered(1)));
        assert!(!uuids.is_repeated(numbered(2)));
        assert!(uuids.is_repeated(numbered(1)));
    }

    #[test]
    fn the_window_grows_and_stays_bounded() {
        let mut uuids = Uuids::default();
        for n in 0..20_000 {
            assert!(!uuids.is_repeated(numbered(n)), "{n} is new");
            assert!(uuids.is_repeated(numbered(n)), "{n} came");
            assert!(uuids.recent.sets.len() <= (n + 2).next_power_of_two().max(WAYS));
        }
        assert_eq!(uuids.recent.sets.len(), SETS);
    }

    #[test]
    fn a_burst_that_comes_again_is_known() {
        for burst in [10, 40, 100, 300] {
            let mut uuids = Uuids::default();
            let mut missed = 0;
            for start in (0..30_000).step_by(burst) {
                let lines = || (start..start + burst).map(numbered);
                lines().for_each(|line| assert!(!uuids.is_repeated(line)));
                missed += lines().filter(|&line| !uuids.is_repeated(line)).count();
            }
            let most = if burst <= 100 { 30 } else { 1_500 };
            assert!(missed <= most, "{missed} of 30,000 in bursts of {burst}");
        }
    }
}
