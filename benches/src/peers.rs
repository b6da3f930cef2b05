//! The parser in comparison with other JSON parsers, in one run.
//!
//! Every contender runs on every slice in turn, in one thread. Results are CPU time: the minimum of
//! several rounds per slice, and the median of several processes.

mod check;
mod measure;
mod report;
mod run;
mod simdjson;

pub use check::{Mismatch, check};
pub use measure::{Times, measure};
pub use report::{Row, build_features, json, table};
pub use run::{Failure, Plan, Sample, rows, sample};
pub use simdjson::{Absent, Simdjson};

use bytes::Bytes;
use memchr::{memchr, memrchr};

use crate::contenders::{Slice, is_fit};

/// Length of a slice in bytes: it fits into the last-level cache while all contenders run on it.
pub const SLICE: usize = 4 << 20;

/// Splits a stream into slices of whole lines, of about [`SLICE`] bytes or one longer line.
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

/// Returns the lines that `serde_json` accepts, without blank ones, and the number of refused
/// lines.
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
