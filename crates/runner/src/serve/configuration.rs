//! What a daemon is started with, and why a start fails.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use bowline_lifecycle::Policy;

use super::tls::{Tls, TlsError};
use crate::app_state::ServeLimits;
use crate::auth::TokenError;
use crate::shim::{ShimProgram, StateDir};

/// The configuration of a daemon.
#[derive(Clone, Debug)]
pub struct ServeConfiguration {
    /// The folder of the sessions.
    pub state: StateDir,
    /// The program that is spawned as the shim of each session.
    pub shim: ShimProgram,
    /// Path of the Unix socket to listen on, if any.
    pub socket: Option<PathBuf>,
    /// TCP addresses to listen on. Any but loopback require [`tls`](Self::tls).
    pub listen: Vec<SocketAddr>,
    /// The token file; created with a new token if it does not exist.
    pub token_file: PathBuf,
    /// Accepted values of the `Host` header besides the listening addresses, with the port unless
    /// it is the scheme's default.
    pub hosts: Vec<String>,
    /// Accepted values of the `Origin` header.
    pub origins: Vec<String>,
    /// Encryption of TCP connections.
    pub tls: Option<Tls>,
    /// Limits on what clients may use.
    pub limits: ServeLimits,
    /// Rules that answer permission requests of every agent that the daemon drives, beside the session's own.
    pub policy: Policy,
}

/// Why a daemon could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The configuration has neither a socket nor an address.
    #[error("serve without a socket or an address to listen on; give one of them")]
    Nowhere,
    /// An address other than loopback would be served unencrypted.
    #[error(
        "listen on {0} without TLS, since other machines can reach it; use --tls-own, or --tls-cert and --tls-key"
    )]
    ClearText(SocketAddr),
    /// Another daemon serves the sessions of the state folder.
    #[error(
        "serve the sessions in {path}: another runner ({holder}) serves them; use that one, stop it, or choose another --state-dir"
    )]
    Locked {
        /// The state folder.
        path: PathBuf,
        /// The process that serves it.
        holder: String,
    },
    /// The state folder cannot be locked.
    #[error("lock {path}: {source}; check the directory")]
    Lock {
        /// The state folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Binding the Unix socket failed.
    #[error("listen on {path}: {source}")]
    Socket {
        /// The socket.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Binding a TCP address failed.
    #[error("listen on {address}: {source}; choose another address")]
    Address {
        /// The address.
        address: SocketAddr,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The token file is unusable.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The TLS configuration is unusable.
    #[error(transparent)]
    Tls(#[from] TlsError),
}
