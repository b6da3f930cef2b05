//! How much of a decoded string is looked at.

use std::fmt::Debug;

/// Makes a number of a string.
pub trait Digest: Debug + Default {
    /// The number.
    fn of(&self, text: &[u8]) -> u64;
}

/// Length, first and last byte: shows where the string lies and costs next to nothing. This is
/// what is timed.
#[derive(Debug, Default)]
pub struct Ends;

/// Every byte: shows that it was decoded as everybody else does it. Never timed.
#[derive(Debug, Default)]
pub struct EveryByte;

impl Digest for Ends {
    #[inline]
    fn of(&self, text: &[u8]) -> u64 {
        let (Some(first), Some(last)) = (text.first(), text.last()) else {
            return 0;
        };
        text.len() as u64 | u64::from(*first) << 48 | u64::from(*last) << 56
    }
}

/// FNV-1a, 64 bits (RFC 9923, section 5).
impl Digest for EveryByte {
    fn of(&self, text: &[u8]) -> u64 {
        text.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }
}
