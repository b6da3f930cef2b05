//! `string = quotation-mark *char quotation-mark`

use crate::error::{Expected, Fault};
use crate::grammar::Parsed;
use crate::grammar::scan::string_end;
use crate::text::Str;

/// One string, quotes included in the input and not in the result.
#[inline(always)]
pub(crate) fn string(input: &str) -> Parsed<'_, Str<'_>> {
    let bytes = input.as_bytes();
    if bytes.first() != Some(&b'"') {
        return Err(Fault::at(input, Expected::Value));
    }
    let end = string_end(bytes, 1).map_err(|(at, expected)| {
        nom::Err::Error(Fault {
            left: input.len() - at,
            expected,
        })
    })?;
    // Both ends are quotes, so they are character boundaries; the fallback is never reached.
    let rest = input.get(end.quote + 1..).unwrap_or_default();
    let value = if end.escaped {
        Str::escaped(input.get(..end.quote).unwrap_or_default())
    } else {
        Str::plain(input.get(1..end.quote).unwrap_or_default())
    };
    Ok((rest, value))
}
