//! The secret that a hook shows.

use std::fmt::Write as _;

use subtle::ConstantTimeEq as _;

use super::HookServerError;
use crate::secret::Secret;

/// 256 random bits, in hexadecimal.
#[derive(Clone, Debug)]
pub(super) struct Token(Secret<String>);

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

    pub(super) const fn secret(&self) -> &Secret<String> {
        &self.0
    }

    /// Whether an `Authorization` header shows this token. Takes as long for a wrong one.
    pub(super) fn is_shown_by(&self, header: &[u8]) -> bool {
        header
            .strip_prefix(b"Bearer ")
            .is_some_and(|shown| shown.ct_eq(self.0.expose().as_bytes()).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_random_and_known_again() {
        let (token, other) = (Token::random().unwrap(), Token::random().unwrap());
        let text = token.secret().expose();
        assert_eq!(text.len(), 64);
        assert_ne!(text, other.secret().expose());
        assert!(token.is_shown_by(format!("Bearer {text}").as_bytes()));
        for wrong in [
            String::new(),
            "Bearer ".to_owned(),
            text.clone(),
            format!("bearer {text}"),
            format!("Bearer {text}0"),
            format!("Bearer {}", other.secret().expose()),
        ] {
            assert!(!token.is_shown_by(wrong.as_bytes()));
        }
        assert_eq!(format!("{token:?}"), "Token(***)");
    }
}
