//! A runner and the parameters of its connections.

use std::sync::Arc;
use std::time::Duration;

use super::credentials::{CredentialsProvider, NoCredentials};
use super::network::{Network, SystemNetwork};
use super::trust::{Identity, Trust};
use super::url::RemoteUrl;

/// How long a lost connection is retried by default.
const DEFAULT_RECONNECT_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// A runner and the parameters of its connections. Holds no connection.
#[derive(Clone, Debug)]
pub struct Remote {
    /// The address of the runner.
    pub url: RemoteUrl,
    /// The source of tokens.
    pub credentials: Arc<dyn CredentialsProvider>,
    /// How the runner is authenticated, with TLS.
    pub trust: Trust,
    /// The client certificate, for runners that require one.
    pub identity: Option<Identity>,
    /// How long a lost connection is retried before
    /// [`ConnectionState::Failed`](crate::ConnectionState::Failed).
    pub reconnect_timeout: Duration,
    /// The name of this client in the runner's list of clients. It must not contain secrets.
    pub client: String,
    /// The network that connections are made over.
    pub network: Arc<dyn Network>,
}

impl Remote {
    /// Returns a runner that requires no token, as on a Unix socket.
    #[must_use]
    pub fn new(url: RemoteUrl) -> Self {
        Self {
            url,
            credentials: Arc::new(NoCredentials),
            trust: Trust::default(),
            identity: None,
            reconnect_timeout: DEFAULT_RECONNECT_TIMEOUT,
            client: format!("bowline {}", env!("CARGO_PKG_VERSION")),
            network: Arc::new(SystemNetwork),
        }
    }

    /// Sets the source of tokens.
    #[must_use]
    pub fn with_credentials(self, credentials: impl CredentialsProvider + 'static) -> Self {
        let credentials = Arc::new(credentials);
        Self {
            credentials,
            ..self
        }
    }
}
