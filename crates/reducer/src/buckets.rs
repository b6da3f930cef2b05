//! Small entries by their hash, close together.
//!
//! A hash table that doubles has room for half as much again on average, and for as much again at
//! worst. Here entries lie in buckets that grow by a few at a time, and one bucket after the other
//! is split in two as more come (linear hashing): there is little room to spare at any length, and
//! no moment at which everything moves.

use memchr::memchr_iter;

/// Entries of a bucket on average; all of a bucket are looked at.
const LOAD: usize = 64;

/// Which byte of an entry is its tag. A bucket is its entries without their tags, and behind them the
/// tags: whoever looks for one reads a cache line or two.
const TAG: usize = 2;

/// Entries that a bucket grows by.
const STEP: usize = 8;

/// Buckets that the list of them grows by at least, and beyond that by this part of it.
const BUCKETS: usize = 8;

/// Bytes of a key that say in which bucket an entry lies.
const HASH: usize = 3;

/// Entries of `W` bytes, of which the first `K` are a hash.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buckets<const K: usize, const W: usize> {
    buckets: Vec<Vec<u8>>,
    len: usize,
}

impl<const K: usize, const W: usize> Buckets<K, W> {
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// The first entry with this key for which `is_it` holds.
    #[inline]
    pub(crate) fn find(&self, key: &[u8; K], is_it: impl Fn(&[u8; W]) -> bool) -> Option<[u8; W]> {
        let bucket = self.buckets.get(self.bucket_of(key))?;
        place(bucket, key, is_it).map(|(_, entry)| entry)
    }

    /// Puts an entry in the place of the first one with this key; says whether there is one.
    pub(crate) fn replace(&mut self, key: &[u8; K], entry: &[u8; W]) -> bool {
        let bucket = self.bucket_of(key);
        let Some(bucket) = self.buckets.get_mut(bucket) else {
            return false;
        };
        let found = place::<K, W>(bucket, key, |_| true);
        found.map(|(at, _)| set(bucket, at, entry)).is_some()
    }

    /// Adds an entry.
    pub(crate) fn insert(&mut self, entry: &[u8; W]) {
        if self.len >= LOAD * self.buckets.len() {
            self.split();
        }
        let bucket = self.bucket_of(entry);
        if let Some(bucket) = self.buckets.get_mut(bucket) {
            if bucket.capacity() == bucket.len() {
                bucket.reserve_exact(STEP * W);
            }
            push(bucket, entry);
            self.len += 1;
        }
    }

    /// Takes the first entry with this key for which `is_it` holds out.
    pub(crate) fn remove(&mut self, key: &[u8; K], is_it: impl Fn(&[u8; W]) -> bool) {
        let bucket = self.bucket_of(key);
        let Some(bucket) = self.buckets.get_mut(bucket) else {
            return;
        };
        if let Some((at, _)) = place(bucket, key, is_it) {
            take::<W>(bucket, at);
            self.len -= 1;
        }
    }

    /// In which bucket entries with this key lie: those that were split this time round look at one
    /// bit more.
    #[inline]
    fn bucket_of(&self, key: &[u8]) -> usize {
        let hash = hash(key);
        let most = self.buckets.len().next_power_of_two();
        let bucket = hash & (most - 1);
        if bucket < self.buckets.len() {
            bucket
        } else {
            bucket - most / 2
        }
    }

    /// Adds a bucket, and gives it half of the one that is next.
    #[cold]
    fn split(&mut self) {
        let new = self.buckets.len();
        if new == self.buckets.capacity() {
            self.buckets.reserve_exact(BUCKETS.max(new / 16));
        }
        self.buckets.push(Vec::new());
        let round = (new + 1).next_power_of_two();
        let Some(old) = new
            .checked_sub(round / 2)
            .and_then(|at| self.buckets.get_mut(at))
        else {
            return;
        };
        let [stay, go] = halves::<W>(old, round / 2);
        *old = stay;
        if let Some(last) = self.buckets.last_mut() {
            *last = go;
        }
    }
}

/// The number and the bytes of the first entry with this key for which `is_it` holds.
#[inline]
fn place<const K: usize, const W: usize>(
    bucket: &[u8],
    key: &[u8; K],
    is_it: impl Fn(&[u8; W]) -> bool,
) -> Option<(usize, [u8; W])> {
    memchr_iter(key[TAG], tags::<W>(bucket)).find_map(|at| {
        let entry = get(bucket, at)?;
        (entry.starts_with(key) && is_it(&entry)).then_some((at, entry))
    })
}

/// The tags of a bucket.
#[inline]
fn tags<const W: usize>(bucket: &[u8]) -> &[u8] {
    bucket.get(bucket.len() / W * (W - 1)..).unwrap_or_default()
}

