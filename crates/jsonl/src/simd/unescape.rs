//! Decodes escapes sixteen bytes at a time.

use std::arch::x86_64::{
    __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8, _mm_storeu_si128,
};

use crate::text::{Change, Escape, Surrogates, escape, short};

/// Bytes that are copied at once.
const BLOCK: usize = 16;

/// Appends the decoded `content` of one string, whose escapes are valid, to `out`.
///
/// No escape is shorter than what it stands for, so the output needs no more room than the input
/// and one block: blocks are copied whole, and what follows an escape in them is written over.
pub(crate) fn unescape(content: &str, out: &mut String, surrogates: &mut Surrogates) {
    // SAFETY: what is appended below are whole characters: what stands between two escapes, and
    // what escapes stand for. What is taken away is a U+FFFD that stands at the end.
    let out = unsafe { out.as_mut_vec() };
    let mut rest = content.as_bytes();
    while !rest.is_empty() {
        let plain = copy_plain(rest, out);
        if plain > 0 {
            surrogates.end();
        }
        rest = rest.get(plain..).unwrap_or_default();
        let Some(Escape { length, unit }) = escape(rest) else {
            return;
        };
        rest = rest.get(length..).unwrap_or_default();
        push(surrogates.push(unit), out);
    }
}

#[inline(never)]
fn push(change: Change, out: &mut Vec<u8>) {
    let char = match change {
        Change::Add(char) => char,
        Change::Replace(char) => {
            if out.ends_with(REPLACEMENT) {
                out.truncate(out.len() - REPLACEMENT.len());
            }
            char
        }
    };
    out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
}

/// U+FFFD
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// Appends what stands before the first `\u`, short escapes decoded; how much of `bytes` that is.
#[inline(always)]
fn copy_plain(bytes: &[u8], out: &mut Vec<u8>) -> usize {
    out.reserve(bytes.len() + BLOCK);
    let (mut at, mut end) = (0, out.len());
    while let Some(rest) = bytes.get(at..)
        && !rest.is_empty()
    {
        let (block, length) = block(rest);
        // SAFETY: SSE2 belongs to x86-64. The load takes sixteen bytes from any address, and the
        // block has sixteen. The store goes to any address; no more than `at` bytes were written,
        // and there is room for all of `bytes` and a block.
        let marks = unsafe {
            let block = _mm_loadu_si128(block.as_ptr().cast::<__m128i>());
            _mm_storeu_si128(out.as_mut_ptr().add(end).cast(), block);
            let backslash = _mm_set1_epi8(b'\\'.cast_signed());
            _mm_movemask_epi8(_mm_cmpeq_epi8(block, backslash))
        };
        let plain = length.min(marks.trailing_zeros() as usize);
        (at, end) = (at + plain, end + plain);
        if marks == 0 {
            continue;
        }
        let Some(byte) = short(bytes.get(at + 1)) else {
            break;
        };
        // SAFETY: one byte for two, so that there is room.
        unsafe { out.as_mut_ptr().add(end).write(byte) };
        (at, end) = (at + 2, end + 1);
    }
    // SAFETY: all bytes up to there were written, within the room.
    unsafe { out.set_len(end) };
    at
}

/// The next bytes, and how many of them there are; the last ones are filled up.
#[inline(always)]
fn block(rest: &[u8]) -> ([u8; BLOCK], usize) {
    if let Some(block) = rest.first_chunk() {
        return (*block, BLOCK);
    }
    let mut block = [0; BLOCK];
    if let Some(place) = block.get_mut(..rest.len()) {
        place.copy_from_slice(rest);
    }
    (block, rest.len())
}
