//! The daemon: who may come in, where it listens, and how it ends.
//!
//! It keeps no session: each belongs to a shim, and the daemon passes frames on. What it does keep,
//! tickets and counts, may be lost with it.

mod configuration;
mod connection;
mod directory;
mod gate;
mod hall;
mod life;
mod link;
mod listener;
mod pace;
mod runner;
mod runtime;
mod tickets;
mod tls;
mod token;

pub use configuration::{ServeConfiguration, ServeLimits};
pub(crate) use connection::From;
use directory::Directory;
pub(crate) use directory::{CreateError, EndError, Ending, Record, Standing, State, kill, watch};
pub(crate) use gate::{PROTOCOL_FRAMES, PROTOCOL_PANEL, Pass, Refusal, TICKET};
pub(crate) use hall::{Grant, Hall};
pub(crate) use life::Life;
pub(crate) use link::{Link, LinkError};
pub(crate) use pace::Pace;
pub use runner::{Runner, ServeError, StopReport};
pub use runtime::runtime;
pub use tls::{Certificate, Tls, TlsError};
pub(crate) use token::random as random_secret;
pub use token::{TokenError, read_or_create_token};
