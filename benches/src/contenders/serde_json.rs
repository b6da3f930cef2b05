//! `serde_json` into borrowed structs.

use serde_json::value::RawValue;

use super::typed::{Line, Raw};
use super::{Refused, lines, refused};
use crate::job::{Digest, Fold, Folded};

impl Raw for &RawValue {
    fn length(&self) -> Option<usize> {
        Some(self.get().len())
    }
}

pub(super) fn run<D: Digest>(bytes: &[u8]) -> Result<Folded, Refused> {
    let mut fold = Fold::<D>::default();
    for (number, line) in lines(bytes) {
        let line: Line<'_, &RawValue> =
            serde_json::from_slice(line).map_err(|error| refused(number, error))?;
        line.fold(&mut fold);
    }
    Ok(fold.folded())
}

pub(super) fn takes(line: &[u8]) -> bool {
    serde_json::from_slice::<Line<'_, &RawValue>>(line).is_ok()
}
