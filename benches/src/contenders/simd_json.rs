//! `simd-json` into borrowed structs. It unescapes in place and has no raw values.

use memchr::memchr;
use serde::de::IgnoredAny;
use simd_json::Buffers;
use simd_json::serde::from_slice_with_buffers;

use super::typed::Line;
use super::{Refused, refused};
use crate::job::{Digest, Fold, Folded};

pub(super) fn run<D: Digest>(mut rest: &mut [u8]) -> Result<Folded, Refused> {
    let mut fold = Fold::<D>::default();
    let mut buffers = Buffers::default();
    let mut number = 0;
    while let Some(end) = memchr(b'\n', rest) {
        let (line, after) = rest.split_at_mut(end + 1);
        rest = after;
        number += 1;
        let line = line.get_mut(..end).unwrap_or_default();
        let line: Line<'_, IgnoredAny> =
            from_slice_with_buffers(line, &mut buffers).map_err(|error| refused(number, error))?;
        line.fold(&mut fold);
    }
    Ok(fold.folded())
}
