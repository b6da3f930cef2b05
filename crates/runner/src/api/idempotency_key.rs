//! The header `Idempotency-Key`, by which a repeated request is recognized.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, StatusCode};
use sha2::{Digest as _, Sha256};
use uuid::{Builder, Uuid};

use super::problem::Problem;

/// The header whose value is the key.
pub(super) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Maximum length of a key, in bytes.
const MAX_KEY_BYTES: usize = 255;

/// Maximum length of an id, in bytes.
const MAX_ID_BYTES: usize = 128;

/// The header `Idempotency-Key` of a request, if it has one.
#[derive(Debug)]
pub(super) struct IdempotencyKey(Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let Some(value) = parts.headers.get(&IDEMPOTENCY_KEY) else {
            return Ok(Self(None));
        };
        let key = value.to_str().ok().map(str::trim);
        let key = key.filter(|it| (1..=MAX_KEY_BYTES).contains(&it.len()));
        let Some(key) = key else {
            let detail =
                format!("an `Idempotency-Key` must have 1 to {MAX_KEY_BYTES} characters of ASCII");
            let next = "use a random UUID";
            let status = StatusCode::BAD_REQUEST;
            return Err(Problem::new(
                status,
                "INVALID_IDEMPOTENCY_KEY",
                detail,
                next,
            ));
        };
        Ok(Self(Some(key.to_owned())))
    }
}

impl IdempotencyKey {
    /// Returns the id of what the request does, the same for each request with the key. The id needs no record
    /// of its own: it is part of what is written before the request takes effect.
    pub(super) fn uuid(&self, action: &str) -> Option<Uuid> {
        let key = self.0.as_ref()?;
        let hash = Sha256::digest(format!("{action}\n{key}"));
        let bytes = hash.first_chunk::<16>()?;
        Some(Builder::from_random_bytes(*bytes).into_uuid())
    }

    /// Returns the id that the body has, or that of the key, or a new one.
    ///
    /// # Errors
    ///
    /// The id of the body is too long or empty.
    pub(super) fn id(&self, given: Option<String>, action: &str) -> Result<String, Problem> {
        let id = given.unwrap_or_else(|| {
            let derived = self.uuid(action);
            derived.unwrap_or_else(Uuid::new_v4).to_string()
        });
        if (1..=MAX_ID_BYTES).contains(&id.len()) {
            return Ok(id);
        }
        Err(Problem::bad_request("an id must have 1 to 128 bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_gives_one_id_for_each_action() {
        let key = IdempotencyKey(Some("k".to_owned()));
        let again = IdempotencyKey(Some("k".to_owned()));
        assert_eq!(key.uuid("prompt"), again.uuid("prompt"));
        assert_ne!(key.uuid("prompt"), key.uuid("interrupt"));
        assert_eq!(key.id(Some("given".to_owned()), "prompt").unwrap(), "given");
        assert_eq!(IdempotencyKey(None).uuid("prompt"), None);
        assert!(key.id(Some(String::new()), "prompt").is_err());
    }
}
