//! Scanning of strings without `unsafe`: eight bytes in a word, and blocks that the compiler turns
//! into vector code.
//!
//! [`simd`](crate::simd) has the functions of the same names for x86-64.

/// Where a string ends, and whether it has escapes: one word, so that it is returned in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StringEnd(usize);

impl StringEnd {
    #[inline(always)]
    pub(crate) const fn new(quote: usize, has_escapes: bool) -> Self {
        Self(quote << 1 | has_escapes as usize)
    }

    /// Index of the closing quote.
    #[inline(always)]
    pub(crate) const fn quote(self) -> usize {
        self.0 >> 1
    }

    #[inline(always)]
    pub(crate) const fn has_escapes(self) -> bool {
        self.0 & 1 == 1
    }
}

/// How far a scan of whole blocks came.
pub(crate) enum BlockScan {
    #[cfg_attr(
        not(all(feature = "simd", target_arch = "x86_64")),
        expect(dead_code, reason = "the safe scanner has no blocks")
    )]
    Ended(StringEnd),
    /// At the last block, or before a byte that breaks a rule: not the end of the string, but the
    /// index up to which it was scanned.
    Stopped(StringEnd),
}

/// Index of the closing quote of the string at `from` when it is near and nothing else is special
/// before it; otherwise an index up to which nothing is special.
#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
#[inline(always)]
pub(crate) fn near_quote(bytes: &[u8], from: usize) -> Result<usize, usize> {
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

/// The string whose opening quote is at `open`, and the index of its closing quote, when that is
/// near and no escape is before it; otherwise an index up to which nothing is special.
#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
#[inline(always)]
pub(crate) fn near_string(text: &str, open: usize) -> Result<(usize, &str), usize> {
    let quote = near_quote(text.as_bytes(), open + 1)?;
    let content = quoted(text, open, quote - open - 1).ok_or(quote)?;
    Ok((quote, content))
}

/// The `length` bytes between the quote at `open` and another one; none when there are no quotes.
#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
#[inline(always)]
pub(crate) fn quoted(text: &str, open: usize, length: usize) -> Option<&str> {
    let rest = text.get(open..)?.strip_prefix('"')?;
    (rest.as_bytes().get(length) == Some(&b'"')).then(|| rest.get(..length))?
}

/// The safe scanner has no blocks: an array of strings is parsed like any other.
#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
pub(crate) const fn names_end(_bytes: &[u8], _from: usize) -> Option<usize> {
    None
}

/// The safe scanner has no blocks: an object or array is parsed token by token.
#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
pub(crate) fn compact_end(
    _bytes: &[u8],
    _from: usize,
    _depth: u32,
    _scalar_end: impl Fn(usize) -> Option<usize>,
) -> Option<usize> {
    None
}

/// The safe scanner has no blocks: the string is scanned from its beginning.
#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
pub(crate) const fn scan_blocks(_bytes: &[u8], from: usize) -> BlockScan {
    BlockScan::Stopped(StringEnd::new(from, false))
}

/// Index of the first quote, backslash or control character at or after `from`; the length of
/// `bytes` when there is none.
#[inline]
pub(crate) fn special(bytes: &[u8], from: usize) -> usize {
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

/// [`special`] byte by byte, for the last bytes of a window.
fn special_in_tail(bytes: &[u8], from: usize) -> usize {
    let tail = bytes.get(from..).unwrap_or_default();
    let place = tail.iter().position(|&byte| is_special(byte));
    from + place.unwrap_or(tail.len())
}

#[inline]
pub(crate) const fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// Skips whole blocks without special bytes. The inner loop has no early exit, so that the compiler
/// vectorises it on every target.
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

/// The lowest bit of each byte of a word.
pub(crate) const ONES: u64 = u64::from_le_bytes([1; 8]);
/// The highest bit of each byte of a word.
pub(crate) const HIGHS: u64 = ONES << 7;

/// The marks of the eight bytes at `at`: the lowest set bit is that of the first special byte. Bits
/// above it may be wrong, so that only the lowest is used.
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
