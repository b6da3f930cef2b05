//! Skipping of an object or array that is written without whitespace: sixty-four bytes at once.
//!
//! Skipped from token to token, each token waits for the end of the one before it. Without whitespace,
//! what a byte between strings may be depends only on the byte before it and on the kind of the
//! innermost container, so that the rules of the grammar are checked for all bytes of a block with a
//! few operations on masks. Only brackets, and scalars that are no plain integers, are read one by one.

use std::arch::x86_64::{
    __m256i, _mm256_cmpeq_epi8, _mm256_min_epu8, _mm256_or_si256, _mm256_set1_epi8,
    _mm256_slli_epi16, _mm256_sub_epi8, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask,
    _mm512_loadu_si512, _mm512_or_si512, _mm512_set1_epi8, _mm512_sub_epi8, _mm512_test_epi8_mask,
};

use crate::scan::BlockScan;
use crate::simd::names::up_to_each;
use crate::simd::scan::{are_escapes, bits, escaped, halves, is, is_control, scan_blocks};

/// Levels that a word holds.
const DEPTH: u32 = 60;

/// Index after the object or array at `from`, if it is valid, has no whitespace between its tokens and
/// nests at most `depth` levels, and not too deep for a word. None for every other one; such a value is parsed token by token.
///
/// `scalar_end` returns the index after the number or literal at an index, none when there is none.
#[inline]
pub(crate) fn compact_end(
    bytes: &[u8],
    from: usize,
    depth: u32,
    scalar_end: impl Fn(usize) -> Option<usize>,
) -> Option<usize> {
    if !(is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("pclmulqdq"))
    {
        return None;
    }
    if is_x86_feature_detected!("avx512bw") {
        // SAFETY: the machine has AVX2, BMI1, PCLMULQDQ and AVX-512BW, as checked above.
        return unsafe { compact_end_avx512(bytes, from, depth, scalar_end) };
    }
    // SAFETY: the machine has AVX2, BMI1 and PCLMULQDQ, as checked above.
    unsafe { compact_end_avx2(bytes, from, depth, scalar_end) }
}

#[target_feature(enable = "avx2,bmi1,pclmulqdq")]
fn compact_end_avx2(
    bytes: &[u8],
    from: usize,
    depth: u32,
    scalar_end: impl Fn(usize) -> Option<usize>,
) -> Option<usize> {
    let blocks = Blocks {
        marks: |block: &[u8; 64]| Marks::avx2(block),
        are_escapes: |block: &[u8; 64], rest: &[u8], escaped| are_escapes(block, rest, escaped),
        up_to_each: |bits: u64| up_to_each(bits),
    };
    end_with(bytes, from, depth, scalar_end, blocks)
}

#[target_feature(enable = "avx2,bmi1,pclmulqdq,avx512bw")]
fn compact_end_avx512(
    bytes: &[u8],
    from: usize,
    depth: u32,
    scalar_end: impl Fn(usize) -> Option<usize>,
) -> Option<usize> {
    let blocks = Blocks {
        marks: |block: &[u8; 64]| Marks::avx512(block),
        are_escapes: |block: &[u8; 64], rest: &[u8], escaped| are_escapes(block, rest, escaped),
        up_to_each: |bits: u64| up_to_each(bits),
    };
    end_with(bytes, from, depth, scalar_end, blocks)
}

/// Operations on a block of 64 bytes.
struct Blocks<M, E, U> {
    marks: M,
    are_escapes: E,
    up_to_each: U,
}

