//! Times and offsets in little space.

/// Milliseconds in 48 bits, about 8,900 years; 0 if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Millis([u16; 3]);

impl Millis {
    /// Later times become the last one that fits.
    pub(crate) const fn new(ms: u64) -> Self {
        let ms = if ms >> 48 == 0 { ms } else { (1 << 48) - 1 };
        Self([ms as u16, (ms >> 16) as u16, (ms >> 32) as u16])
    }

    pub(crate) const fn get(self) -> u64 {
        self.0[0] as u64 | (self.0[1] as u64) << 16 | (self.0[2] as u64) << 32
    }

    /// The time; `None` if it is unknown.
    pub(crate) fn known(self) -> Option<u64> {
        Some(self.get()).filter(|&ms| ms > 0)
    }
}

/// The low 32 bits of an offset that lies less than 2 GiB after a known one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineEnd(u32);

impl LineEnd {
    pub(crate) const fn new(offset: u64) -> Self {
        Self(offset as u32)
    }

    /// The whole offset, which lies at `base` or after it; `base` if it lies before, as in the stream
    /// of a restarted process.
    pub(crate) const fn after(self, base: u64) -> u64 {
        let distance = self.0.wrapping_sub(base as u32);
        if distance > i32::MAX as u32 {
            return base;
        }
        base + distance as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_kept_in_48_bits() {
        for ms in [0, 1, 0xffff, 0x1_0000, 1_795_413_065_046, (1 << 48) - 1] {
            assert_eq!(Millis::new(ms).get(), ms);
        }
        assert_eq!(Millis::new(u64::MAX).get(), (1 << 48) - 1);
        assert_eq!(size_of::<Millis>(), 6);
    }

    #[test]
    fn offset_is_found_again_beyond_4_gib() {
        assert_eq!(LineEnd::new(100).after(5_000), 5_000);
        for base in [0, 7, u64::from(u32::MAX) - 3, 5 << 40] {
            for length in [0, 1, 4096, (1 << 31) - 1] {
                assert_eq!(LineEnd::new(base + length).after(base), base + length);
            }
        }
    }
}
