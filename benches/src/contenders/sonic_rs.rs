//! `sonic-rs` into borrowed structs. It selects its instructions at compile time.

use sonic_rs::LazyValue;

use super::typed::{Line, Raw};
use super::{Refused, lines, refused};
use crate::job::{Digest, Fold, Folded};

impl Raw for LazyValue<'_> {
    fn length(&self) -> Option<usize> {
        Some(self.as_raw_str().len())
    }
}

pub(super) fn run<D: Digest>(bytes: &[u8]) -> Result<Folded, Refused> {
    let mut fold = Fold::<D>::default();
    for (number, line) in lines(bytes) {
        let line: Line<'_, LazyValue<'_>> =
            sonic_rs::from_slice(line).map_err(|error| refused(number, error))?;
        line.fold(&mut fold);
    }
    Ok(fold.folded())
}
