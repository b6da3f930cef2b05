//! Lists, reaches and copies the sessions of runners on many machines, through NATS JetStream.
//!
//! An internal crate of Bowline; its interface may change in any release.
//!
//! The runner's journal is authoritative. NATS holds a copy that lags, a directory, and the messages of links to
//! runners. No session depends on NATS: if it is lost, with its disks, sessions keep running and no byte is lost.

mod bus;
mod carrier;
mod claims;
mod directory;
#[cfg(feature = "nats")]
mod discovery;
mod fake;
#[cfg(feature = "runner")]
mod gateway;
#[cfg(feature = "runner")]
mod local_daemon;
mod log;
mod member;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "nats")]
mod provision;
mod replicate;
#[cfg(any(feature = "nats", feature = "fuzz"))]
mod replies;
mod view;

pub use bus::*;
pub use carrier::*;
pub use claims::{ClaimOutcome, claim, release};
pub use directory::*;
pub use fake::{FakeBus, Fate};
#[cfg(feature = "runner")]
pub use gateway::Gateway;
#[cfg(feature = "runner")]
pub use local_daemon::LocalDaemon;
pub use log::*;
pub use member::{LocalFiles, LocalRunner, LocalSession, Member, MemberConfiguration};
#[cfg(feature = "nats")]
pub use nats::*;
#[cfg(feature = "nats")]
pub use provision::{FleetFile, FleetPlan, PlanError, provision, renew};
pub use replicate::{LocalJournal, ReplicaState, replicate};
#[cfg(any(feature = "nats", feature = "fuzz"))]
pub use replies::ServerState;
pub use view::{
    FleetRunners, FleetSession, FleetWatch, fleet_session, fleet_sessions, read_replica,
    read_replica_from,
};

/// Private pure functions, exposed to the fuzz targets. Not part of the API.
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz {
    pub use crate::replies::fuzz_reply as reply;
}
