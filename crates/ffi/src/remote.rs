//! The address and credentials of a runner.

#[cfg(not(feature = "full"))]
pub(crate) mod absent;
#[cfg(feature = "full")]
mod convert;

use std::fmt;
use std::sync::Arc;

use crate::error::BowlineError;

/// The address of a runner, the credentials for it and how to connect. Opens no connection.
#[derive(Clone, uniffi::Record)]
pub struct RunnerConfiguration {
    /// The runner's URL: `http://`, `https://` or `unix:`.
    pub url: String,
    /// The token. Not needed for a Unix socket of the same user.
    #[uniffi(default = None)]
    pub token: Option<String>,
    /// A file that contains the token, read for each connection. Ignored if `token` is set.
    #[uniffi(default = None)]
    pub token_file: Option<String>,
    /// Provides a token for each connection. Takes precedence over `token` and `tokenFile`.
    #[uniffi(default = None)]
    pub token_provider: Option<Arc<dyn TokenProvider>>,
    /// The SHA-256 digests, in hexadecimal digits, of the DER certificates to accept; when absent, the
    /// certificate must be valid for the host name and issued by a public authority.
    #[uniffi(default = None)]
    pub certificates: Option<Vec<String>>,
    /// The client certificate, for a runner that requires one.
    #[uniffi(default = None)]
    pub identity: Option<ClientIdentity>,
    /// Whether to connect to another machine without TLS, for networks that are encrypted themselves.
    #[uniffi(default = false)]
    pub allow_clear_text: bool,
    /// How long to retry after a lost connection, in milliseconds; ten minutes when absent.
    #[uniffi(default = None)]
    pub reconnect_timeout_ms: Option<u64>,
    /// The name of this client in the runner's list.
    #[uniffi(default = None)]
    pub client_name: Option<String>,
}

/// A client certificate for mutual TLS. Both files are read for each connection, so that a renewed
/// certificate is used from then on.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ClientIdentity {
    /// The path of a PEM file with the certificate, followed by intermediate certificates.
    pub certificate: String,
    /// The path of a PEM file with the certificate's private key.
    pub key: String,
}

/// Does not print the credentials.
impl fmt::Debug for RunnerConfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunnerConfiguration")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// Provides tokens for connections to a runner, and for attempts to forward events to the backend of a hook server.
///
/// The library calls it from its own threads, where it may block.
#[uniffi::export(foreign)]
pub trait TokenProvider: Send + Sync {
    /// Returns the token for the next connection, or nothing if none is needed.
    ///
    /// `wasRefused` is true if the runner has just refused the previous token. Return a new one if
    /// possible, and the same one otherwise.
    ///
    /// # Errors
    ///
    /// Throw if no token is available. The connection then fails.
    fn token(&self, was_refused: bool) -> Result<Option<String>, BowlineError>;
}
