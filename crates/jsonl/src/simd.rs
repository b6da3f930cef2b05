//! Vector code for x86-64. The only module with `unsafe`.
//!
//! SSE2 belongs to every such machine; AVX2 and AVX-512 are used where a run finds them, AVX2 also
//! where the build may count on it. Tests hold each part to its safe counterpart at every place of a string, and the
//! parser to `serde_json` on mutants of real lines.
#![expect(
    unsafe_code,
    reason = "vector loads and stores; what they buy is in benches/README.md"
)]

pub(crate) mod names;
pub(crate) mod scan;
pub(crate) mod unescape;
pub(crate) mod utf8;
