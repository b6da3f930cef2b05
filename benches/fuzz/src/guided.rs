//! Coverage-guided fuzzing.

mod change;
mod edges;
mod fuzzer;
mod pool;
mod shrink;

pub use fuzzer::{Found, GuidedFuzzer, Tally};

/// Code that reads bytes, and the properties that must hold for any input.
#[derive(Debug)]
pub struct Target {
    /// The name on the command line.
    pub name: &'static str,
    /// The property, in one line.
    pub what: &'static str,
    /// Longest input, in bytes.
    pub longest: usize,
    /// The seeds.
    pub(crate) seeds: fn() -> std::io::Result<Vec<Vec<u8>>>,
    /// The dictionary: tokens to insert, in addition to bytes.
    pub(crate) dictionary: &'static [&'static [u8]],
    /// Repairs checksums, so that mutated inputs get past them.
    pub(crate) repair: fn(&mut [u8]),
    /// Sets up the function that executes inputs.
    pub(crate) check: fn() -> Result<Check, String>,
}

/// Executes one input, and returns the violated property.
pub(crate) type Check = Box<dyn FnMut(&[u8]) -> Result<(), String>>;
