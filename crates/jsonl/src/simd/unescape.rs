//! Decodes escapes sixteen bytes at a time.

use std::arch::x86_64::{
    __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8, _mm_storeu_si128,
};

use crate::text::{Change, Escape, Surrogates, escape};

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
    out.reserve(content.len() + BLOCK);
    let mut rest = content.as_bytes();
    loop {
        let plain = copy_plain(rest, out);
        if plain > 0 {
            surrogates.end();
        }
        rest = rest.get(plain..).unwrap_or_default();
        let Some(Escape { length, unit }) = escape(rest) else {
            return;
        };
        rest = rest.get(length..).unwrap_or_default();
        match u8::try_from(unit) {
            Ok(byte @ 0..0x80) => {
                surrogates.end();
                out.push(byte);
            }
            _ => push(surrogates.push(unit), out),
        }
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

/// Appends what stands before the first backslash; how much that is.
#[inline(always)]
fn copy_plain(bytes: &[u8], out: &mut Vec<u8>) -> usize {
    out.reserve(bytes.len() + BLOCK);
    let start = out.len();
    let mut copied = 0;
    let mut marks = 0;
    while marks == 0
        && let Some(block) = bytes.get(copied..).and_then(<[u8]>::first_chunk::<BLOCK>)
    {
        // SAFETY: SSE2 belongs to x86-64. The load takes sixteen bytes from any address, and the
        // block has sixteen. The store goes to any address; there is room for all of `bytes` and a
        // block behind `start`, and no more than `bytes` was copied.
        unsafe {
            let block = _mm_loadu_si128(block.as_ptr().cast::<__m128i>());
            _mm_storeu_si128(out.as_mut_ptr().add(start + copied).cast(), block);
            let backslash = _mm_set1_epi8(b'\\'.cast_signed());
            marks = _mm_movemask_epi8(_mm_cmpeq_epi8(block, backslash));
        }
        copied += if marks == 0 {
            BLOCK
        } else {
            marks.trailing_zeros() as usize
        };
    }
    if marks == 0 {
        let tail = bytes.get(copied..).unwrap_or_default();
        for &byte in tail.iter().take_while(|&&byte| byte != b'\\') {
            // SAFETY: there is room for all of `bytes` behind `start`.
            unsafe { out.as_mut_ptr().add(start + copied).write(byte) };
            copied += 1;
        }
    }
    // SAFETY: so many bytes were written behind the old end, within the room.
    unsafe { out.set_len(start + copied) };
    copied
}
