//! Decoding of escapes: all of sixty-four bytes at once with AVX-512; otherwise one by one, with the text
//! between them copied in blocks of sixteen or thirty-two bytes.

mod avx512;

use std::arch::x86_64::{
    _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8, _mm_storeu_si128,
    _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_set1_epi8,
    _mm256_storeu_si256,
};

use crate::escape::{Change, Escape, Surrogates, escape, short};

/// Appends the decoded `content` of one string, whose escapes are valid, to `out`.
///
/// No escape is shorter than its character, so that the output needs no more room than the input and
/// one block: blocks are copied whole, and the bytes after an escape are overwritten.
pub(crate) fn unescape(content: &str, out: &mut String, surrogates: &mut Surrogates) {
    if avx512::is_supported() {
        // SAFETY: the machine has the features, as checked above.
        unsafe { unescape_avx512(content, out, surrogates) }
    } else {
        unescape_narrow(content, out, surrogates);
    }
}

/// [`unescape`] on a machine without AVX-512.
pub(crate) fn unescape_narrow(content: &str, out: &mut String, surrogates: &mut Surrogates) {
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has AVX2, as checked above.
        unsafe { unescape_avx2(content, out, surrogates) }
    } else {
        unescape_sse2(content, out, surrogates);
    }
}

#[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
fn unescape_avx512(content: &str, out: &mut String, surrogates: &mut Surrogates) {
    unescape_with(content, out, surrogates, |bytes, out| {
        avx512::copy_plain(bytes, out)
    });
}

#[target_feature(enable = "avx2")]
fn unescape_avx2(content: &str, out: &mut String, surrogates: &mut Surrogates) {
    let copy = |block: &[u8; 32], to: *mut u8| {
        // SAFETY: the load takes thirty-two bytes from any address, and the block has them; the
        // store goes to any address, and there is room for a block.
        unsafe {
            let block = _mm256_loadu_si256(block.as_ptr().cast());
            _mm256_storeu_si256(to.cast(), block);
            let backslash = _mm256_set1_epi8(b'\\'.cast_signed());
            _mm256_movemask_epi8(_mm256_cmpeq_epi8(block, backslash)).cast_unsigned()
        }
    };
    unescape_with(content, out, surrogates, |bytes, out| {
        copy_plain(bytes, out, copy)
    });
}

/// [`unescape`] on a machine without AVX2.
pub(crate) fn unescape_sse2(content: &str, out: &mut String, surrogates: &mut Surrogates) {
    let copy = |block: &[u8; 16], to: *mut u8| {
        // SAFETY: SSE2 is part of x86-64. The load takes sixteen bytes from any address, and the
        // block has them; the store goes to any address, and there is room for a block.
        unsafe {
            let block = _mm_loadu_si128(block.as_ptr().cast());
            _mm_storeu_si128(to.cast(), block);
            let backslash = _mm_set1_epi8(b'\\'.cast_signed());
            _mm_movemask_epi8(_mm_cmpeq_epi8(block, backslash)).cast_unsigned()
        }
    };
    unescape_with(content, out, surrogates, |bytes, out| {
        copy_plain(bytes, out, copy)
    });
}

/// `plain` appends the text before the first `\u`, with short escapes decoded, and returns the number of
/// bytes that it consumed.
#[inline(always)]
fn unescape_with(
    content: &str,
    out: &mut String,
    surrogates: &mut Surrogates,
    plain: impl Fn(&[u8], &mut Vec<u8>) -> usize,
) {
    // SAFETY: only whole characters are appended below: text between two escapes, and decoded escapes.
    // Only a U+FFFD at the end is removed.
    let out = unsafe { out.as_mut_vec() };
    let mut rest = content.as_bytes();
    while !rest.is_empty() {
        let plain = plain(rest, out);
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

/// Appends the text before the first `\u`, with short escapes decoded, and returns the number of bytes
/// that it consumed. `copy` copies a block and returns a mask of its backslashes, the first byte
/// lowest.
#[inline(always)]
fn copy_plain<const BLOCK: usize>(
    bytes: &[u8],
    out: &mut Vec<u8>,
    copy: impl Fn(&[u8; BLOCK], *mut u8) -> u32,
) -> usize {
    let whole = copy_blocks(bytes, bytes.len(), out, &copy);
    let rest = bytes.get(whole..).unwrap_or_default();
    // The last bytes are copied to a place where a block of others follows them.
    let mut last = [[0; BLOCK]; 2];
    let Some(place) = last[0].get_mut(..rest.len()) else {
        return whole;
    };
    place.copy_from_slice(rest);
    whole + copy_blocks(last.as_flattened(), rest.len(), out, &copy)
}

/// [`copy_plain`] for the first `length` bytes, as long as whole blocks are left.
#[inline(always)]
fn copy_blocks<const BLOCK: usize>(
    bytes: &[u8],
    length: usize,
    out: &mut Vec<u8>,
    copy: impl Fn(&[u8; BLOCK], *mut u8) -> u32,
) -> usize {
    out.reserve(length + BLOCK);
    let (mut at, mut end) = (0, out.len());
    while at < length
        && let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk())
    {
        // SAFETY: no more than `at` bytes were written, and there is room for `length` and a block.
        let marks = copy(block, unsafe { out.as_mut_ptr().add(end) });
        let plain = BLOCK.min(length - at).min(marks.trailing_zeros() as usize);
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
