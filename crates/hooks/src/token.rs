//! The token that a client of the server presents.

use std::fmt::Write as _;

use secrecy::{ExposeSecret as _, SecretString};
use subtle::ConstantTimeEq as _;

use crate::HookServerError;

/// 256 random bits, in hexadecimal.
#[derive(Clone, Debug)]
pub(crate) struct HookToken(SecretString);

impl HookToken {
    pub(crate) fn random() -> Result<Self, HookServerError> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|error| HookServerError::Random(error.to_string()))?;
        let mut text = String::with_capacity(64);
        for byte in bytes {
            // Writing into a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Self(text.into()))
    }

    pub(crate) const fn secret(&self) -> &SecretString {
        &self.0
    }

    /// Compares the token of an `Authorization` header (RFC 6750) in constant time.
    pub(crate) fn matches(&self, header: &[u8]) -> bool {
        header
            .strip_prefix(b"Bearer ")
            .is_some_and(|token| self.is(token))
    }

    /// Compares a text with the token in constant time.
    pub(crate) fn is(&self, text: &[u8]) -> bool {
        text.ct_eq(self.0.expose_secret().as_bytes()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_token_matches() {
        let (token, other) = (HookToken::random().unwrap(), HookToken::random().unwrap());
        let text = token.secret().expose_secret();
        assert_eq!(text.len(), 64);
        assert_ne!(text, other.secret().expose_secret());
        assert!(token.matches(format!("Bearer {text}").as_bytes()));
        for wrong in [
            String::new(),
            "Bearer ".to_owned(),
            text.to_owned(),
            format!("bearer {text}"),
            format!("Bearer {text}0"),
            format!("Bearer {}", other.secret().expose_secret()),
        ] {
            assert!(!token.matches(wrong.as_bytes()));
        }
        assert!(!format!("{token:?}").contains(text));
    }
}
