//! All escapes of a block at once: the bytes after backslashes are replaced by their meaning, and the
//! backslashes are removed.

use std::arch::x86_64::{
    __m512i, _mm512_loadu_si512, _mm512_mask_blend_epi8, _mm512_mask_cmpeq_epi8_mask,
    _mm512_maskz_compress_epi8, _mm512_maskz_loadu_epi8, _mm512_permutex2var_epi8,
    _mm512_set1_epi8, _mm512_storeu_si512,
};

use crate::escape::SHORT;
use crate::simd::scan::escaped;

/// Bytes of a block.
const BLOCK: usize = 64;

/// Whether the machine has the parts of AVX-512 for masked loads, lookups in a table of 128 bytes and
/// compression, and the bit count.
#[inline]
pub(super) fn is_supported() -> bool {
    is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("popcnt")
}

/// Appends the text before the first `\u`, with short escapes decoded, and returns the number of bytes
/// that it consumed.
#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
pub(super) fn copy_plain(bytes: &[u8], out: &mut Vec<u8>) -> usize {
    out.reserve(bytes.len() + BLOCK);
    let (mut at, mut end, mut carry) = (0, out.len(), 0);
    while at < bytes.len() {
        let length = BLOCK.min(bytes.len() - at);
        let inside = u64::MAX >> (BLOCK - length);
        // SAFETY: only the bytes inside are loaded.
        let block = unsafe { _mm512_maskz_loadu_epi8(inside, bytes.as_ptr().add(at).cast()) };
        let backslashes = are(u64::MAX, block, b'\\');
        let (escaped, next) = escaped(backslashes, carry);
        let unicode = are(escaped, block, b'u');
        // The bits below the first of them, or all.
        let before = (unicode & unicode.wrapping_neg()).wrapping_sub(1);
        let kept = inside & before & (escaped | !backslashes);
        let decoded = _mm512_mask_blend_epi8(escaped, block, short(block));
        // SAFETY: no more than `at` bytes were written, and there is room for all and a block.
        unsafe {
            let whole = _mm512_maskz_compress_epi8(kept, decoded);
            _mm512_storeu_si512(out.as_mut_ptr().add(end).cast(), whole);
        }
        end += kept.count_ones() as usize;
        if unicode != 0 {
            // From its backslash on, which may be the last byte of the block before.
            at = at + unicode.trailing_zeros() as usize - 1;
            break;
        }
        (at, carry) = (at + length, next);
    }
    // SAFETY: all bytes up to there were written, within the room.
    unsafe { out.set_len(end) };
    at
}

/// Which of these bytes of a block are `byte`; the first one lowest.
#[inline]
#[target_feature(enable = "avx512bw")]
fn are(of: u64, block: __m512i, byte: u8) -> u64 {
    _mm512_mask_cmpeq_epi8_mask(of, block, _mm512_set1_epi8(byte.cast_signed()))
}

/// The meaning of each byte of a block after a backslash.
#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi")]
fn short(block: __m512i) -> __m512i {
    // SAFETY: the loads take sixty-four bytes from any address, and the table has twice as many.
    let [low, high] =
        [0, BLOCK].map(|at| unsafe { _mm512_loadu_si512(SHORT.as_ptr().add(at).cast()) });
    _mm512_permutex2var_epi8(low, block, high)
}
