//! `string = quotation-mark *char quotation-mark`

use crate::error::Stop;
use crate::grammar::scan::{StringEnd, between, string_end};
use crate::text::Str;

/// The string whose opening quote stands at `at`, and the index behind its closing quote.
#[inline(always)]
pub(crate) fn string_at(text: &str, at: usize) -> Result<(usize, Str<'_>), Stop> {
    let end = string_end(text.as_bytes(), at + 1)?;
    Ok((end.quote() + 1, string_between(text, at, end)))
}

/// The string whose opening quote stands at `at` and whose end was found.
#[inline(always)]
pub(crate) fn string_between(text: &str, at: usize, end: StringEnd) -> Str<'_> {
    if end.has_escapes() {
        // The mark of a string with escapes is its opening quote.
        Str::escaped(text.get(at..end.quote()).unwrap_or_default())
    } else {
        Str::plain(between(text, at + 1, end.quote()))
    }
}
