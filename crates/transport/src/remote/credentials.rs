//! How a host shows who it is.

use std::fmt;
use std::future::{Future, ready};
use std::path::PathBuf;
use std::pin::Pin;

/// A future that is kept behind a pointer.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a runner lets a host in for. Goes into the header `Authorization` alone: never into a URL,
/// an argument, an environment or a log.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Takes a token without the white space around it.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self(text.as_ref().trim().to_owned())
    }

    /// The value of the header.
    pub(super) fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

/// Why there is no token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("get a token: {0}")]
pub struct NoToken(
    /// In words, and what to do next: a lowercase fragment without the token.
    pub String,
);

/// Gives tokens. Asked for each connection, so that one that was replaced is used from the next
/// connection on.
pub trait CredentialsProvider: fmt::Debug + Send + Sync {
    /// The token to use now; `None` where none is needed. `refused` is the one that the runner has
    /// just refused: a provider that can get another one does, and one that cannot gives it again.
    fn token<'a>(&'a self, refused: Option<&'a Token>)
    -> Boxed<'a, Result<Option<Token>, NoToken>>;
}

/// For a socket that knows its callers.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCredentials;

impl CredentialsProvider for NoCredentials {
    fn token<'a>(&'a self, _: Option<&'a Token>) -> Boxed<'a, Result<Option<Token>, NoToken>> {
        Box::pin(ready(Ok(None)))
    }
}

/// One token for ever.
impl CredentialsProvider for Token {
    fn token<'a>(&'a self, _: Option<&'a Token>) -> Boxed<'a, Result<Option<Token>, NoToken>> {
        Box::pin(ready(Ok(Some(self.clone()))))
    }
}

/// A file with a token, read anew for each connection: whoever rotates the token writes the file.
#[derive(Clone, Debug)]
pub struct TokenFile(pub PathBuf);

impl CredentialsProvider for TokenFile {
    fn token<'a>(&'a self, _: Option<&'a Token>) -> Boxed<'a, Result<Option<Token>, NoToken>> {
        Box::pin(async {
            let read = tokio::fs::read_to_string(&self.0).await;
            let text = read.map_err(|error| {
                NoToken(format!("{}: {error}, check the file", self.0.display()))
            })?;
            Ok(Some(Token::new(text)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_shown_to_nobody_but_the_runner() {
        let token = Token::new("hunter2\n");
        assert_eq!(format!("{token:?}"), "Token(***)");
        assert_eq!(token.bearer(), "Bearer hunter2");
    }

    #[tokio::test]
    async fn a_file_is_read_anew() {
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