#[inline(always)]
fn end_with(
    bytes: &[u8],
    from: usize,
    depth: u32,
    scalar_end: impl Fn(usize) -> Option<usize>,
    blocks: Blocks<
        impl Fn(&[u8; 64]) -> Marks,
        impl Fn(&[u8; 64], &[u8], u64) -> bool,
        impl Fn(u64) -> u64,
    >,
) -> Option<usize> {
    let mut at = from;
    let mut state = State::new(depth);
    loop {
        let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
        let padded;
        let block = match rest.first_chunk() {
            Some(block) => block,
            None => {
                padded = padded_block(rest);
                &padded
            }
        };
        let marks = (blocks.marks)(block);
        let (escaped, is_escaped) = escaped(marks.backslash, state.is_escaped);
        let quote = marks.quote & !escaped;
        if state.inside != 0 && quote == 0 {
            let from = at - state.is_escaped as usize;
            let (BlockScan::Ended(read) | BlockScan::Stopped(read)) = scan_blocks(bytes, from);
            if read.quote() > at {
                (at, state.is_escaped) = (read.quote(), 0);
                continue;
            }
        }
        let strings = (blocks.up_to_each)(quote) ^ state.inside;
        let tokens = Tokens::of(&marks, quote, strings);
        let nesting = state.nest(&tokens)?;
        let inside = strings & nesting.read;
        if marks.control & inside != 0 || !(blocks.are_escapes)(block, rest, escaped & inside) {
            return None;
        }
        let begins = state.check(&tokens, &nesting)?;
        let mut odd = tokens.odd(begins) & nesting.read;
        while odd != 0 {
            let before = begins & (odd ^ (odd - 1));
            let start = match before.checked_ilog2() {
                Some(bit) => at + bit as usize,
                None => state.scalar,
            };
            let end = scalar_end(start)?;
            if !matches!(bytes.get(end), Some(b',' | b'}' | b']')) {
                return None;
            }
            odd &= u64::MAX.checked_shl((end - at) as u32).unwrap_or(0);
        }
        if nesting.is_closed {
            return Some(at + nesting.read.count_ones() as usize);
        }
        if let Some(bit) = begins.checked_ilog2() {
            state.scalar = at + bit as usize;
        }
        state.inside = (strings.cast_signed() >> 63).cast_unsigned();
        state.is_escaped = is_escaped;
        at += 64;
    }
}

/// The last bytes of a window as a block. No value ends in what is added.
fn padded_block(rest: &[u8]) -> [u8; 64] {
    let mut block = [b' '; 64];
    if let Some(start) = block.get_mut(..rest.len()) {
        start.copy_from_slice(rest);
    }
    block
}

/// What a block begins with.
struct State {
    /// Whether its first byte is in a string: all bits or none.
    inside: u64,
    /// Whether that string is a key: 1 or 0.
    is_key: u64,
    /// Whether its first byte is escaped: 1 or 0.
    is_escaped: u64,
    /// What the byte before it is.
    before: Before,
    /// The containers around it, above them a 1: an object is a 1, an array a 0, the innermost lowest.
    open: u64,
    /// Levels that may be open.
    depth: u32,
    /// Index of the last scalar before it.
    scalar: usize,
}

/// Classes of the bytes before each of a block, or, in the lowest bit, of the byte before the block.
#[derive(Default)]
struct Before {
    /// A value must follow: a colon, a comma in an array, the bracket of one.
    values: u64,
    /// A key must follow: a comma in an object, the bracket of one.
    keys: u64,
    opens: u64,
    key_ends: u64,
    scalars: u64,
    /// The end of a value.
    ends: u64,
}

/// Classes of the bytes of a block, the first byte lowest. Those of tokens exclude strings.
struct Tokens {
    comma: u64,
    colon: u64,
    open: u64,
    close: u64,
    /// Which brackets are curly.
    curly: u64,
    /// Bytes of numbers and literals, and all that are nothing else.
    scalar: u64,
    digit: u64,
    zero: u64,
    /// Quotes before strings, strings with these quotes, and quotes after strings.
    start: u64,
    strings: u64,
    end: u64,
}

/// How the brackets of a block nest.
struct Nesting {
    /// The bytes whose innermost container is an object.
    objects: u64,
    /// The bytes up to the bracket that closes the whole, which may be the last byte.
    read: u64,
    is_closed: bool,
}

impl Tokens {
    #[inline(always)]
    const fn of(marks: &Marks, quote: u64, strings: u64) -> Self {
        let outside = !(strings | quote);
        let comma = marks.comma & outside;
        let colon = marks.colon & outside;
        let open = marks.open & outside;
        let close = marks.close & outside;
        Self {
            comma,
            colon,
            open,
            close,
            curly: marks.curly,
            scalar: outside & !(comma | colon | open | close),
            digit: marks.digit,
            zero: marks.zero,
            start: quote & strings,
            strings,
            end: quote & !strings,
        }
    }

