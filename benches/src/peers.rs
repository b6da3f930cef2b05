//! The parser beside its peers, in one run.
//!
//! Every contender runs on every slice in turn, in one thread; what counts is CPU time, the minimum
//! of some rounds for each slice, and the median of some processes.

mod check;
mod measure;
mod report;
mod run;

pub use check::{Mismatch, check};
pub use measure::{Times, measure};
pub use report::{Row, build_features, json, table};
pub use run::{Failure, Plan, Sample, rows, sample};

use bytes::Bytes;
use memchr::{memchr, memrchr};

use crate::contenders::{Slice, is_fit};

/// Length of a slice, in bytes: it stays in the last-level cache while everyone runs on it.
pub const SLICE: usize = 4 << 20;

/// Cuts a stream into slices of whole lines, of about [`SLICE`] bytes or one longer line.
#[must_use]
pub fn slices(mut rest: Bytes) -> Vec<Slice> {
    let mut slices = Vec::new();
    while !rest.is_empty() {
        let end = match rest.get(..SLICE) {
            None => rest.len(),
            Some(head) => memrchr(b'\n', head)
                .or_else(|| memchr(b'\n', &rest))
                .map_or(rest.len(), |end| end + 1),
        };
        slices.push(Slice::new(rest.split_to(end)));
    }
    slices
}

/// The lines that `serde_json` takes, blank ones left out, and how many it does not take.
#[must_use]
pub fn fit(bytes: &[u8]) -> (Bytes, usize) {
    let mut kept = Vec::with_capacity(bytes.len());
    let mut unfit = 0;
    for line in bytes.split(|&byte| byte == b'\n') {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        if is_fit(line) {
            kept.extend_from_slice(line);
            kept.push(b'\n');
        } else {
            unfit += 1;
        }
    }
    (Bytes::from(kept), unfit)
}
