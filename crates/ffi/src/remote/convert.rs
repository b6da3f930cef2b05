//! The address and credentials of a runner, as the core has them.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use super::{RunnerConfiguration, TokenProvider};
use crate::core::{self, CredentialsProvider, NoToken, Token};
use crate::error::{BowlineError, Result};
use crate::limits::duration;

impl TryFrom<RunnerConfiguration> for core::AgentLocation {
    type Error = BowlineError;

    fn try_from(it: RunnerConfiguration) -> Result<Self> {
        Ok(Self::Runner(it.try_into()?))
    }
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
