//! Agents at a runner, on this machine or another one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::core;
use crate::core::{CredentialsProvider, NoToken, Token};

use crate::error::{BowlineError, Outcome};

/// A runner, and how to get to it. Holds no connection.
#[derive(Clone, uniffi::Record)]
pub struct RunnerConfiguration {
    /// Where it is: `http://`, `https://` or `unix:`, without a token.
    pub url: String,
    /// What it lets us in for; none is needed for a socket that knows its callers.
    #[uniffi(default = None)]
    pub token: Option<String>,
    /// A file with the token, read anew for each connection; `token` counts before it.
    #[uniffi(default = None)]
    pub token_file: Option<String>,
    /// Gives tokens for each connection; it counts before the other two.
    #[uniffi(default = None)]
    pub tokens: Option<Arc<dyn TokenProvider>>,
    /// The SHA-256 of each certificate in DER that the runner may show, in hexadecimal digits; when
    /// absent, it needs one for its name from an authority that browsers trust.
    #[uniffi(default = None)]
    pub certificates: Option<Vec<String>>,
    /// How we prove who we are, to a runner that lets nobody in without a certificate.
    #[uniffi(default = None)]
    pub identity: Option<ClientIdentity>,
    /// Reach another machine without TLS: for networks that are encrypted themselves.
    #[uniffi(default = false)]
    pub is_unprotected: bool,
    /// How long a lost link is tried for before it is given up, in milliseconds; ten minutes when
    /// absent.
    #[uniffi(default = None)]
    pub patience_ms: Option<u64>,
    /// Who we are, for people who look at the runner's list.
    #[uniffi(default = None)]
    pub client: Option<String>,
}

/// How we prove who we are (mutual TLS). Both files are read for each connection, so that a renewed
/// certificate is shown from then on.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ClientIdentity {
    /// A file with our certificate, and with those between it and the authority that the runner
    /// knows, in PEM.
    pub certificate: String,
    /// A file with the private key of the first one, in PEM.
    pub key: String,
}

/// Nothing of the credentials.
impl fmt::Debug for RunnerConfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunnerConfiguration")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// Gives tokens. The calls come from threads of the library that may wait.
#[uniffi::export(foreign)]
pub trait TokenProvider: Send + Sync {
    /// The token to use now; `None` where none is needed. `was_refused` tells that the runner has
    /// just refused the last one: a provider that can get another one does, and one that cannot
    /// gives it again.
    ///
    /// # Errors
    ///
    /// There is none to be had.
    fn token(&self, was_refused: bool) -> Result<Option<String>, BowlineError>;
}

struct Provider(Arc<dyn TokenProvider>);

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").finish_non_exhaustive()
    }
}

type Asked<'a> =
    std::pin::Pin<Box<dyn Future<Output = Result<Option<Token>, NoToken>> + Send + 'a>>;

impl CredentialsProvider for Provider {
    fn token<'a>(&'a self, refused: Option<&'a Token>) -> Asked<'a> {
        let (tokens, was_refused) = (Arc::clone(&self.0), refused.is_some());
        Box::pin(async move {
            let asked = tokio::task::spawn_blocking(move || tokens.token(was_refused)).await;
            let asked = asked.map_err(|error| NoToken(error.to_string()))?;
            let token = asked.map_err(|error| NoToken(error.to_string()))?;
            Ok(token.map(Token::new))
        })
    }
}

impl TryFrom<RunnerConfiguration> for core::Remote {
    type Error = BowlineError;

    fn try_from(it: RunnerConfiguration) -> Outcome<Self> {
        let url = it
            .url
            .parse()
            .map_err(|error: core::BadUrl| BowlineError::Configuration {
                reason: error.to_string(),
            })?;
        let mut remote = Self::new(url);
        if let Some(tokens) = it.tokens {
            remote = remote.with_credentials(Provider(tokens));
        } else if let Some(token) = it.token {
            remote = remote.with_credentials(Token::new(token));
        } else if let Some(file) = it.token_file {
            remote = remote.with_credentials(core::TokenFile(file.into()));
        }
        if let Some(certificates) = it.certificates {
            let pins = certificates.iter().map(|it| pin(it));
            remote.trust = core::Trust::Certificates(pins.collect::<Outcome<_>>()?);
        } else if it.is_unprotected {
            remote.trust = core::Trust::Unprotected;
        }
        remote.identity = it.identity.map(|it| core::Identity {
            certificate: it.certificate.into(),
            key: it.key.into(),
        });
        if let Some(patience) = it.patience_ms {
            remote.patience = Duration::from_millis(patience);
        }
        if let Some(client) = it.client {
            remote.client = client;
        }
        Ok(remote)
    }
}

/// The bytes of a SHA-256 in hexadecimal digits.
fn pin(digits: &str) -> Outcome<[u8; 32]> {
    let digits: Vec<u32> = digits.chars().filter_map(|it| it.to_digit(16)).collect();
    let bytes: Vec<u8> = digits
        .chunks_exact(2)
        .map(|pair| (pair[0] * 16 + pair[1]) as u8)
        .collect();
    bytes.try_into().map_err(|_| BowlineError::Configuration {
        reason: "pin a certificate: give the 64 hexadecimal digits of its SHA-256".to_owned(),
    })
}
