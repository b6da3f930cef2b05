//! Finds the end of a string: sixteen bytes at once for short ones, sixty-four for long ones and
//! for those with escapes.

#[cfg(not(target_feature = "avx2"))]
use std::arch::x86_64::_mm_or_si128;
#[cfg(target_feature = "avx2")]
use std::arch::x86_64::_mm256_or_si256;
use std::arch::x86_64::{
    __m128i, __m256i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8,
    _mm_set1_epi8, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8,
    _mm256_movemask_epi8, _mm256_set1_epi8, _mm256_setr_epi8, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_srli_epi16,
};

use crate::grammar::{Run, StringEnd, is_hex};

/// How many bytes are looked at in place: a uuid has 36. Longer strings are worth a call.
const NEAR: usize = 48;

/// Bytes that are looked at together in place: as many as the build may use at once everywhere.
#[cfg(not(target_feature = "avx2"))]
const NEAR_BLOCK: usize = 16;
#[cfg(target_feature = "avx2")]
const NEAR_BLOCK: usize = 32;

/// Index of the first special byte, when it is near and the input does not end before.
#[inline(always)]
pub(crate) fn near_special(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    for _ in 0..NEAR.div_ceil(NEAR_BLOCK) {
        let marks = marks(bytes.get(at..)?.first_chunk()?);
        if marks != 0 {
            return Some(at + marks.trailing_zeros() as usize);
        }
        at += NEAR_BLOCK;
    }
    None
}

/// What stands between the quotes before `from` and at `to`; nothing when there are none.
#[inline(always)]
pub(crate) fn between(text: &str, from: usize, to: usize) -> &str {
    let bytes = text.as_bytes();
    let is_quote = |at: usize| bytes.get(at) == Some(&b'"');
    if from <= to && is_quote(from.wrapping_sub(1)) && is_quote(to) {
        // SAFETY: both indexes lie in the text, in order, and a byte of ASCII stands before the
        // first and at the second, so that both are boundaries of characters.
        return unsafe { text.get_unchecked(from..to) };
    }
    ""
}

/// One bit for each special byte, the first byte lowest.
#[cfg(target_feature = "avx2")]
#[inline(always)]
fn marks(block: &[u8; 32]) -> u32 {
    // SAFETY: the load takes thirty-two bytes from any address, and the block has thirty-two.
    let bytes = unsafe { _mm256_loadu_si256(block.as_ptr().cast::<__m256i>()) };
    // SAFETY: this build may use AVX2 everywhere.
    unsafe {
        let quote = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'"'.cast_signed()));
        let backslash = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'\\'.cast_signed()));
        let low = _mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f));
        let control = _mm256_cmpeq_epi8(low, bytes);
        let special = _mm256_or_si256(_mm256_or_si256(quote, backslash), control);
        _mm256_movemask_epi8(special).cast_unsigned()
    }
}

/// One bit for each special byte, the first byte lowest.
#[cfg(not(target_feature = "avx2"))]
#[inline(always)]
fn marks(block: &[u8; 16]) -> u32 {
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

/// Reads as much of the string at `from` as lies in whole blocks and breaks no rule.
#[inline]
pub(crate) fn run(bytes: &[u8], from: usize) -> Run {
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has AVX2, as the line above has found out.
        unsafe { run_avx2(bytes, from) }
    } else {
        run_sse2(bytes, from)
    }
}

/// [`run`] on a machine without AVX2.
pub(crate) fn run_sse2(bytes: &[u8], from: usize) -> Run {
    run_with(bytes, from, Masks::sse2, letters)
}

#[target_feature(enable = "avx2")]
fn run_avx2(bytes: &[u8], from: usize) -> Run {
    run_with(
        bytes,
        from,
        |block| Masks::avx2(block),
        |block, _| letters_avx2(block),
    )
}

/// Which bytes of a block are quotes, backslashes and control characters; the first byte lowest.
struct Masks {
    quote: u64,
    backslash: u64,
    control: u64,
}

/// One step is a block of 64 bytes. Which bytes are escaped is arithmetic on the whole block (the
/// method of simdjson): a run of backslashes escapes what follows when its length is odd.
#[inline(always)]
fn run_with(
    bytes: &[u8],
    from: usize,
    masks: impl Fn(&[u8; 64]) -> Masks,
    letters: impl Fn(&[u8; 64], u64) -> u64,
) -> Run {
    let mut at = from;
    let mut escaped_somewhere = false;
    let mut carry = false;
    while let Some(rest) = bytes.get(at..)
        && let Some(block) = rest.first_chunk()
    {
        let masks = masks(block);
        let (escaped, next_carry) = escaped(masks.backslash, carry);
        let ends = masks.quote & !escaped;
        // Every bit below the first end; all bits when the string goes on.
        let inside = ends.wrapping_sub(1) & !ends;
        let escaped = escaped & inside;
        let odd = if escaped == 0 {
            0
        } else {
            escaped & !letters(block, escaped)
        };
        if masks.control & inside != 0 || odd != 0 && !are_unicode(odd, rest) {
            break;
        }
        escaped_somewhere |= masks.backslash & inside != 0;
        if ends != 0 {
            let quote = at + ends.trailing_zeros() as usize;
            return Run::Ended(StringEnd::new(quote, escaped_somewhere));
        }
        carry = next_carry;
        at += 64;
    }
    // A backslash at the end of the last block is read again, with what it escapes.
    Run::Stopped {
        at: at - usize::from(carry),
        escaped: escaped_somewhere,
    }
}

