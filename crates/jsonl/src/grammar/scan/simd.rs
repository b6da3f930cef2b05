//! Vector code for x86-64: sixteen bytes at once for short strings, sixty-four for long ones and
//! for those with escapes. SSE2 belongs to every such machine; AVX2 is used where there is one.
//!
//! The only module with `unsafe`. Tests hold it to the safe scanner at every place of a string, and
//! the parser to `serde_json` on mutants of real lines.
#![expect(
    unsafe_code,
    reason = "vector loads; what it buys is in benches/README.md"
)]

use std::arch::x86_64::{
    __m128i, __m256i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8,
    _mm_or_si128, _mm_set1_epi8, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8,
    _mm256_movemask_epi8, _mm256_set1_epi8,
};

use super::{Run, StringEnd, is_hex};

/// Blocks of sixteen that are looked at in place: a uuid has 36 bytes. Longer strings are worth a
/// call.
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

/// Reads as much of the string at `from` as lies in whole blocks and breaks no rule.
#[inline]
pub(super) fn run(bytes: &[u8], from: usize) -> Run {
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has AVX2, as the line above has found out.
        unsafe { run_avx2(bytes, from) }
    } else {
        run_sse2(bytes, from)
    }
}

/// [`run`] on a machine without AVX2.
pub(super) fn run_sse2(bytes: &[u8], from: usize) -> Run {
    run_with(bytes, from, Masks::sse2)
}

#[target_feature(enable = "avx2")]
fn run_avx2(bytes: &[u8], from: usize) -> Run {
    run_with(bytes, from, |block| Masks::avx2(block))
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
fn run_with(bytes: &[u8], from: usize, masks: impl Fn(&[u8; 64]) -> Masks) -> Run {
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
        if masks.control & inside != 0 || !are_escapes(rest, block, escaped & inside) {
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

/// What a byte is behind a backslash.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escape {
    None,
    Letter,
    Unicode,
}

const ESCAPES: [Escape; 256] = {
    let mut escapes = [Escape::None; 256];
    let letters = b"\"\\/bfnrt";
    let mut i = 0;
    while i < letters.len() {
        escapes[letters[i] as usize] = Escape::Letter;
        i += 1;
    }
    escapes[b'u' as usize] = Escape::Unicode;
    escapes
};

/// Whether each of these bytes of the block may stand behind a backslash. `rest` begins with the
/// block.
#[inline(always)]
fn are_escapes(rest: &[u8], block: &[u8; 64], mut escaped: u64) -> bool {
    while escaped != 0 {
        let letter = escaped.trailing_zeros() as usize % 64;
        let is_escape = match ESCAPES[usize::from(block[letter])] {
            Escape::Letter => true,
            Escape::Unicode => (1..=4).all(|i| is_hex(rest.get(letter + i))),
            Escape::None => false,
        };
        if !is_escape {
            return false;
        }
        escaped &= escaped - 1;
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
