//! Small entries by their hash, close together.
//!
//! A hash table that doubles has room for half as much again on average, and for as much again at
//! worst. Here entries lie in buckets that grow by a few at a time, and one bucket after the other
//! is split in two as more come (linear hashing): there is little room to spare at any length, and
//! no moment at which everything moves.

/// Entries of a bucket on average; all of a bucket are looked at.
const LOAD: usize = 48;

/// Entries that are looked at at once.
const AT_ONCE: usize = 8;

/// Entries that a bucket grows by.
const STEP: usize = 3;

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
    pub(crate) fn find(&self, key: &[u8; K], is_it: impl Fn(&[u8; W]) -> bool) -> Option<&[u8; W]> {
        let bucket = self.buckets.get(self.bucket_of(key))?;
        let hash = hash(key);
        for entries in bucket.as_chunks().0.chunks(AT_ONCE) {
            // One branch for all of them: nearly always it is none.
            let is_near = |is, entry: &[u8; W]| is | (self::hash(entry) == hash);
            if entries.iter().fold(false, is_near) {
                let mut same = entries.iter().filter(|entry| entry.starts_with(key));
                if let Some(found) = same.find(|entry| is_it(entry)) {
                    return Some(found);
                }
            }
        }
        None
    }

    /// The first entry with this key, whose other bytes may be changed.
    pub(crate) fn find_mut(&mut self, key: &[u8; K]) -> Option<&mut [u8; W]> {
        let bucket = self.bucket_of(key);
        let entries = self.buckets.get_mut(bucket)?.as_chunks_mut().0;
        entries.iter_mut().find(|entry| entry.starts_with(key))
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
            bucket.extend_from_slice(entry);
            self.len += 1;
        }
    }

    /// Takes the first entry with this key for which `is_it` holds out.
    pub(crate) fn remove(&mut self, key: &[u8; K], is_it: impl Fn(&[u8; W]) -> bool) {
        let bucket = self.bucket_of(key);
        let Some(bucket) = self.buckets.get_mut(bucket) else {
            return;
        };
        let entries = bucket.as_chunks_mut().0;
        let is_found = |entry: &[u8; W]| entry.starts_with(key) && is_it(entry);
        if let Some(at) = entries.iter().position(is_found) {
            entries.swap(at, entries.len() - 1);
            bucket.truncate(bucket.len() - W);
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
        let all = std::mem::take(old);
        let entries = all.as_chunks::<W>().0;
        let goes = |entry: &&[u8; W]| hash(*entry) & (round - 1) == new;
        *old = joined(entries.iter().filter(|entry| !goes(entry)));
        if let Some(last) = self.buckets.last_mut() {
            *last = joined(entries.iter().filter(goes));
        }
    }
}

/// Entries, and no room behind them.
fn joined<'a, const W: usize>(entries: impl Iterator<Item = &'a [u8; W]> + Clone) -> Vec<u8> {
    let mut out = Vec::with_capacity(entries.clone().count() * W);
    entries.for_each(|entry| out.extend_from_slice(entry));
    out
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
            assert_eq!(buckets.find(&key, |_| true), Some(&entry));
        }
        for number in 0..20_000 {
            let (key, entry) = entry(number);
            assert_eq!(buckets.find(&key, |_| true), Some(&entry), "{number}");
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
            Some(&[1, 2, 3, 77])
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
