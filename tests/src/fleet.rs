//! NATS servers and runners of a fleet, for tests, campaigns and benchmarks.

mod disk;
mod recorded;
mod runner;
mod servers;

pub use recorded::{Acknowledged, RecordedBus};
pub use runner::{FleetHost, FleetRunner, understudy};
pub use servers::NatsServers;
pub(crate) use servers::connect;
