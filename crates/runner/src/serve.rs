//! The daemon: where it listens, how it starts and how it stops.
//!
//! It owns no session, since each belongs to a shim. What it keeps in memory, tickets and metrics,
//! may be lost with it.

mod admission;
mod configuration;
mod connection;
mod links;
mod listeners;
mod page;
mod progress;
mod runner;
mod runtime;
mod state_lock;
mod tls;

pub use configuration::{ServeConfiguration, ServeError};
pub use links::LinkServer;
pub use runner::{Runner, StopReport};
pub use runtime::runtime;
pub use state_lock::is_served;
pub use tls::{Certificate, Tls, TlsError};