const EVEN: u64 = 0x5555_5555_5555_5555;

/// Which bytes stand behind an odd number of backslashes, and whether the first byte of the next
/// block does. `carry` says it of the first byte of this one.
#[inline(always)]
const fn escaped(backslash: u64, carry: bool) -> (u64, bool) {
    let carried = carry as u64;
    if backslash == 0 {
        return (carried, false);
    }
    let backslash = backslash & !carried;
    let follows = backslash << 1 | carried;
    let odd_starts = backslash & !EVEN & !follows;
    let (even_ends, overflow) = odd_starts.overflowing_add(backslash);
    ((EVEN ^ (even_ends << 1)) & follows, overflow)
}

/// Which of the `escaped` bytes of a block are whole escapes with their backslash, one by one; the
/// first byte lowest.
#[inline(always)]
fn letters(block: &[u8; 64], escaped: u64) -> u64 {
    let (mut letters, mut left) = (0, escaped);
    while left != 0 {
        if let b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' =
            block[left.trailing_zeros() as usize % 64]
        {
            letters |= left & left.wrapping_neg();
        }
        left &= left - 1;
    }
    letters
}

/// The same of all bytes at once, escaped or not. A letter is one whose two halves meet in a class:
/// the first table says which classes a low half is in, the second which one a high half stands for.
#[inline]
#[target_feature(enable = "avx2")]
fn letters_avx2(block: &[u8; 64]) -> u64 {
    // Classes by high half: 0x2 is 1 (`"` and `/`), 0x5 is 2 (`\`), 0x6 is 4 (`b`, `f`, `n`), 0x7
    // is 8 (`r`, `t`).
    let low = _mm256_setr_epi8(
        0,
        0,
        1 | 4 | 8,
        0,
        8,
        0,
        4,
        0,
        0,
        0,
        0,
        0,
        2,
        0,
        4,
        1, //
        0,
        0,
        1 | 4 | 8,
        0,
        8,
        0,
        4,
        0,
        0,
        0,
        0,
        0,
        2,
        0,
        4,
        1,
    );
    let high = _mm256_setr_epi8(
        0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, //
        0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0,
    );
    let half = _mm256_set1_epi8(0x0f);
    let mut others = 0;
    for (i, part) in block.as_chunks::<32>().0.iter().enumerate() {
        // SAFETY: the load takes thirty-two bytes from any address, and the part has thirty-two.
        let bytes = unsafe { _mm256_loadu_si256(part.as_ptr().cast::<__m256i>()) };
        let lows = _mm256_shuffle_epi8(low, _mm256_and_si256(bytes, half));
        let highs = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), half);
        let class = _mm256_and_si256(lows, _mm256_shuffle_epi8(high, highs));
        let other = _mm256_cmpeq_epi8(class, _mm256_setzero_si256());
        others |= u64::from(_mm256_movemask_epi8(other).cast_unsigned()) << (32 * i);
    }
    !others
}

/// Whether each of these bytes is a `u` and four digits follow it. `rest` begins with their block.
#[inline(never)]
fn are_unicode(mut bytes: u64, rest: &[u8]) -> bool {
    while bytes != 0 {
        let at = bytes.trailing_zeros() as usize;
        if rest.get(at) != Some(&b'u') || !(1..=4).all(|i| is_hex(rest.get(at + i))) {
            return false;
        }
        bytes &= bytes - 1;
    }
    true
}

impl Masks {
    #[inline(always)]
    fn sse2(block: &[u8; 64]) -> Self {
        let mut masks = Self {
            quote: 0,
            backslash: 0,
            control: 0,
        };
        for (i, part) in block.as_chunks::<16>().0.iter().enumerate() {
            // SAFETY: SSE2 belongs to x86-64. The load takes sixteen bytes from any address, and
            // the part has sixteen.
            unsafe {
                let bytes = _mm_loadu_si128(part.as_ptr().cast::<__m128i>());
                let bits = |lanes| u64::from(_mm_movemask_epi8(lanes).cast_unsigned()) << (16 * i);
                let is = |byte: u8| _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte.cast_signed()));
                masks.quote |= bits(is(b'"'));
                masks.backslash |= bits(is(b'\\'));
                let low = _mm_min_epu8(bytes, _mm_set1_epi8(0x1f));
                masks.control |= bits(_mm_cmpeq_epi8(low, bytes));
            }
        }
        masks
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn avx2(block: &[u8; 64]) -> Self {
        let mut masks = Self {
            quote: 0,
            backslash: 0,
            control: 0,
        };
        for (i, part) in block.as_chunks::<32>().0.iter().enumerate() {
            // SAFETY: the load takes thirty-two bytes from any address, and the part has
            // thirty-two.
            let bytes = unsafe { _mm256_loadu_si256(part.as_ptr().cast::<__m256i>()) };
            let quote = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'"'.cast_signed()));
            let backslash = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'\\'.cast_signed()));
            let low = _mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f));
            let control = _mm256_cmpeq_epi8(low, bytes);
            let bits = |lanes: i32| u64::from(lanes.cast_unsigned()) << (32 * i);
            masks.quote |= bits(_mm256_movemask_epi8(quote));
            masks.backslash |= bits(_mm256_movemask_epi8(backslash));
            masks.control |= bits(_mm256_movemask_epi8(control));
        }
        masks
    }
}
