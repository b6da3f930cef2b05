//! A hunt for inputs that break something, led by which code they reach.

mod change;
mod edges;
mod hunt;
mod pool;
mod shrink;

pub use hunt::{Found, Hunt, Tally};

/// Something that reads bytes, and what must hold of it whatever they are.
#[derive(Debug)]
pub struct Target {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What must hold, in a line.
    pub what: &'static str,
    /// Longest input, in bytes.
    pub longest: usize,
    /// The inputs that the first others are made from.
    pub(crate) seeds: fn() -> std::io::Result<Vec<Vec<u8>>>,
    /// What its inputs are made of, beside bytes.
    pub(crate) words: &'static [&'static [u8]],
    /// Makes checksums right again, so that not every changed input ends at the first of them.
    pub(crate) mend: fn(&mut [u8]),
    /// Makes what looks at inputs.
    pub(crate) look: fn() -> Result<Look, String>,
}

/// Looks at one input, and says what does not hold.
pub(crate) type Look = Box<dyn FnMut(&[u8]) -> Result<(), String>>;
