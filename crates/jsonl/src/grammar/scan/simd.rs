//! Sixteen bytes at once with SSE2, which every x86-64 machine has, and thirty-two with AVX2 where
//! the machine has it.
//!
//! The only module with `unsafe`; a test holds it to the safe scanner at every place of a string.
#![expect(
    unsafe_code,
    reason = "vector loads; what it buys is in benches/README.md"
)]

use std::arch::x86_64::{
    __m128i, __m256i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8,
    _mm_or_si128, _mm_set1_epi8, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8,
    _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
};

use super::special_in_tail;

/// Blocks that are looked at in place. Strings that are longer are worth a call.
const NEAR: usize = 3;

/// Index of the first special byte, when it is near and the input does not end before.
#[inline(always)]
pub(super) fn near_special(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    for _ in 0..NEAR {
        let marks = marks16(bytes.get(at..)?.first_chunk()?);
        if marks != 0 {
            return Some(at + marks.trailing_zeros() as usize);
        }
        at += 16;
    }
    None
}

/// Index of the first quote, backslash or control character at or behind `from`; the length of
/// `bytes` when there is none.
#[inline]
pub(super) fn special(bytes: &[u8], from: usize) -> usize {
    match near(bytes, from, 2 * NEAR) {
        Ok(at) => at,
        Err(at) if is_x86_feature_detected!("avx2") => {
            // SAFETY: the machine has AVX2, as the line above has found out.
            unsafe { far(bytes, at) }
        }
        Err(at) => without_end(bytes, at),
    }
}

/// What [`special`] does on a machine without AVX2.
#[cfg(test)]
pub(super) fn special_without_avx2(bytes: &[u8], from: usize) -> usize {
    without_end(bytes, from)
}

fn without_end(bytes: &[u8], from: usize) -> usize {
    near(bytes, from, usize::MAX).unwrap_or(bytes.len())
}

/// Looks at so many blocks of sixteen bytes, or to the end of `bytes`; where it stopped when it
/// found nothing.
#[inline]
fn near(bytes: &[u8], from: usize, blocks: usize) -> Result<usize, usize> {
    let mut at = from;
    for _ in 0..blocks {
        let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk) else {
            return Ok(special_in_tail(bytes, at));
        };
        let marks = marks16(block);
        if marks != 0 {
            return Ok(at + marks.trailing_zeros() as usize);
        }
        at += 16;
    }
    Err(at)
}

/// One bit for each special byte, the first byte lowest.
#[inline]
fn marks16(block: &[u8; 16]) -> u32 {
    // SAFETY: SSE2 belongs to x86-64. The load takes sixteen bytes from any address, and the block
    // has sixteen.
    unsafe {
        let bytes = _mm_loadu_si128(block.as_ptr().cast::<__m128i>());
        let quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'"'.cast_signed()));
        let backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\\'.cast_signed()));
        let control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
        let special = _mm_or_si128(_mm_or_si128(quote, backslash), control);
        _mm_movemask_epi8(special).cast_unsigned()
    }
}

/// The rest of a long string.
#[target_feature(enable = "avx2")]
fn far(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let marks = marks32(block);
        if marks != 0 {
            return at + marks.trailing_zeros() as usize;
        }
        at += 32;
    }
    without_end(bytes, at)
}

#[inline]
#[target_feature(enable = "avx2")]
fn marks32(block: &[u8; 32]) -> u32 {
    // SAFETY: the load takes thirty-two bytes from any address, and the block has thirty-two.
    let bytes = unsafe { _mm256_loadu_si256(block.as_ptr().cast::<__m256i>()) };
    let quote = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'"'.cast_signed()));
    let backslash = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'\\'.cast_signed()));
    let control = _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f)), bytes);
    let special = _mm256_or_si256(_mm256_or_si256(quote, backslash), control);
    _mm256_movemask_epi8(special).cast_unsigned()
}