#[inline]
fn get<const W: usize>(bucket: &[u8], at: usize) -> Option<[u8; W]> {
    let rest = bucket.get(at * (W - 1)..)?.get(..W - 1)?;
    let mut entry = [0; W];
    entry[..TAG].copy_from_slice(&rest[..TAG]);
    entry[TAG] = *tags::<W>(bucket).get(at)?;
    entry[TAG + 1..].copy_from_slice(&rest[TAG..]);
    Some(entry)
}

fn set<const W: usize>(bucket: &mut [u8], at: usize, entry: &[u8; W]) {
    let tags = bucket.len() / W * (W - 1);
    bucket[tags + at] = entry[TAG];
    let rest = &mut bucket[at * (W - 1)..][..W - 1];
    rest[..TAG].copy_from_slice(&entry[..TAG]);
    rest[TAG..].copy_from_slice(&entry[TAG + 1..]);
}

/// Adds an entry behind the others.
fn push<const W: usize>(bucket: &mut Vec<u8>, entry: &[u8; W]) {
    let (len, before) = (bucket.len() / W, bucket.len());
    bucket.resize(before + W, 0);
    let tags = len * (W - 1);
    bucket.copy_within(tags..before, tags + (W - 1));
    set(bucket, len, entry);
}

/// Takes an entry out, whose place the last one gets.
fn take<const W: usize>(bucket: &mut Vec<u8>, at: usize) {
    let Some(last) = (bucket.len() / W).checked_sub(1) else {
        return;
    };
    if let Some(entry) = get(bucket, last) {
        set::<W>(bucket, at, &entry);
    }
    let tags = last * (W - 1);
    bucket.copy_within(tags + (W - 1)..tags + (W - 1) + last, tags);
    bucket.truncate(last * W);
}

/// Both halves of a bucket: of the entries with a bit of their hash not set, and of those that have it.
fn halves<const W: usize>(all: &[u8], bit: usize) -> [Vec<u8>; 2] {
    let tags = tags::<W>(all);
    let entries = all.chunks_exact(W - 1).zip(tags);
    let half = |(rest, &tag): (&[u8], &u8)| usize::from(hash(&[rest[0], rest[1], tag]) & bit != 0);
    let others: usize = entries.clone().map(half).sum();
    let mut halves = [tags.len() - others, others].map(|len| Vec::with_capacity(len * W));
    for (rest, tag) in entries.clone() {
        halves[half((rest, tag))].extend_from_slice(rest);
    }
    for (rest, tag) in entries {
        halves[half((rest, tag))].push(*tag);
    }
    halves
}

#[inline]
fn hash(key: &[u8]) -> usize {
    let bytes = key.first_chunk::<HASH>().unwrap_or(&[0; HASH]);
    let [a, b, c] = *bytes;
    u32::from_le_bytes([a, b, c, 0]) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u32) -> ([u8; 4], [u8; 8]) {
        let key = number
            .wrapping_mul(0x9e37_79b1)
            .rotate_left(13)
            .to_le_bytes();
        let mut entry = [0; 8];
        entry[..4].copy_from_slice(&key);
        entry[4..].copy_from_slice(&number.to_le_bytes());
        (key, entry)
    }

    #[test]
    fn every_entry_is_found_and_no_other() {
        let mut buckets = Buckets::<4, 8>::default();
        for number in 0..20_000 {
            let (key, entry) = entry(number);
            assert_eq!(buckets.find(&key, |_| true), None);
            buckets.insert(&entry);
            assert_eq!(buckets.find(&key, |_| true), Some(entry));
        }
        for number in 0..20_000 {
            let (key, entry) = entry(number);
            assert_eq!(buckets.find(&key, |_| true), Some(entry), "{number}");
        }
        for number in 0..20_000 {
            let (key, entry) = entry(number);
            buckets.remove(&key, |it| *it == entry);
            assert_eq!(buckets.find(&key, |_| true), None);
        }
        assert_eq!(buckets.len(), 0);
    }

    #[test]
    fn entries_with_one_key_are_apart() {
        let mut buckets = Buckets::<3, 4>::default();
        for last in 0..100 {
            buckets.insert(&[1, 2, 3, last]);
        }
        assert_eq!(
            buckets.find(&[1, 2, 3], |it| it[3] == 77),
            Some([1, 2, 3, 77])
        );
        buckets.remove(&[1, 2, 3], |it| it[3] == 77);
        assert_eq!(buckets.find(&[1, 2, 3], |it| it[3] == 77), None);
        assert_eq!(buckets.len(), 99);
    }

    #[test]
    fn there_is_little_room_to_spare_at_any_length() {
        let mut buckets = Buckets::<4, 8>::default();
        for number in 0..40_000 {
            buckets.insert(&entry(number).1);
            if number >= 1000 {
                let held: usize = buckets.buckets.iter().map(Vec::capacity).sum();
                let lists = buckets.buckets.capacity() * size_of::<Vec<u8>>();
                let all = held + lists;
                assert!(all * 100 <= buckets.len() * 8 * 130, "{all} for {number}");
            }
        }
    }
}
