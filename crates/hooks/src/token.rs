//! The secret that a hook shows.

use std::fmt::Write as _;

use secrecy::{ExposeSecret as _, SecretString};
use subtle::ConstantTimeEq as _;

use super::HookServerError;

/// 256 random bits, in hexadecimal.
#[derive(Clone, Debug)]
pub(super) struct Token(SecretString);

impl Token {
    pub(super) fn random() -> Result<Self, HookServerError> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|error| HookServerError::Random(error.to_string()))?;
        let mut text = String::with_capacity(64);
        for byte in bytes {
            // Writing into a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Self(text.into()))
    }

    pub(super) const fn secret(&self) -> &SecretString {
        &self.0
    }

    /// Whether an `Authorization` header shows this token. Takes as long for a wrong one.
    pub(super) fn is_shown_by(&self, header: &[u8]) -> bool {
        header
            .strip_prefix(b"Bearer ")
            .is_some_and(|shown| shown.ct_eq(self.0.expose_secret().as_bytes()).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_random_and_known_again() {
        let (token, other) = (Token::random().unwrap(), Token::random().unwrap());
        let text = token.secret().expose_secret();
        assert_eq!(text.len(), 64);
        assert_ne!(text, other.secret().expose_secret());
        assert!(token.is_shown_by(format!("Bearer {text}").as_bytes()));
        for wrong in [
            String::new(),
            "Bearer ".to_owned(),
            text.to_owned(),
            format!("bearer {text}"),
            format!("Bearer {text}0"),
            format!("Bearer {}", other.secret().expose_secret()),
        ] {
            assert!(!token.is_shown_by(wrong.as_bytes()));
        }
        assert!(!format!("{token:?}").contains(text));
    }
}
