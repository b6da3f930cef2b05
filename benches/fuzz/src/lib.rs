//! Hunts for inputs that break what reads bytes from outside.
//!
//! # Guided
//!
//! A [`Hunt`] changes inputs of a [`Target`] without knowing what they mean, keeps those that reach a
//! branch that none before them had, and changes these again. What must hold is the target's to say.
//!
//! # By the grammar
//!
//! [`Fuzzer`]: mutants of real lines through the parser as it ships, through its build without `unsafe`, and
//! beside `serde_json`: in one piece, in any pieces, read into the framer or pushed.
//!
//! The two builds must see the same: places, errors, events, and every value decoded. `serde_json`
//! must take the lines that they take, for the same values; but for lone surrogates, which it
//! refuses and they replace. A stream depends on the seed and its number alone, so that what was
//! found once is found again.

mod corpus;
mod cut;
#[cfg(feature = "targets")]
mod guided;
mod mutate;
mod oracle;
mod random;
mod run;
#[cfg(feature = "targets")]
pub mod targets;
mod words;

/// The parser as it ships.
mod shipped {
    pub(crate) use bowline_jsonl as jsonl;
    include!("see.rs");
}

/// The parser without a line of `unsafe`.
mod safe {
    use bowline_jsonl_safe as jsonl;
    include!("see.rs");
}

pub use corpus::Corpus;
#[cfg(feature = "targets")]
pub use guided::{Found, Hunt, Tally as HuntTally, Target};
pub use run::{Finding, Fuzzer, Tally};
