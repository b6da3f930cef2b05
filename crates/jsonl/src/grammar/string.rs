//! `string = quotation-mark *char quotation-mark`

use crate::error::Stop;
use crate::grammar::scan::{StringEnd, end_from, near_string, quoted};
use crate::text::Str;

/// The string whose opening quote stands at `at`, and the index behind its closing quote.
#[inline(always)]
pub(crate) fn string_at(text: &str, at: usize) -> Result<(usize, Str<'_>), Stop> {
    match near_string(text, at) {
        Ok((quote, content)) => Ok((quote + 1, Str::plain(content))),
        Err(from) => far_string(text, at, from),
    }
}

/// Bytes of a uuid.
const UUID: usize = 36;

/// The same of a string that is as long as a uuid and made of the same kind of bytes; none otherwise.
/// All of it is looked at in one step.
#[inline(always)]
pub(crate) fn uuid_at(text: &str, at: usize) -> Option<(usize, Str<'_>)> {
    let content = quoted(text, at, UUID)?;
    let (first, rest) = content.as_bytes().split_first_chunk::<16>()?;
    let (second, last) = (rest.first_chunk::<16>()?, rest.last_chunk::<16>()?);
    let mut others = [false; 16];
    for i in 0..16 {
        let least = first[i].min(second[i]).min(last[i]);
        let common = first[i] & second[i] & last[i];
        // What is special in a string is below `#` or, as a backslash, has this bit not set.
        others[i] = least.saturating_sub(b'"').min(common & 0x20) == 0;
    }
    (others == [false; 16]).then(|| (at + UUID + 2, Str::plain(content)))
}

/// The same of a string that is long or holds an escape; nothing is special before `from`.
#[inline(never)]
fn far_string(text: &str, at: usize, from: usize) -> Result<(usize, Str<'_>), Stop> {
    let end = end_from(text.as_bytes(), from)?;
    Ok((end.quote() + 1, string_between(text, at, end)))
}

/// The string whose opening quote stands at `at` and whose end was found.
fn string_between(text: &str, at: usize, end: StringEnd) -> Str<'_> {
    if end.has_escapes() {
        // The mark of a string with escapes is its opening quote.
        Str::escaped(text.get(at..end.quote()).unwrap_or_default())
    } else {
        Str::plain(quoted(text, at, end.quote() - at - 1).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = r#""0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9","#;

    /// Whether a string is read in one step, and then as any other is.
    fn is_read(text: &str) -> bool {
        let read = uuid_at(text, 0);
        assert!(read.is_none() || read == string_at(text, 0).ok(), "{text}");
        read.is_some()
    }

    #[test]
    fn a_uuid_is_read_as_any_string_is() {
        assert!(is_read(UUID));
        for at in 0..UUID.len() - 1 {
            assert!(!is_read(UUID.get(..at).expect("ASCII")), "cut at {at}");
            for byte in 0..128 {
                let mut bytes = UUID.as_bytes().to_vec();
                bytes[at] = byte;
                let text = String::from_utf8(bytes).expect("ASCII");
                let is_usual = byte.is_ascii_digit() || byte.is_ascii_lowercase() || byte == b'-';
                let is_inside = (1..UUID.len() - 2).contains(&at);
                assert!(is_read(&text) || !is_usual || !is_inside, "{text}");
            }
        }
    }
}
