//! Duplicate detection by line uuid.

use std::hash::BuildHasher as _;

use bowline_jsonl::Str;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// What a line added to the transcript, so that it can be retracted by its uuid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineEffect {
    /// An entry: a prompt or a result.
    Entry(u32),
    /// Blocks of a message; the number is that of the first one.
    Blocks(u32),
    /// A message without blocks.
    Message(u32),
    /// Nothing that can be retracted.
    Nothing,
}

/// A uuid, hashed to 64 bits. Among a million lines, the probability that two share a hash is about
/// one in thirty million.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Uuid(u64);

impl Uuid {
    // The hash has a fixed seed, so that the same stream gives the same transcript, byte for byte.
    #[inline(always)]
    pub(crate) fn new(text: &str) -> Self {
        match <&[u8; UUID_LEN]>::try_from(text.as_bytes()) {
            // The loop is unrolled for the usual length.
            Ok(bytes) => Self(hash(bytes)),
            Err(_) => Self(hash(text.as_bytes())),
        }
    }

    /// The uuid of a line; `None` if it has none, or an empty one.
    #[inline(always)]
    pub(crate) fn of(uuid: Option<Str<'_>>) -> Option<Self> {
        let uuid = uuid.filter(|uuid| !uuid.is_empty())?;
        if uuid.has_escapes() {
            return Some(Self::new(&uuid.decode()));
        }
        Some(Self::new(uuid.raw()))
    }
}

/// Length of a uuid as text, in bytes (RFC 9562, section 4).
const UUID_LEN: usize = 36;

#[inline(always)]
fn hash(bytes: &[u8]) -> u64 {
    let Some(last) = bytes.last_chunk() else {
        return FixedState::with_seed(1).hash_one(bytes);
    };
    let (blocks, _) = bytes.as_chunks();
    let hash = blocks.iter().fold(bytes.len() as u64, mix);
    // Overlaps the last whole block.
    mix(hash, last)
}

/// Mixes a block into a hash by a folded multiplication, as foldhash does. It takes two thirds of the
/// instructions of foldhash for a string, and each line has a uuid.
#[inline]
fn mix(hash: u64, block: &[u8; 16]) -> u64 {
    /// Digits of pi, which fill the blocks that are mostly zeros.
    const PI: [u64; 2] = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344];
    let block = u128::from_le_bytes(*block);
    let (low, high) = (block as u64 ^ hash ^ PI[0], (block >> 64) as u64 ^ PI[1]);
    let product = u128::from(low) * u128::from(high);
    product as u64 ^ (product >> 64) as u64
}

/// Uuids of earlier lines.
///
/// Lines that make content are kept for as long as the transcript, since `supersedes` names them.
/// All other lines, mostly deltas of a draft, are kept in a window of fixed size: 8 bytes for each
/// delta would double the size of a transcript that was streamed.
#[derive(Clone, Debug, Default)]
pub(crate) struct UuidSet {
    lines: HashTable<(Uuid, LineEffect)>,
    /// The generation before `lines`, if the transcript has a window; otherwise empty.
    older: HashTable<(Uuid, LineEffect)>,
    recent: RecentUuids,
}

impl UuidSet {
    /// Bytes of the tables of lines that make content.
    pub(crate) fn size(&self) -> u64 {
        let lines = self.lines.capacity() + self.older.capacity();
        (lines * size_of::<(Uuid, LineEffect)>()) as u64
    }

    /// Returns what the line with this uuid added; `None` if no such line is known.
    pub(crate) fn effect(&self, uuid: Uuid) -> Option<LineEffect> {
        let is_match = |it: &(Uuid, LineEffect)| it.0 == uuid;
        let found = self.lines.find(uuid.0, is_match);
        let found = found.or_else(|| self.older.find(uuid.0, is_match));
        found.map(|it| it.1)
    }

    /// Records what a line added; the newest line of a uuid wins.
    pub(crate) fn record(&mut self, uuid: Uuid, effect: LineEffect) {
        match self.lines.entry(uuid.0, |it| it.0 == uuid, |it| it.0.0) {
            Entry::Occupied(mut entry) => entry.get_mut().1 = effect,
            Entry::Vacant(entry) => {
                entry.insert((uuid, effect));
            }
        }
    }

    /// Returns whether a line with this uuid came before, and adds it.
    pub(crate) fn check_and_record(&mut self, uuid: Uuid) -> bool {
        let is_known = self.effect(uuid).is_some();
        if !is_known {
            self.record(uuid, LineEffect::Nothing);
        }
        is_known
    }

