//! Search for the end of a string: sixteen bytes at once for short strings, sixty-four for long ones
//! and for those with escapes.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8,
    _mm_or_si128, _mm_set1_epi8, _mm_setr_epi8, _mm256_and_si256, _mm256_broadcastsi128_si256,
    _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_set1_epi8,
    _mm256_setr_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16,
};

#[cfg(target_feature = "avx2")]
use std::arch::x86_64::_mm256_or_si256;

use crate::scan::{BlockScan, StringEnd};

/// Bytes that are compared at once inline: the width that the build may use everywhere.
#[cfg(not(target_feature = "avx2"))]
const NEAR_BLOCK: usize = 16;
#[cfg(target_feature = "avx2")]
const NEAR_BLOCK: usize = 32;

/// Bytes that are searched inline: a UUID has 36. Longer strings are worth a call, and so are those
/// near the end of the window.
const NEAR: usize = 48_usize.next_multiple_of(NEAR_BLOCK);

/// Index of the closing quote of the string at `from` when it is near and nothing else is special
/// before it; otherwise an index up to which nothing is special.
#[inline(always)]
pub(crate) fn near_quote(bytes: &[u8], from: usize) -> Result<usize, usize> {
    let Some(near) = bytes
        .get(from..)
        .and_then(|rest| rest.first_chunk::<NEAR>())
    else {
        return Err(from);
    };
    let mut at = from;
    for block in near.as_chunks().0 {
        let marks = marks(block);
        if marks != 0 {
            let place = marks.trailing_zeros() as usize % NEAR_BLOCK;
            at += place;
            return if block[place] == b'"' {
                Ok(at)
            } else {
                Err(at)
            };
        }
        at += NEAR_BLOCK;
    }
    Err(at)
}

/// The string whose opening quote is at `open`, and the index of its closing quote; the error of
/// [`near_quote`] otherwise.
#[inline(always)]
pub(crate) fn near_string(text: &str, open: usize) -> Result<(usize, &str), usize> {
    let bytes = text.as_bytes();
    let quote = near_quote(bytes, open + 1)?;
    if bytes.get(open) != Some(&b'"') {
        return Err(quote);
    }
    // SAFETY: the bytes at both indexes are ASCII, and the second index is greater than the first, so
    // that the content between them is inside the text, at boundaries of characters.
    Ok((quote, unsafe { text.get_unchecked(open + 1..quote) }))
}

/// The `length` bytes between the quote at `open` and another one; none when there are no quotes.
#[inline(always)]
pub(crate) fn quoted(text: &str, open: usize, length: usize) -> Option<&str> {
    let [b'"', inside @ ..] = text.as_bytes().get(open..)? else {
        return None;
    };
    if inside.get(length) != Some(&b'"') {
        return None;
    }
    // SAFETY: the bytes at `open` and at `open + 1 + length` are ASCII, so that the text between them
    // begins and ends at boundaries of characters.
    Some(unsafe { text.get_unchecked(open + 1..open + 1 + length) })
}

/// One bit for each special byte, the first byte lowest.
#[cfg(target_feature = "avx2")]
#[inline(always)]
fn marks(block: &[u8; 32]) -> u32 {
    // SAFETY: the load takes thirty-two bytes from any address, and the block has thirty-two.
    let bytes = unsafe { _mm256_loadu_si256(block.as_ptr().cast::<__m256i>()) };
    // SAFETY: this build is compiled for AVX2.
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
    // SAFETY: SSE2 is part of x86-64. The load takes sixteen bytes from any address, and the block
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

/// Scans the string at `from` for as long as it is in whole blocks and breaks no rule.
#[inline(always)]
pub(crate) fn scan_blocks(bytes: &[u8], from: usize) -> BlockScan {
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") {
        // SAFETY: the machine has AVX2 and BMI1, as checked above.
        unsafe { scan_blocks_avx2(bytes, from) }
    } else {
        scan_blocks_sse2(bytes, from)
    }
}

/// [`scan_blocks`] on a machine without AVX2.
pub(crate) fn scan_blocks_sse2(bytes: &[u8], from: usize) -> BlockScan {
    let blocks = Blocks {
        masks: Masks::sse2,
        usual,
        letters,
        control,
        controls: (0, |seen: u64, block: &[u8; 64]| seen | control(block)),
        any: |seen: u64| seen != 0,
    };
    scan_with(bytes, from, blocks)
}

