//! How much memory the next read of a connection reserves.

/// Least room, in bytes.
const LEAST: usize = 8 << 10;

/// Room for the next read of a connection: little while little comes, since each idle connection holds it, and four
/// times as much after each read that filled it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadRoom {
    bytes: usize,
    most: usize,
}

impl ReadRoom {
    /// Begins with little.
    pub(crate) const fn up_to(most: usize) -> Self {
        Self { bytes: LEAST, most }
    }

    /// Bytes to reserve.
    pub(crate) const fn bytes(self) -> usize {
        self.bytes
    }

    /// Takes note of the length of a read, in bytes.
    pub(crate) fn took(&mut self, read: usize) {
        if read >= self.bytes {
            self.bytes = (self.bytes * 4).min(self.most);
        } else if read < self.bytes / 8 {
            self.bytes = (self.bytes / 4).max(LEAST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 256 << 10;

    fn after(reads: &[usize]) -> usize {
        let mut room = ReadRoom::up_to(MOST);
        for read in reads {
            room.took(*read);
        }
        room.bytes()
    }

    #[test]
    fn room_grows_with_full_reads_and_shrinks_with_small_ones() {
        assert_eq!(after(&[100, 4_000]), LEAST);
        let mut reads = vec![8 << 10, 32 << 10, 128 << 10, 256 << 10];
        assert_eq!(after(&reads), MOST);
        reads.push(200 << 10);
        assert_eq!(after(&reads), MOST);
        reads.extend([9, 9, 9]);
        assert_eq!(after(&reads), LEAST);
    }
}
