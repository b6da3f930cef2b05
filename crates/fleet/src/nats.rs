//! The connection to NATS servers: the only module that names their client.

mod connect;
mod consume;
mod refusals;
mod requests;
mod setup;

pub use connect::{
    BadCredentials, BadFleetUrl, ConnectError, Connection, FleetUrl, NatsCredentials,
};
pub use setup::{Layout, SetupError};
