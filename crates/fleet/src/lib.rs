//! Sessions of runners on many machines: found, joined and copied through NATS JetStream.
//!
//! An internal crate of Bowline; its interface may change in any release.
//!
//! The runner's journal stays the truth. NATS holds a copy that lags, a directory, and a way in. Nothing that a
//! session needs to go on runs through NATS: losing it, with its disks, costs views and never bytes.

mod bus;
mod directory;
mod fake;
mod log;
#[cfg(feature = "nats")]
mod nats;
mod replicate;

pub use bus::*;
pub use directory::*;
pub use fake::FakeBus;
pub use log::*;
#[cfg(feature = "nats")]
pub use nats::*;
pub use replicate::{LocalJournal, ReplicaState, replicate};
