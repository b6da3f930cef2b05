//! How a decoded string is hashed.

use std::fmt::Debug;

/// Hashes a string.
pub trait Digest: Debug + Default {
    /// Returns the hash.
    fn of(&self, text: &[u8]) -> u64;
}

/// Length, first and last byte: proves that the string was found and costs almost nothing. Used in
/// timed runs.
#[derive(Debug, Default)]
pub struct Ends;

/// Every byte: proves that all contenders decode the same. Never timed.
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
