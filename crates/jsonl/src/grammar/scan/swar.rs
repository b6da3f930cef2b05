//! Eight bytes in a word, and blocks that the compiler makes vector code of: no `unsafe`.

use super::{is_special, special_in_tail};

/// Index of the closing quote of the string at `from` when it is near and nothing else is special
/// before it; otherwise an index up to which nothing is special.
#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
#[inline(always)]
pub(super) fn near_quote(bytes: &[u8], from: usize) -> Result<usize, usize> {
    let mut at = from;
    for _ in 0..5 {
        let Some(marks) = word_at(bytes, at) else {
            break;
        };
        if marks != 0 {
            at += first_mark(marks);
            let is_quote = bytes.get(at) == Some(&b'"');
            return if is_quote { Ok(at) } else { Err(at) };
        }
        at += 8;
    }
    Err(at)
}

/// Index of the first quote, backslash or control character at or behind `from`; the length of
/// `bytes` when there is none.
#[inline]
pub(super) fn special(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    for _ in 0..2 {
        match word_at(bytes, at) {
            Some(0) => at += 8,
            Some(marks) => return at + first_mark(marks),
            None => return special_in_tail(bytes, at),
        }
    }
    at = skip_blocks(bytes, at);
    loop {
        match word_at(bytes, at) {
            Some(0) => at += 8,
            Some(marks) => return at + first_mark(marks),
            None => return special_in_tail(bytes, at),
        }
    }
}

/// Steps over whole blocks that hold nothing special. The inner loop has no early exit, so that
/// the compiler makes vector code of it on every target.
#[inline]
fn skip_blocks(bytes: &[u8], from: usize) -> usize {
    const BLOCK: usize = 32;
    let mut at = from;
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        if block
            .iter()
            .fold(false, |hit, &byte| hit | is_special(byte))
        {
            break;
        }
        at += BLOCK;
    }
    at
}

const ONES: u64 = u64::from_le_bytes([1; 8]);
const HIGHS: u64 = ONES << 7;

/// The marks of the eight bytes at `at`: the lowest set bit belongs to the first special byte.
/// Bits above it may be false, which is why only the lowest is ever used.
#[inline]
fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    Some((zero_bytes(quote) | zero_bytes(backslash) | control) & HIGHS)
}

#[inline]
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word
}

#[inline]
const fn first_mark(marks: u64) -> usize {
    (marks.trailing_zeros() / 8) as usize
}
