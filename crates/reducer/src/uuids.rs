//! Lines that came before, by their uuid.

use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;

use crate::buckets::Buckets;
use crate::mix::mixed;

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
            Some(words) => mixed(words),
            None => FixedState::with_seed(1).hash_one(text),
        })
    }

    const fn bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }
}

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
