//! The sparse index of a session's log: where in the fleet's stream an offset is.

use serde::{Deserialize, Serialize};

/// Distance of two entries at first, in bytes of the log.
pub const INDEX_STEP: u64 = 1 << 20;

/// Entries at which every second one is removed, and the distance doubled, so that the record of a session
/// stays small.
const MAX_ENTRIES: usize = 256;

/// Sequences of messages by the bytes of all streams before them, one a MiB at first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogIndex {
    /// Pairs of bytes before a message, and its sequence; both increase.
    entries: Vec<(u64, u64)>,
    /// Distance of two entries in MiB, less one.
    #[serde(default)]
    coarse: u64,
}

impl LogIndex {
    /// Records the sequence of a message and the number of bytes of the log before it. If it does not follow the last
    /// entry, since the stream lost its tail, removes the entries that contradict it.
    pub fn add(&mut self, before: u64, sequence: u64) {
        while self
            .entries
            .last()
            .is_some_and(|it| it.0 >= before || it.1 >= sequence)
        {
            self.entries.pop();
        }
        let step = INDEX_STEP.saturating_mul(self.coarse.saturating_add(1));
        let is_due = self
            .entries
            .last()
            .is_none_or(|it| before >= it.0.saturating_add(step));
        if is_due {
            self.entries.push((before, sequence));
        }
        if self.entries.len() > MAX_ENTRIES {
            let mut n = 0;
            self.entries.retain(|_| {
                n += 1;
                n % 2 == 1
            });
            self.coarse = self.coarse.saturating_mul(2).saturating_add(1);
        }
    }

    /// Returns the sequence from which to read for the byte `offset` of the log; 0 is from the beginning.
    #[must_use]
    pub fn sequence_for(&self, offset: u64) -> u64 {
        let after = self.entries.partition_point(|it| it.0 <= offset);
        after.checked_sub(1).map_or(0, |at| self.entries[at].1)
    }

    /// Returns the number of entries.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no entries.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_stays_small_and_points_before_the_offset() {
        let mut index = LogIndex::default();
        let message = 200 << 10;
        for n in 0..100_000_u64 {
            index.add(n * message, n * 3 + 1);
        }
        assert!(index.len() <= MAX_ENTRIES);
        for offset in [0, 1, 5 << 20, 700 << 20, 99_999 * message] {
            let sequence = index.sequence_for(offset);
            let before = (sequence - 1) / 3 * message;
            assert!(before <= offset && offset - before < 256 << 20, "{offset}");
        }
        // The stream lost its tail and continues.
        index.add(50 << 20, 40);
        assert!(index.sequence_for(u64::MAX) <= 40);
    }
}
