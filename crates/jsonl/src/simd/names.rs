//! Steps over an array of short strings: sixty-four bytes at once, however many strings they hold.
//!
//! The agent names its tools, commands and skills at the beginning of each turn, a hundred strings of
//! some ten bytes. From quote to quote, each of them is a branch that is hard to foresee.

use std::arch::x86_64::_mm256_or_si256;

use crate::simd::scan::{bits, halves, is, is_control};

/// Index behind the array whose first string begins with the quote at `from`, when all of it is
/// strings of less than a block, without escapes, and nothing but commas between them; none when the
/// array is another, or ends in the last bytes: then it is to be read value by value.
#[inline]
pub(crate) fn names_end(bytes: &[u8], from: usize) -> Option<usize> {
    if !is_x86_feature_detected!("avx2") {
        return None;
    }
    // SAFETY: the machine has AVX2, as the lines above have found out.
    unsafe { names_end_avx2(bytes, from) }
}

#[target_feature(enable = "avx2")]
fn names_end_avx2(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    // Whether the first byte of the block lies in a string (all bits), and whether it is the one
    // behind a string.
    let (mut inside, mut behind) = (0_u64, 0_u64);
    loop {
        let marks = Marks::of(bytes.get(at..)?.first_chunk()?);
        let strings = up_to_each(marks.quote) ^ inside;
        let between = !(strings | marks.quote);
        let ends = marks.quote & !strings;
        let behind_each = ends << 1 | behind;
        let last = between & !marks.comma;
        // Every bit up to the first byte between strings that is no comma, or all of them.
        let read = last ^ last.wrapping_sub(1);
        // Between two strings there is one byte, and that is behind a string.
        if ((between ^ behind_each) | marks.other) & read != 0 {
            return None;
        }
        if last != 0 {
            let end = at + last.trailing_zeros() as usize;
            return (bytes.get(end) == Some(&b']')).then_some(end + 1);
        }
        // Long strings are read faster one by one.
        if marks.quote == 0 {
            return None;
        }
        (inside, behind) = ((strings.cast_signed() >> 63).cast_unsigned(), ends >> 63);
        at += 64;
    }
}

/// For each bit, whether an odd number of bits is set up to it.
const fn up_to_each(mut bits: u64) -> u64 {
    let mut step = 1;
    while step < 64 {
        bits ^= bits << step;
        step *= 2;
    }
    bits
}

/// What the bytes of a block are; the first byte lowest.
struct Marks {
    quote: u64,
    comma: u64,
    /// Backslashes and control characters.
    other: u64,
}

impl Marks {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn of(block: &[u8; 64]) -> Self {
        let (low, high) = halves(block);
        let other = |half| _mm256_or_si256(is(half, b'\\'), is_control(half));
        Self {
            quote: bits(is(low, b'"'), is(high, b'"')),
            comma: bits(is(low, b','), is(high, b',')),
            other: bits(other(low), other(high)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Deserializer, Value};

    use super::*;

    /// Whether the array is read; `serde_json` must read the same then.
    fn is_read(array: &str) -> bool {
        let padded = format!("{array}{}", " ".repeat(64));
        let read = names_end(padded.as_bytes(), 1);
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
    fn names_of_every_length_are_read_at_every_place() {
        for first in 0..130 {
            for second in 0..130 {
                let [one, two] = [first, second].map(|length| {
                    let odd = if length % 2 == 1 { "," } else { "" };
                    "é".repeat(length / 2) + odd
                });
                let is_short = first < 64 && second < 64;
                let array = format!(r#"["{one}","{two}","","]"]]]"#);
                assert!(is_read(&array) || !is_short, "{array}");
            }
        }
    }

    /// Arrays with one byte that does not belong there, or one too few, at every place.
    #[test]
    fn whatever_is_no_array_of_names_is_left_to_the_walk() {
        let array = format!("[\"{}\"]", ["Bash"; 40].join("\",\""));
        for place in 1..array.len() {
            for byte in [
                "", "\"", "\\", ",", "]", "[", "{", " ", "\n", "\u{1}", "a", "é",
            ] {
                for kept in [place, place + 1] {
                    let (before, behind) = (array.get(..place), array.get(kept..));
                    is_read(
                        &[before, Some(byte), behind]
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
            assert!(!is_read(other), "{other}");
        }
        assert_eq!(
            names_end(br#"["a"]"#, 1),
            None,
            "the last bytes are not for this"
        );
    }
}
