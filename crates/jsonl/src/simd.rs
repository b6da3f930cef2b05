//! Vector code for x86-64: leaves of the grammar, and the only module with `unsafe`.
//!
//! SSE2 is part of every such machine. AVX2 and AVX-512 are used if they are detected at run time, AVX2
//! also if the build is compiled for it. Each part is tested against its safe counterpart in
//! [`scan`](crate::scan) and [`escape`](crate::escape), and the whole parser against the build
//! without this module.
#![expect(
    unsafe_code,
    reason = "vector loads and stores; what they buy is in benches/README.md"
)]

pub(crate) mod compact;
pub(crate) mod names;
pub(crate) mod scan;
pub(crate) mod unescape;
pub(crate) mod utf8;
