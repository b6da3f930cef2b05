//! A hash of some words, faster than one of their bytes. It is the same in every run: the same stream
//! gives the same transcript, byte for byte.

/// Digits of pi, as foldhash has them.
const SEEDS: [u64; 5] = [
    0x243f_6a88_85a3_08d3,
    0x1319_8a2e_0370_7344,
    0xa409_3822_299f_31d0,
    0x082e_fa98_ec4e_6c89,
    0x4528_21e6_38d0_1377,
];

/// All of the words, in 64 bits.
#[inline]
pub(crate) const fn mixed([a, b, c, d, e]: [u64; 5]) -> u64 {
    let one = fold(a ^ SEEDS[0], b ^ SEEDS[2]);
    let other = fold(c ^ SEEDS[1], d ^ SEEDS[3]);
    fold(one ^ e, other ^ SEEDS[4])
}

/// Both halves of the product.
#[inline]
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}
