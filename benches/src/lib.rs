//! Corpora and helpers of the benchmarks.
