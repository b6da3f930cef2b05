//! Tokens that authenticate a host to a runner.

use std::fmt;
use std::future::{Future, ready};
use std::path::PathBuf;
use std::pin::Pin;

/// A boxed future.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A bearer token (RFC 6750). It is sent only in the `Authorization` header, never in a URL, an
/// argument, an environment variable or a log.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Returns a token from its text, without surrounding white space.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self(text.as_ref().trim().to_owned())
    }

    /// Returns the value of the `Authorization` header.
    pub(super) fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

/// No token is available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("get a token: {0}")]
pub struct NoToken(
    /// The reason and the remedy as a lowercase fragment, without the token.
    pub String,
);

/// Provides tokens. It is called for each connection, so a replaced token applies from the next
/// connection on.
pub trait CredentialsProvider: fmt::Debug + Send + Sync {
    /// Returns the current token, or `None` if none is needed. `refused` is the token that the
    /// runner has just refused: a provider that cannot obtain another one returns it again.
    ///
    /// # Errors
    ///
    /// Returns [`NoToken`] if the token cannot be read or obtained.
    fn token<'a>(&'a self, refused: Option<&'a Token>)
    -> Boxed<'a, Result<Option<Token>, NoToken>>;
}

/// Provides no token, for sockets that authenticate their peers by user id.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCredentials;

impl CredentialsProvider for NoCredentials {
    fn token<'a>(&'a self, _: Option<&'a Token>) -> Boxed<'a, Result<Option<Token>, NoToken>> {
        Box::pin(ready(Ok(None)))
    }
}

/// Provides itself, unchanged.
impl CredentialsProvider for Token {
    fn token<'a>(&'a self, _: Option<&'a Token>) -> Boxed<'a, Result<Option<Token>, NoToken>> {
        Box::pin(ready(Ok(Some(self.clone()))))
    }
}

/// A file that contains a token. It is read for each connection, so a token is rotated by writing
/// the file.
#[derive(Clone, Debug)]
pub struct TokenFile(pub PathBuf);

impl CredentialsProvider for TokenFile {
    fn token<'a>(&'a self, _: Option<&'a Token>) -> Boxed<'a, Result<Option<Token>, NoToken>> {
        Box::pin(async {
            let read = tokio::fs::read_to_string(&self.0).await;
            let text = read.map_err(|error| {
                NoToken(format!("{}: {error}; check the file", self.0.display()))
            })?;
            Ok(Some(Token::new(text)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_token() {
        let token = Token::new("hunter2\n");
        assert_eq!(format!("{token:?}"), "Token(***)");
        assert_eq!(token.bearer(), "Bearer hunter2");
    }

    #[tokio::test]
    async fn token_file_is_read_each_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let provider = TokenFile(file.path().to_owned());
        for text in ["one", "two"] {
            std::fs::write(file.path(), text).unwrap();
            assert_eq!(provider.token(None).await, Ok(Some(Token::new(text))));
        }
        let missing = TokenFile(file.path().join("none"));
        assert!(missing.token(None).await.is_err());
    }
}
