//! The connection to NATS servers: the only module that names their client.

mod connect;
mod consume;
mod credentials;
mod files;
mod refusals;
mod requests;
mod rights;
mod servers;
mod service;
mod setup;

pub use connect::{BadFleetUrl, ConnectError, Connection, FleetUrl};
pub use credentials::{BadCredentials, FleetSettings, LogLimits, NatsCredentials};
pub(crate) use servers::SERVER_STATE;
pub(crate) use service::SERVICE_NAME;
pub use service::{Advertisement, advertise};
pub use setup::{Layout, SetupError};
