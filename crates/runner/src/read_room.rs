//! How much memory the next read of a connection reserves.

/// Room of an idle connection, in bytes.
const LEAST: usize = 8 << 10;

/// Reads in a row that would have fitted into [`LEAST`], after which a connection is idle.
const SMALL_READS: u8 = 4;

/// Room for the next read of a connection: little while little comes, since each idle connection holds it, and all
/// of it after a read that filled it, since a read that ends within a frame costs a copy of that part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadRoom {
    bytes: usize,
    most: usize,
    small_reads: u8,
}

impl ReadRoom {
    /// Begins with little.
    pub(crate) const fn up_to(most: usize) -> Self {
        Self {
            bytes: LEAST,
            most,
            small_reads: 0,
        }
    }

    /// Bytes to reserve.
    pub(crate) const fn bytes(self) -> usize {
        self.bytes
    }

    /// Takes note of the length of a read, in bytes.
    pub(crate) fn took(&mut self, read: usize) {
        if read >= self.bytes {
            self.bytes = self.most;
            self.small_reads = 0;
        } else if read > LEAST {
            self.small_reads = 0;
        } else {
            self.small_reads = self.small_reads.saturating_add(1);
            if self.small_reads >= SMALL_READS {
                self.bytes = LEAST;
            }
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
    fn room_grows_with_a_full_read_and_shrinks_with_small_ones() {
        assert_eq!(after(&[100, 4_000]), LEAST);
        assert_eq!(after(&[LEAST]), MOST);
        let mut reads = vec![LEAST, 9, 64 << 10, 9, 9, 9];
        assert_eq!(after(&reads), MOST, "a few small reads within a flow");
        reads.push(9);
        assert_eq!(after(&reads), LEAST);
        assert_eq!(after(&[9, 9, 9, 9, 9, LEAST]), MOST);
    }
}
