//! A fault-injecting proxy between a host and a runner, on real sockets.
//!
//! The seed determines the fault of connection `k` and the byte at which it occurs ([`Plan`]).
//! Scheduling and socket buffering still vary, so that a run repeats the faults but not every
//! interleaving.

mod network;
mod plan;
mod proxy;

pub use network::Impatient;
pub use plan::{Fault, Faults, Plan, Way};
pub use proxy::{Address, ChaosProxy, Met, proxy_link};
