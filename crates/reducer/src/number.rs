//! Numbers that are kept for each record, in six bytes.

/// A number below 2⁴⁸; a larger one counts as the largest. Bytes of a stream, changes of a
/// transcript and milliseconds come to that many in some thousand years.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct U48([u16; 3]);

impl U48 {
    const MOST: u64 = (1 << 48) - 1;

    pub(crate) const fn new(number: u64) -> Self {
        let number = if number < Self::MOST {
            number
        } else {
            Self::MOST
        };
        Self([number as u16, (number >> 16) as u16, (number >> 32) as u16])
    }

    pub(crate) const fn get(self) -> u64 {
        let [low, middle, high] = self.0;
        low as u64 | (middle as u64) << 16 | (high as u64) << 32
    }
}

impl std::fmt::Debug for U48 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_comes_back_as_far_as_there_is_room() {
        for number in [0, 1, 0xffff, 0x1_0000, 0x1234_5678_9abc, U48::MOST] {
            assert_eq!(U48::new(number).get(), number);
        }
        for number in [U48::MOST + 1, u64::MAX] {
            assert_eq!(U48::new(number).get(), U48::MOST);
        }
    }
}