    /// Bytes of scalars that need a look: all but digits, and a 0 before other bytes. A scalar as long as
    /// a block is odd too: its value may be infinite.
    #[inline(always)]
    const fn odd(&self, begins: u64) -> u64 {
        let leading_zero = begins & self.zero & (self.scalar >> 1 | 1 << 63);
        let is_long = if self.scalar == u64::MAX { 1 } else { 0 };
        self.scalar & (!self.digit | leading_zero | is_long)
    }
}

impl State {
    fn new(depth: u32) -> Self {
        let before = Before {
            values: 1,
            ..Before::default()
        };
        Self {
            inside: 0,
            is_key: 0,
            is_escaped: 0,
            before,
            open: 1,
            depth: depth.min(DEPTH),
            scalar: 0,
        }
    }

    /// Opens and closes the containers whose brackets are in the block; none when two brackets differ, or
    /// for too many levels.
    ///
    /// Whether a bracket opens or closes is hardly predictable, so that nothing branches on it.
    #[inline(always)]
    fn nest(&mut self, tokens: &Tokens) -> Option<Nesting> {
        let mut objects = self.innermost();
        let mut brackets = tokens.open | tokens.close;
        let (mut read, mut wrong) = (u64::MAX, 0);
        while brackets != 0 {
            let bit = brackets & brackets.wrapping_neg();
            let is_object = u64::from(tokens.curly & bit != 0);
            let opened = self.open << 1 | is_object;
            let closes = u64::from(tokens.close & bit != 0);
            let is_too_deep = u64::from(opened >> (self.depth + 1) != 0);
            wrong |= (self.open ^ is_object) & closes | is_too_deep & !closes;
            self.open = if closes == 0 { opened } else { self.open >> 1 };
            objects = objects & (bit - 1) | self.innermost() & !(bit - 1);
            brackets &= brackets - 1;
            if self.open == 1 {
                read = bit ^ (bit - 1);
                break;
            }
        }
        let is_closed = self.open == 1;
        (wrong == 0).then_some(Nesting {
            objects,
            read,
            is_closed,
        })
    }

    /// Whether the innermost container is an object: all bits or none.
    #[inline(always)]
    const fn innermost(&self) -> u64 {
        (self.open & 1).wrapping_neg()
    }

    /// Checks what follows what. Returns the first bytes of scalars; none for what is not valid.
    #[inline(always)]
    fn check(&mut self, tokens: &Tokens, nesting: &Nesting) -> Option<u64> {
        let Tokens {
            comma,
            colon,
            open,
            close,
            scalar,
            ..
        } = *tokens;
        let values = colon | comma & !nesting.objects | open & !tokens.curly;
        let keys = comma & nesting.objects | open & tokens.curly;
        let (after_values, after_keys) = (
            after(values, self.before.values),
            after(keys, self.before.keys),
        );
        // The addition carries the first bit of a key through its string to the quote after it.
        let key = tokens.start & after_keys | self.is_key;
        let (carried, is_key) = tokens.strings.overflowing_add(key);
        let key_ends = carried & tokens.end;
        let ends = tokens.end & !key_ends | close | scalar;
        let after_ends = after(ends, self.before.ends);
        let begins = scalar & !after(scalar, self.before.scalars);
        let wrong = tokens.start & !(after_values | after_keys)
            | (open | begins) & !after_values
            | comma & !after_ends
            | close & !(after_ends | after(open, self.before.opens))
            | colon ^ after(key_ends, self.before.key_ends);
        self.is_key = u64::from(is_key);
        self.before = Before {
            values: values >> 63,
            keys: keys >> 63,
            opens: open >> 63,
            key_ends: key_ends >> 63,
            scalars: scalar >> 63,
            ends: ends >> 63,
        };
        (wrong & nesting.read == 0).then_some(begins)
    }
}

/// Which bytes follow these ones; `before` for the first byte.
#[inline(always)]
const fn after(these: u64, before: u64) -> u64 {
    these << 1 | before
}

/// Classes of the bytes of a block wherever they are; the first byte lowest.
struct Marks {
    quote: u64,
    backslash: u64,
    control: u64,
    comma: u64,
    colon: u64,
    open: u64,
    close: u64,
    curly: u64,
    digit: u64,
    zero: u64,
}