#[target_feature(enable = "avx2,bmi1")]
fn scan_blocks_avx2(bytes: &[u8], from: usize) -> BlockScan {
    let blocks = Blocks {
        masks: |block: &[u8; 64]| Masks::avx2(block),
        usual: |block: &[u8; 64]| usual_avx2(block),
        letters: |block: &[u8; 64], _: u64| letters_avx2(block),
        control: |block: &[u8; 64]| control_avx2(block),
        controls: (_mm256_set1_epi8(-1), |least: __m256i, block: &[u8; 64]| {
            let (low, high) = halves(block);
            _mm256_min_epu8(least, _mm256_min_epu8(low, high))
        }),
        any: |least: __m256i| _mm256_movemask_epi8(is_control(least)) != 0,
    };
    scan_with(bytes, from, blocks)
}

/// Which bytes of a block are quotes and backslashes; the first byte lowest.
struct Masks {
    quote: u64,
    backslash: u64,
}

/// Operations on a block of 64 bytes. Masks have the first byte lowest.
struct Blocks<M, U, L, C, S, F, A> {
    masks: M,
    /// Quotes, backslashes, `n`, `t`, and other letters that may be escaped.
    usual: U,
    /// Which of the escaped bytes are letters that may be escaped.
    letters: L,
    control: C,
    /// State of the search for control characters before the first block, and its update by a block.
    controls: (S, F),
    /// Whether the state has seen any.
    any: A,
}

/// Each step scans a block of 64 bytes. Which bytes are escaped is computed for the whole block (the
/// method of simdjson): a run of backslashes escapes the next byte if its length is odd. Control
/// characters are searched after the end was found, since there are usually none.
#[inline(always)]
fn scan_with<S: Copy>(
    bytes: &[u8],
    from: usize,
    blocks: Blocks<
        impl Fn(&[u8; 64]) -> Masks,
        impl Fn(&[u8; 64]) -> u64,
        impl Fn(&[u8; 64], u64) -> u64,
        impl Fn(&[u8; 64]) -> u64,
        S,
        impl Fn(S, &[u8; 64]) -> S,
        impl Fn(S) -> bool,
    >,
) -> BlockScan {
    let mut rest = bytes.get(from..).unwrap_or_default();
    let (mut carry, mut backslashes) = (0, 0);
    let (mut controls, with) = blocks.controls;
    let read = |at: usize, backslashes: u64| StringEnd::new(at, backslashes != 0);
    let is_whole = |block: &[u8; 64], rest: &[u8], escaped: u64| {
        let mut odd = escaped & !(blocks.usual)(block);
        if odd != 0 {
            odd &= !(blocks.letters)(block, odd);
        }
        odd == 0 || are_unicode(odd, rest)
    };
    let run = loop {
        let at = bytes.len() - rest.len();
        let Some((block, next)) = rest.split_first_chunk() else {
            // A backslash at the end of the last block is scanned again with the byte that it escapes.
            break BlockScan::Stopped(read(at - carry as usize, backslashes));
        };
        let masks = (blocks.masks)(block);
        let (escaped, next_carry) = escaped(masks.backslash, carry);
        let ends = masks.quote & !escaped;
        if ends != 0 {
            // Every bit below the first end.
            let inside = ends.wrapping_sub(1) & !ends;
            let is_whole = is_whole(block, rest, escaped & inside);
            if !is_whole || (blocks.control)(block) & inside != 0 {
                break BlockScan::Stopped(read(at - carry as usize, backslashes));
            }
            let quote = at + ends.trailing_zeros() as usize;
            break BlockScan::Ended(read(quote, backslashes | masks.backslash & inside));
        }
        if !is_whole(block, rest, escaped) {
            break BlockScan::Stopped(read(at - carry as usize, backslashes));
        }
        controls = with(controls, block);
        backslashes |= masks.backslash;
        (rest, carry) = (next, next_carry);
    };
    if (blocks.any)(controls) {
        return BlockScan::Stopped(StringEnd::new(from, false));
    }
    run
}

const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;

/// Which bytes follow an odd number of backslashes, and whether (0 or 1) the first byte of the next block
/// does. `carry` is that number for the first byte of this block.
#[inline(always)]
pub(super) const fn escaped(backslash: u64, carry: u64) -> (u64, u64) {
    // Every second backslash of a run escapes: the odd bits that remain when each run is subtracted from
    // the bits after it.
    let starts = backslash & !carry;
    let escapes = ((starts << 1 | ODD).wrapping_sub(starts)) ^ ODD;
    (escapes ^ (backslash | carry), (escapes & backslash) >> 63)
}

/// Which of the `escaped` bytes of a block are complete escapes with their backslash, tested one by one;
/// the first byte lowest.
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

