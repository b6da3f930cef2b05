//! A proxy that treats its connections badly, by a seed: what stands between a host and a runner
//! when the network is at its worst, on real sockets.
//!
//! Connection `k` of a seed always meets the same fault at the same byte ([`Plan`]). What the
//! sockets and the scheduler make of it is their own, so a run is repeated in what is done to it,
//! not in every interleaving.

mod plan;
mod proxy;

pub use plan::{Fault, Faults, Plan, Way};
pub use proxy::{Address, ChaosProxy, Met, carry};