impl Marks {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn avx2(block: &[u8; 64]) -> Self {
        let (low, high) = halves(block);
        // `[` and `{`, and `]` and `}`, differ in this bit.
        let curly = |half| _mm256_or_si256(half, _mm256_set1_epi8(0x20));
        let (low_curly, high_curly) = (curly(low), curly(high));
        Self {
            quote: bits(is(low, b'"'), is(high, b'"')),
            backslash: bits(is(low, b'\\'), is(high, b'\\')),
            control: bits(is_control(low), is_control(high)),
            comma: bits(is(low, b','), is(high, b',')),
            colon: bits(is(low, b':'), is(high, b':')),
            open: bits(is(low_curly, b'{'), is(high_curly, b'{')),
            close: bits(is(low_curly, b'}'), is(high_curly, b'}')),
            // The bit moves to the place that is gathered.
            curly: bits(_mm256_slli_epi16::<2>(low), _mm256_slli_epi16::<2>(high)),
            digit: bits(is_digit(low), is_digit(high)),
            zero: bits(is(low, b'0'), is(high, b'0')),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn avx512(block: &[u8; 64]) -> Self {
        // SAFETY: the load takes sixty-four bytes from any address, and the block has sixty-four.
        let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
        let all = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
        let bracket = _mm512_or_si512(bytes, all(0x20));
        Self {
            quote: _mm512_cmpeq_epi8_mask(bytes, all(b'"')),
            backslash: _mm512_cmpeq_epi8_mask(bytes, all(b'\\')),
            control: _mm512_cmplt_epu8_mask(bytes, all(0x20)),
            comma: _mm512_cmpeq_epi8_mask(bytes, all(b',')),
            colon: _mm512_cmpeq_epi8_mask(bytes, all(b':')),
            open: _mm512_cmpeq_epi8_mask(bracket, all(b'{')),
            close: _mm512_cmpeq_epi8_mask(bracket, all(b'}')),
            curly: _mm512_test_epi8_mask(bytes, all(0x20)),
            digit: _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, all(b'0')), all(10)),
            zero: _mm512_cmpeq_epi8_mask(bytes, all(b'0')),
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn is_digit(bytes: __m256i) -> __m256i {
    let value = _mm256_sub_epi8(bytes, _mm256_set1_epi8(b'0'.cast_signed()));
    _mm256_cmpeq_epi8(_mm256_min_epu8(value, _mm256_set1_epi8(9)), value)
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Marks {
        /// The classes as they are defined, byte by byte.
        fn defined(block: &[u8; 64]) -> Self {
            let bits = |is: fn(u8) -> bool| {
                let set = block.iter().enumerate().filter(|&(_, &byte)| is(byte));
                set.map(|(bit, _)| 1 << bit).sum()
            };
            Self {
                quote: bits(|byte| byte == b'"'),
                backslash: bits(|byte| byte == b'\\'),
                control: bits(|byte| byte < 0x20),
                comma: bits(|byte| byte == b','),
                colon: bits(|byte| byte == b':'),
                open: bits(|byte| matches!(byte, b'[' | b'{')),
                close: bits(|byte| matches!(byte, b']' | b'}')),
                curly: bits(|byte| byte & 0x20 != 0),
                digit: bits(|byte| byte.is_ascii_digit()),
                zero: bits(|byte| byte == b'0'),
            }
        }

        const fn all(&self) -> [u64; 10] {
            [
                self.quote,
                self.backslash,
                self.control,
                self.comma,
                self.colon,
                self.open,
                self.close,
                self.curly,
                self.digit,
                self.zero,
            ]
        }
    }

    /// Every byte at every place of a block.
    fn blocks() -> impl Iterator<Item = [u8; 64]> {
        (0..=255_u8).map(|first| std::array::from_fn(|place| first.wrapping_add(place as u8)))
    }

    #[test]
    fn classes_are_equal_with_each_instruction_set() {
        if !is_x86_feature_detected!("avx2") {
            return; // Nothing is skipped at once.
        }
        for block in blocks() {
            let defined = Marks::defined(&block).all();
            // SAFETY: the machine has AVX2, as checked above.
            assert_eq!(unsafe { Marks::avx2(&block) }.all(), defined);
            if is_x86_feature_detected!("avx512bw") {
                // SAFETY: the machine has AVX-512BW, as checked above.
                assert_eq!(unsafe { Marks::avx512(&block) }.all(), defined);
            }
        }
    }
}
