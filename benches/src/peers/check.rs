//! Check that all contenders decode the same.

use std::fmt;

use crate::contenders::{Contender, Refused, Slice};
use crate::job::{Digest, EveryByte, Folded};

/// A contender that did not do the job.
#[derive(Debug)]
pub enum Mismatch {
    /// It refused a line that the others accept.
    Refused(Contender, Refused),
    /// It decoded different values than `serde_json`.
    Differs(Contender),
}

/// Decodes the slice with every contender and compares every byte of every decoded string.
///
/// # Errors
///
/// Returns the first contender that differs from `serde_json`.
pub fn check(slice: &mut Slice) -> Result<(), Mismatch> {
    let expected = run::<EveryByte>(Contender::SerdeJson, slice)?;
    for contender in Contender::ALL {
        contender.prepare(slice);
        let folded = contender
            .run_decoded::<EveryByte>(slice)
            .map_err(|refused| Mismatch::Refused(contender, refused))?;
        compare(contender, folded, expected)?;
    }
    Ok(())
}

/// Does the job once, without a comparison.
pub(super) fn run<D: Digest>(contender: Contender, slice: &mut Slice) -> Result<Folded, Mismatch> {
    contender.prepare(slice);
    contender
        .run::<D>(slice)
        .map_err(|refused| Mismatch::Refused(contender, refused))
}

/// Compares a contender's hash with the expected one, raw values included if it has them.
pub(super) fn compare(
    contender: Contender,
    folded: Folded,
    expected: Folded,
) -> Result<(), Mismatch> {
    let raws = !contender.has_raws() || folded.raws == expected.raws;
    if raws && folded.hash == expected.hash && folded.events == expected.events {
        Ok(())
    } else {
        Err(Mismatch::Differs(contender))
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(contender, refused) => {
                write!(f, "{} refuses {refused}", contender.name())
            }
            Self::Differs(contender) => {
                let name = contender.name();
                write!(f, "{name} decodes a slice differently from serde_json")
            }
        }
    }
}

impl std::error::Error for Mismatch {}
