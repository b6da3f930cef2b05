//! The SplitMix64 generator: the same numbers for a seed on every machine.

/// A generator whose numbers depend only on its seed.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Creates the generator of stream `number` of a run.
    pub(crate) fn of(seed: u64, number: u64) -> Self {
        let mut first = Self(seed);
        Self(first.next() ^ number.wrapping_mul(0xd134_2543_de82_ef95))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number in `0..bound`; 0 if the range is empty.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// Returns the ends of a part of `length` bytes, at most `longest` long.
    pub(crate) fn part(&mut self, length: usize, longest: usize) -> std::ops::Range<usize> {
        let from = self.below(length);
        from..from + self.below((length - from).min(longest) + 1)
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        from.get(self.below(from.len())).copied()
    }
}