    /// Drops the oldest generation once the newest has more than `max_count` uuids.
    pub(crate) fn age(&mut self, max_count: usize) {
        if self.lines.len() > max_count {
            // Swapping keeps both allocations, so that memory is flat from the second generation on.
            std::mem::swap(&mut self.older, &mut self.lines);
            self.lines.clear();
        }
    }

    /// Returns whether this uuid came recently, and adds it to the window.
    #[inline]
    pub(crate) fn check_recent(&mut self, uuid: Uuid) -> bool {
        self.recent.check(uuid.0)
    }
}

/// Most sets of the window: 8 KiB, which stays in the first-level cache. A line that is sent twice
/// comes twice in a row, or within one burst after a reconnect.
const MAX_SETS: usize = 256;

/// Uuids of a set.
const WAYS: usize = 4;

/// A set-associative window of the newest uuids: the hash selects a set. A full set grows the window,
/// or drops its oldest uuid once that is as large as it may be: then, with a hundred other lines in
/// between, one repeated line in a thousand is missed.
#[derive(Clone, Debug, Default)]
struct RecentUuids {
    /// The length is a power of two.
    sets: Box<[[u64; WAYS]]>,
}

impl RecentUuids {
    #[inline]
    fn check(&mut self, hash: u64) -> bool {
        let count = self.sets.len();
        let Some(set) = self.sets.get_mut((hash as usize) & count.wrapping_sub(1)) else {
            return self.grow_for(hash);
        };
        if set.contains(&hash) {
            return true;
        }
        let [a, b, c, last] = *set;
        if last != 0 && count < MAX_SETS {
            return self.grow_for(hash);
        }
        *set = [hash, a, b, c];
        false
    }

    /// Grows the window and adds a uuid that it does not contain.
    #[cold]
    fn grow_for(&mut self, hash: u64) -> bool {
        let sets = (2 * self.sets.len()).max(WAYS);
        let old = std::mem::replace(&mut self.sets, vec![[0; WAYS]; sets].into());
        // The oldest of each set first, to preserve the order within the new sets.
        for hash in old.iter().flat_map(|set| set.iter().rev()) {
            if *hash != 0 {
                self.check(*hash);
            }
        }
        self.check(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(n: usize) -> Uuid {
        Uuid::new(&format!("00000000-0000-4000-8000-{n:012x}"))
    }

    #[test]
    fn newest_effect_of_a_uuid_wins() {
        let mut uuids = UuidSet::default();
        let [one, two, three] = [numbered(1), Uuid::new("not a uuid"), numbered(2)];
        uuids.record(one, LineEffect::Entry(1));
        assert!(!uuids.check_and_record(two) && uuids.check_and_record(two));
        uuids.record(one, LineEffect::Blocks(2));
        assert_eq!(uuids.effect(one), Some(LineEffect::Blocks(2)));
        assert_eq!(uuids.effect(two), Some(LineEffect::Nothing));
        assert_eq!(uuids.effect(three), None);
    }

    #[test]
    fn aging_keeps_two_generations() {
        let mut uuids = UuidSet::default();
        for n in 0..100 {
            assert!(!uuids.check_and_record(numbered(n)));
            uuids.age(9);
        }
        assert!(!(0..80).any(|n| uuids.effect(numbered(n)).is_some()));
        assert!((90..100).all(|n| uuids.effect(numbered(n)).is_some()));
    }

    #[test]
    fn recent_window_grows_and_stays_bounded() {
        let mut uuids = UuidSet::default();
        for n in 0..20_000 {
            assert!(!uuids.check_recent(numbered(n)), "{n} is new");
            assert!(uuids.check_recent(numbered(n)), "{n} is repeated");
            // No uuid is dropped before the window is as large as it may be.
            let is_small = uuids.recent.sets.len() < MAX_SETS;
            assert!(!is_small || (0..n).all(|n| uuids.check_recent(numbered(n))));
        }
        assert_eq!(uuids.recent.sets.len(), MAX_SETS);
    }

    #[test]
    fn repeated_burst_is_detected() {
        for burst in [10, 40, 100, 300] {
            let mut uuids = UuidSet::default();
            let mut missed = 0;
            for start in (0..30_000).step_by(burst) {
                let lines = || (start..start + burst).map(numbered);
                lines().for_each(|line| assert!(!uuids.check_recent(line)));
                missed += lines().filter(|&line| !uuids.check_recent(line)).count();
            }
            let limit = if burst <= 100 { 30 } else { 1_500 };
            assert!(missed <= limit, "{missed} of 30,000 in bursts of {burst}");
        }
    }
}
