//! Code that the benchmarks share: corpora in the shapes of real streams, the typed job and its
//! contenders, and the measurements of the reducer, of sessions, of terminals and of the runner.
//!
//! The README of this package describes the method and how to read the figures.

pub mod chunks;
pub mod clock;
pub mod contenders;
pub mod corpus;
pub mod count;
mod exit;
#[cfg(feature = "sessions")]
pub mod fleet;
pub mod job;
pub mod peers;
#[cfg(feature = "sessions")]
pub mod receive;
pub mod reduce;
#[cfg(feature = "sessions")]
pub mod runner;
#[cfg(feature = "sessions")]
pub mod terminal;

pub use exit::exit_code;
