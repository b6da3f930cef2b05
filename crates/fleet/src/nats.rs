//! The connection to NATS servers: the only module that names their client.

mod connect;
mod consume;
mod files;
mod refusals;
mod requests;
mod servers;
mod setup;

pub use connect::{
    BadCredentials, BadFleetUrl, ConnectError, Connection, FleetUrl, NatsCredentials,
};
pub(crate) use servers::SERVER_STATE;
pub use servers::ServerState;
pub use setup::{Layout, SetupError};
