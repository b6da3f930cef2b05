//! Session ids.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use uuid::Uuid;

/// Unique id of a session for its whole life, across hosts.
///
/// A random UUID, also as text and in JSON. Not a secret: it is in the child's environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(Uuid);

impl SessionId {
    /// Returns a new random id.
    #[must_use]
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }
}

impl FromStr for SessionId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let id = Uuid::try_parse(text);
        id.map(Self)
            .map_err(|_| ParseIdError { expected: "a UUID" })
    }
}

impl Serialize for SessionId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SessionId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Error of parsing an invalid id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read an id: it is not {expected}, copy it as a whole")]
pub struct ParseIdError {
    /// Expected form of an id.
    pub expected: &'static str,
}
