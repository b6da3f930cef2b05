//! Which runner, and how to get to it.

use std::sync::Arc;
use std::time::Duration;

use super::credentials::{CredentialsProvider, NoCredentials};
use super::network::{Network, SystemNetwork};
use super::tls::{Identity, Trust};
use super::url::RemoteUrl;

/// How long a lost link is tried for by default. After that the host is told, and may retry.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// A runner, and how to get to it. Holds no connection.
#[derive(Clone, Debug)]
pub struct Remote {
    /// Where it is.
    pub url: RemoteUrl,
    /// What it lets us in for.
    pub credentials: Arc<dyn CredentialsProvider>,
    /// How it proves who it is, where there is TLS.
    pub trust: Trust,
    /// How we prove who we are, where it asks for that.
    pub identity: Option<Identity>,
    /// How long a lost link is tried for before it is given up.
    pub patience: Duration,
    /// Who we are, for people who look at the runner's list: a name without secrets.
    pub client: String,
    /// What connects.
    pub network: Arc<dyn Network>,
}

impl Remote {
    /// A runner that lets us in without a token, as one on a Unix socket does.
    #[must_use]
    pub fn new(url: RemoteUrl) -> Self {
        Self {
            url,
            credentials: Arc::new(NoCredentials),
            trust: Trust::default(),
            identity: None,
            patience: PATIENCE,
            client: format!("bowline {}", env!("CARGO_PKG_VERSION")),
            network: Arc::new(SystemNetwork),
        }
    }

    /// The same, with tokens.
    #[must_use]
    pub fn with_credentials(self, credentials: impl CredentialsProvider + 'static) -> Self {
        let credentials = Arc::new(credentials);
        Self {
            credentials,
            ..self
        }
    }
}
