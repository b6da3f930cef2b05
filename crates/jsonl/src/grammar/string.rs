//! `string = quotation-mark *char quotation-mark`

use crate::error::Stop;
use crate::grammar::scan::{StringEnd, between, far_end, near_string};
use crate::text::Str;

/// The string whose opening quote stands at `at`, and the index behind its closing quote.
#[inline(always)]
pub(crate) fn string_at(text: &str, at: usize) -> Result<(usize, Str<'_>), Stop> {
    match near_string(text, at) {
        Ok((quote, content)) => Ok((quote + 1, Str::plain(content))),
        Err(from) => far_string(text, at, from),
    }
}

/// The same of a string that is long or holds an escape; nothing is special before `from`.
#[inline(never)]
fn far_string(text: &str, at: usize, from: usize) -> Result<(usize, Str<'_>), Stop> {
    let end = far_end(text.as_bytes(), from)?;
    Ok((end.quote() + 1, string_between(text, at, end)))
}

/// The string whose opening quote stands at `at` and whose end was found.
fn string_between(text: &str, at: usize, end: StringEnd) -> Str<'_> {
    if end.has_escapes() {
        // The mark of a string with escapes is its opening quote.
        Str::escaped(text.get(at..end.quote()).unwrap_or_default())
    } else {
        Str::plain(between(text, at + 1, end.quote()))
    }
}
