//! `string = quotation-mark *char quotation-mark`

use crate::error::Stop;
use crate::grammar::scan::string_end;
use crate::text::Str;

/// The string whose opening quote stands at `at`, and the index behind its closing quote.
#[inline(always)]
pub(crate) fn string_at(text: &str, at: usize) -> Result<(usize, Str<'_>), Stop> {
    let end = string_end(text.as_bytes(), at + 1)?;
    // Both ends are quotes, so they are character boundaries; the fallback is never reached.
    let value = if end.has_escapes() {
        Str::escaped(text.get(at..end.quote()).unwrap_or_default())
    } else {
        Str::plain(text.get(at + 1..end.quote()).unwrap_or_default())
    };
    Ok((end.quote() + 1, value))
}
