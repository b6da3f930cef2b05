//! Fuzzing of code that reads untrusted bytes.
//!
//! # Guided
//!
//! A [`GuidedFuzzer`] mutates inputs of a [`Target`] without knowledge of their format, keeps those that
//! reach a new branch, and mutates these again. The target defines the properties that must hold.
//!
//! # By the grammar
//!
//! A [`Fuzzer`] compares the results for mutated real lines of the parser as it ships, of its build
//! without `unsafe`, and of `serde_json`: in one piece, in any chunks, read into the framer or
//! pushed.
//!
//! Both builds must agree on positions, errors, events, and every decoded value. `serde_json` must
//! accept the same lines with the same values, except for lone surrogates, which it refuses and the
//! parser replaces. A stream depends only on the seed and its number, so that findings are
//! reproducible.

mod corpus;
mod cut;
mod dictionary;
#[cfg(feature = "targets")]
mod guided;
mod mutate;
mod oracle;
mod random;
mod run;
#[cfg(feature = "targets")]
pub mod targets;

/// The parser as it ships.
mod shipped {
    pub(crate) use bowline_jsonl as jsonl;
    include!("see.rs");
}

/// The parser without `unsafe`.
mod safe {
    pub(crate) use bowline_jsonl_safe as jsonl;
    include!("see.rs");
}

pub use corpus::Corpus;
#[cfg(feature = "targets")]
pub use guided::{Found, GuidedFuzzer, Tally as GuidedTally, Target};
pub use run::{Finding, Fuzzer, Tally};