/// [`letters`] for all bytes at once, escaped or not. A byte is such a letter if its two halves share a
/// class: the first table has the classes of each low half, the second the class of each high half.
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
        if rest.get(at) != Some(&b'u')
            || !(1..=4).all(|i| rest.get(at + i).is_some_and(u8::is_ascii_hexdigit))
        {
            return false;
        }
        bytes &= bytes - 1;
    }
    true
}

/// Whether each of the `escaped` bytes of a block is a complete escape with its backslash. `rest` begins
/// with the block.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn are_escapes(block: &[u8; 64], rest: &[u8], escaped: u64) -> bool {
    if escaped == 0 {
        return true;
    }
    let mut odd = escaped & !usual_avx2(block);
    if odd != 0 {
        odd &= !letters_avx2(block);
    }
    odd == 0 || are_unicode(odd, rest)
}

impl Masks {
    #[inline(always)]
    fn sse2(block: &[u8; 64]) -> Self {
        Self {
            quote: each(block, |bytes| is_sse2(bytes, b'"')),
            backslash: each(block, |bytes| is_sse2(bytes, b'\\')),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn avx2(block: &[u8; 64]) -> Self {
        let (low, high) = halves(block);
        Self {
            quote: bits(is(low, b'"'), is(high, b'"')),
            backslash: bits(is(low, b'\\'), is(high, b'\\')),
        }
    }
}

/// Which bytes of a block are quotes, backslashes, `n` and `t`.
#[inline(always)]
fn usual(block: &[u8; 64]) -> u64 {
    each(block, |bytes| {
        let [quote, backslash, n, t] = [b'"', b'\\', b'n', b't'].map(|byte| is_sse2(bytes, byte));
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_or_si128(_mm_or_si128(quote, backslash), _mm_or_si128(n, t)) }
    })
}

/// Which bytes of a block are control characters.
#[inline(always)]
fn control(block: &[u8; 64]) -> u64 {
    // SAFETY: SSE2 is part of x86-64.
    each(block, |bytes| unsafe {
        _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes)
    })
}

#[inline(always)]
fn is_sse2(bytes: __m128i, byte: u8) -> __m128i {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte.cast_signed())) }
}

/// One bit for each byte of a block that `is` what is looked for.
#[inline(always)]
fn each(block: &[u8; 64], is: impl Fn(__m128i) -> __m128i) -> u64 {
    let mut all = 0;
    for (i, part) in block.as_chunks::<16>().0.iter().enumerate() {
        // SAFETY: SSE2 is part of x86-64. The load takes sixteen bytes from any address, and the
        // part has sixteen.
        let bits = unsafe { _mm_movemask_epi8(is(_mm_loadu_si128(part.as_ptr().cast()))) };
        all |= u64::from(bits.cast_unsigned()) << (16 * i);
    }
    all
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn halves(block: &[u8; 64]) -> (__m256i, __m256i) {
    let start = block.as_ptr();
    // SAFETY: the loads take thirty-two bytes from any address, and the block has that many from its
    // beginning and from its middle on.
    unsafe {
        (
            _mm256_loadu_si256(start.cast()),
            _mm256_loadu_si256(start.add(32).cast()),
        )
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn usual_avx2(block: &[u8; 64]) -> u64 {
    let (low, high) = halves(block);
    bits(is_usual(low), is_usual(high))
}

#[inline]
#[target_feature(enable = "avx2")]
fn control_avx2(block: &[u8; 64]) -> u64 {
    let (low, high) = halves(block);
    bits(is_control(low), is_control(high))
}

/// Which bytes are those of the most common escapes. No two of them have the same low half, so that the
/// low half selects the one that a byte can be.
#[inline]
#[target_feature(enable = "avx2")]
fn is_usual(bytes: __m256i) -> __m256i {
    let by_low_half = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        1,
        0,
        b'"'.cast_signed(),
        0,
        b't'.cast_signed(),
        0,
        b'f'.cast_signed(),
        0,
        0,
        0,
        0,
        0,
        b'\\'.cast_signed(),
        0,
        b'n'.cast_signed(),
        b'/'.cast_signed(),
    ));
    _mm256_cmpeq_epi8(_mm256_shuffle_epi8(by_low_half, bytes), bytes)
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn is_control(bytes: __m256i) -> __m256i {
    _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f)), bytes)
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn is(bytes: __m256i, byte: u8) -> __m256i {
    _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte.cast_signed()))
}

/// One bit for each byte of two half blocks.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn bits(low: __m256i, high: __m256i) -> u64 {
    let low = u64::from(_mm256_movemask_epi8(low).cast_unsigned());
    let high = u64::from(_mm256_movemask_epi8(high).cast_unsigned());
    low | high << 32
}
