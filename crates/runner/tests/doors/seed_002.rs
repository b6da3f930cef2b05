//! Seed 002, sentence by sentence, and the defects of the system that it comes from: each run for
//! real.

mod defects;
mod sentences;
