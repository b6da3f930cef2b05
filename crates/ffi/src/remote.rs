//! The address and credentials of a runner.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use crate::core::{self, CredentialsProvider, NoToken, Token};
use crate::error::{BowlineError, Result};
use crate::limits::duration;

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

/// Adapts a provider of the host to the core.
struct HostTokens(Arc<dyn TokenProvider>);

impl fmt::Debug for HostTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostTokens").finish_non_exhaustive()
    }
}

type TokenFuture<'a> = Pin<Box<dyn Future<Output = Result<Option<Token>, NoToken>> + Send + 'a>>;

impl CredentialsProvider for HostTokens {
    fn token<'a>(&'a self, refused: Option<&'a Token>) -> TokenFuture<'a> {
        let (provider, was_refused) = (Arc::clone(&self.0), refused.is_some());
        Box::pin(async move {
            let token = tokio::task::spawn_blocking(move || provider.token(was_refused)).await;
            let token = token.map_err(|error| NoToken(error.to_string()))?;
            let token = token.map_err(|error| NoToken(error.to_string()))?;
            Ok(token.map(Token::new))
        })
    }
}

impl TryFrom<RunnerConfiguration> for core::Remote {
    type Error = BowlineError;

    fn try_from(it: RunnerConfiguration) -> Result<Self> {
        let url = it
            .url
            .parse()
            .map_err(|error: core::BadUrl| BowlineError::Configuration {
                reason: error.to_string(),
            })?;
        let mut remote = Self::new(url);
        if let Some(provider) = it.token_provider {
            remote = remote.with_credentials(HostTokens(provider));
        } else if let Some(token) = it.token {
            remote = remote.with_credentials(Token::new(token));
        } else if let Some(file) = it.token_file {
            remote = remote.with_credentials(core::TokenFile(file.into()));
        }
        if let Some(certificates) = it.certificates {
            let pins = certificates.iter().map(|it| parse_digest(it));
            remote.trust = core::Trust::Certificates(pins.collect::<Result<_>>()?);
        } else if it.allow_clear_text {
            remote.trust = core::Trust::Plaintext;
        }
        remote.identity = it.identity.map(|it| core::Identity {
            certificate: it.certificate.into(),
            key: it.key.into(),
        });
        if let Some(timeout) = it.reconnect_timeout_ms {
            remote.reconnect_timeout = duration(timeout);
        }
        if let Some(name) = it.client_name {
            remote.client = name;
        }
        Ok(remote)
    }
}

/// Parses a SHA-256 digest of 64 hexadecimal digits. Other characters, such as colons, are skipped.
fn parse_digest(text: &str) -> Result<[u8; 32]> {
    let digits: Vec<u32> = text.chars().filter_map(|it| it.to_digit(16)).collect();
    let bytes: Vec<u8> = digits
        .chunks_exact(2)
        .map(|pair| (pair[0] * 16 + pair[1]) as u8)
        .collect();
    bytes.try_into().map_err(|_| BowlineError::Configuration {
        reason: "parse a certificate digest: pass the 64 hexadecimal digits of its SHA-256"
            .to_owned(),
    })
}
