//! UTF-8 validation, four cache lines at a time for ASCII, which nearly all text is.

use std::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256};

/// Bytes that are tested for ASCII at once.
const BLOCK: usize = 64;

/// The bytes as text if they are UTF-8.
pub(crate) fn from_utf8(bytes: &[u8]) -> Option<&str> {
    if !is_x86_feature_detected!("avx2") {
        return simdutf8::basic::from_utf8(bytes).ok();
    }
    // SAFETY: the machine has AVX2, as checked above.
    let is_utf8 = unsafe { is_utf8(bytes) };
    // SAFETY: the bytes were checked: every part of them is ASCII or has passed `simdutf8`.
    is_utf8.then(|| unsafe { std::str::from_utf8_unchecked(bytes) })
}

/// A run of blocks that are not ASCII is validated by itself. The blocks around it are ASCII, so that no
/// character extends over its ends in valid text.
#[target_feature(enable = "avx2")]
fn is_utf8(bytes: &[u8]) -> bool {
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let mut at = 0;
    while let Some(from) = next_other(blocks, at) {
        let Some(to) = next_ascii(blocks, from + 1) else {
            return is_utf8_at(bytes, from * BLOCK, bytes.len());
        };
        if !is_utf8_at(bytes, from * BLOCK, to * BLOCK) {
            return false;
        }
        at = to + 1;
    }
    let tail = bytes.len() / BLOCK * BLOCK;
    bytes.last_chunk().is_some_and(|block| is_ascii(block)) || is_utf8_at(bytes, tail, bytes.len())
}

/// The first block from `at` on that is ASCII.
#[inline]
#[target_feature(enable = "avx2")]
fn next_ascii(blocks: &[[u8; BLOCK]], mut at: usize) -> Option<usize> {
    while !is_ascii(blocks.get(at)?) {
        at += 1;
    }
    Some(at)
}

/// The first block from `at` on that is not ASCII. Four are tested at once.
#[inline]
#[target_feature(enable = "avx2")]
fn next_other(blocks: &[[u8; BLOCK]], mut at: usize) -> Option<usize> {
    let mut rest = blocks.get(at..)?;
    while let [one, two, three, four, next @ ..] = rest {
        let both = _mm256_or_si256(all(one), all(two));
        let other = _mm256_or_si256(all(three), all(four));
        if _mm256_movemask_epi8(_mm256_or_si256(both, other)) != 0 {
            break;
        }
        (rest, at) = (next, at + 4);
    }
    while is_ascii(blocks.get(at)?) {
        at += 1;
    }
    Some(at)
}

#[inline(never)]
fn is_utf8_at(bytes: &[u8], from: usize, to: usize) -> bool {
    let part = bytes.get(from..to).unwrap_or(bytes);
    simdutf8::basic::from_utf8(part).is_ok()
}

#[inline]
#[target_feature(enable = "avx2")]
fn is_ascii(block: &[u8; BLOCK]) -> bool {
    _mm256_movemask_epi8(all(block)) == 0
}

/// The bitwise OR of both halves of a block.
#[inline]
#[target_feature(enable = "avx2")]
fn all(block: &[u8; BLOCK]) -> __m256i {
    // SAFETY: each load takes thirty-two bytes from any address, and the last one ends with the
    // block.
    unsafe {
        let load = |at: usize| _mm256_loadu_si256(block.as_ptr().add(at).cast::<__m256i>());
        _mm256_or_si256(load(0), load(32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Characters and parts of them at every offset, alone and over the edges of blocks.
    #[test]
    fn agrees_with_standard_check() {
        let pieces: [&[u8]; 9] = [
            "é".as_bytes(),
            "€".as_bytes(),
            "😀".as_bytes(),
            b"\xff",
            b"\xc3",
            b"\x80",
            b"\xe2\x82",
            b"\xed\xa0\x80",
            b"\xf0\x9f\x98",
        ];
        for length in [0, 1, 127, 128, 129, 300, 640] {
            for place in 0..=length {
                for piece in pieces {
                    let mut bytes = vec![b'a'; length];
                    bytes.splice(place..place, piece.iter().copied());
                    check(&bytes);
                    bytes.extend_from_slice(piece);
                    check(&bytes);
                    bytes.truncate(place + 1);
                    check(&bytes);
                }
            }
        }
    }

    #[test]
    fn separate_runs_are_each_validated() {
        for bad in [0, 200, 500, 900, 1_500] {
            let mut bytes = "a€".repeat(40).into_bytes();
            bytes.extend([b'a'; 600]);
            bytes.extend("😀".repeat(60).bytes());
            bytes.extend([b'a'; 600]);
            check(&bytes);
            bytes[bad] = 0x80;
            check(&bytes);
        }
    }

    fn check(bytes: &[u8]) {
        assert_eq!(from_utf8(bytes), std::str::from_utf8(bytes).ok());
    }
}
