//! Skipping of an array of short strings: sixty-four bytes at once, for any number of strings in them.
//!
//! The agent lists its tools, commands and skills at the beginning of each turn: a hundred strings of
//! about ten bytes. Searched from quote to quote, each would cost a mispredicted branch.

use std::arch::x86_64::{
    _mm_clmulepi64_si128, _mm_cvtsi128_si64, _mm_set_epi64x, _mm_set1_epi8, _mm256_or_si256,
    _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask, _mm512_loadu_si512, _mm512_set1_epi8,
};

use crate::simd::scan::{bits, halves, is, is_control};

/// Index after the array whose first string begins with the quote at `from`, if it consists of strings
/// shorter than a block, without escapes, and with nothing but commas between them. None for every other
/// array, and for one near the end of the window; such an array is parsed value by value.
#[inline]
pub(crate) fn names_end(bytes: &[u8], from: usize) -> Option<usize> {
    if !(is_x86_feature_detected!("avx2") && is_x86_feature_detected!("pclmulqdq")) {
        return None;
    }
    if is_x86_feature_detected!("avx512bw") {
        // SAFETY: the machine has AVX2, PCLMULQDQ and AVX-512BW, as checked above.
        return unsafe { names_end_avx512(bytes, from) };
    }
    // SAFETY: the machine has AVX2 and PCLMULQDQ, as checked above.
    unsafe { names_end_avx2(bytes, from) }
}

#[target_feature(enable = "avx2,pclmulqdq")]
fn names_end_avx2(bytes: &[u8], from: usize) -> Option<usize> {
    end_with(bytes, from, |block| Marks::avx2(block), |it| up_to_each(it))
}

#[target_feature(enable = "avx2,pclmulqdq,avx512bw")]
fn names_end_avx512(bytes: &[u8], from: usize) -> Option<usize> {
    end_with(
        bytes,
        from,
        |block| Marks::avx512(block),
        |it| up_to_each(it),
    )
}

#[inline(always)]
fn end_with(
    bytes: &[u8],
    from: usize,
    marks: impl Fn(&[u8; 64]) -> Marks,
    up_to_each: impl Fn(u64) -> u64,
) -> Option<usize> {
    let mut at = from;
    // Whether the first byte of the block is inside a string (all bits), and whether it is the one
    // after a string.
    let (mut inside, mut after) = (0_u64, 0_u64);
    loop {
        let marks = marks(bytes.get(at..)?.first_chunk()?);
        let strings = up_to_each(marks.quote) ^ inside;
        let between = !(strings | marks.quote);
        let ends = marks.quote & !strings;
        let after_each = ends << 1 | after;
        let last = between & !marks.comma;
        // Every bit up to the first byte between strings that is not a comma, or all bits.
        let read = last ^ last.wrapping_sub(1);
        // Between two strings there is exactly one byte, the one after a string.
        if ((between ^ after_each) | marks.other) & read != 0 {
            return None;
        }
        if last != 0 {
            let end = at + last.trailing_zeros() as usize;
            return (bytes.get(end) == Some(&b']')).then_some(end + 1);
        }
        // Long strings are faster one by one.
        if marks.quote == 0 {
            return None;
        }
        (inside, after) = ((strings.cast_signed() >> 63).cast_unsigned(), ends >> 63);
        at += 64;
    }
}

/// Sets each bit if the number of set bits up to it is odd: the product with all ones, without carries.
#[inline]
#[target_feature(enable = "pclmulqdq")]
pub(super) fn up_to_each(bits: u64) -> u64 {
    let bits = _mm_set_epi64x(0, bits.cast_signed());
    let product = _mm_clmulepi64_si128::<0>(bits, _mm_set1_epi8(-1));
    _mm_cvtsi128_si64(product).cast_unsigned()
}

/// Classes of the bytes of a block; the first byte lowest.
struct Marks {
    quote: u64,
    comma: u64,
    /// Backslashes and control characters.
    other: u64,
}

impl Marks {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn avx2(block: &[u8; 64]) -> Self {
        let (low, high) = halves(block);
        let other = |half| _mm256_or_si256(is(half, b'\\'), is_control(half));
        Self {
            quote: bits(is(low, b'"'), is(high, b'"')),
            comma: bits(is(low, b','), is(high, b',')),
            other: bits(other(low), other(high)),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn avx512(block: &[u8; 64]) -> Self {
        // SAFETY: the load takes sixty-four bytes from any address, and the block has sixty-four.
        let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
        let all = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
        Self {
            quote: _mm512_cmpeq_epi8_mask(bytes, all(b'"')),
            comma: _mm512_cmpeq_epi8_mask(bytes, all(b',')),
            other: _mm512_cmpeq_epi8_mask(bytes, all(b'\\'))
                | _mm512_cmplt_epu8_mask(bytes, all(0x20)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Deserializer, Value};

    use super::*;

    /// Whether the array is skipped, the same with each instruction set; `serde_json` must parse the same bytes then.
    fn is_skipped(array: &str) -> bool {
        let padded = format!("{array}{}", " ".repeat(64));
        let read = names_end(padded.as_bytes(), 1);
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("pclmulqdq") {
            // SAFETY: the machine has AVX2 and PCLMULQDQ, as checked above.
            let narrow = unsafe { names_end_avx2(padded.as_bytes(), 1) };
            assert_eq!(narrow, read, "{array}");
        }
        if let Some(end) = read {
            let mut values = Deserializer::from_str(&padded).into_iter::<Value>();
            let value = values.next().and_then(Result::ok);
            let names = value.as_ref().and_then(Value::as_array);
            let are_strings = names.is_some_and(|names| names.iter().all(Value::is_string));
            assert_eq!((values.byte_offset(), are_strings), (end, true), "{array}");
        }
        read.is_some()
    }

    #[test]
    fn names_of_every_length_are_skipped() {
        for first in 0..130 {
            for second in 0..130 {
                let [one, two] = [first, second].map(|length| {
                    let odd = if length % 2 == 1 { "," } else { "" };
                    "é".repeat(length / 2) + odd
                });
                let is_short = first < 64 && second < 64;
                let array = format!(r#"["{one}","{two}","","]"]]]"#);
                assert!(is_skipped(&array) || !is_short, "{array}");
            }
        }
    }

    /// Arrays with one wrong or one missing byte at every offset.
    #[test]
    fn other_arrays_are_left_to_the_grammar() {
        let array = format!("[\"{}\"]", ["Bash"; 40].join("\",\""));
        for place in 1..array.len() {
            for byte in [
                "", "\"", "\\", ",", "]", "[", "{", " ", "\n", "\u{1}", "a", "é",
            ] {
                for kept in [place, place + 1] {
                    let (before, after) = (array.get(..place), array.get(kept..));
                    is_skipped(
                        &[before, Some(byte), after]
                            .map(Option::unwrap_or_default)
                            .concat(),
                    );
                }
            }
        }
        for other in [
            r#"["a" ,"b"]"#,
            r#"["a",1]"#,
            r#"["a",["b"]]"#,
            r#"["a\n"]"#,
            r#"["a",]"#,
        ] {
            assert!(!is_skipped(other), "{other}");
        }
        assert_eq!(names_end(br#"["a"]"#, 1), None, "the end of the window");
    }
}
