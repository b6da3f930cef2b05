//! A fleet of runners on real NATS servers: what they acknowledged survives their failures, and sessions do not
//! notice them.
//!
//! `.ci/nats` builds the servers and names them to these campaigns.

mod cuts;
mod failures;
mod partition;
mod speakers;
mod wiped;
mod writers;

pub(super) use cuts::run as cuts;
pub(super) use failures::{freezes, kills, power_cuts, stops};
pub(super) use partition::run as partition;
pub(super) use wiped::run as wiped;
