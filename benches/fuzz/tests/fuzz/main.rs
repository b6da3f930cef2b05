//! Fuzzing for some seconds, with one seed.

mod guided;
mod short;
