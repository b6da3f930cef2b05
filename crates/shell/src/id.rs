//! Session ids.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The id of a session: a random UUID that stays the same over restarts of the host and resumes of the
/// conversation. It is not a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ManagedId(Uuid);

/// The text is not a [`ManagedId`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a session id; list the sessions to see theirs")]
pub struct NotAnId(String);

impl ManagedId {
    /// Creates a random id.
    #[must_use]
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }
}

impl fmt::Display for ManagedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for ManagedId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        Uuid::parse_str(text)
            .map(Self)
            .map_err(|_| NotAnId(text.to_owned()))
    }
}

impl From<ManagedId> for String {
    fn from(id: ManagedId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for ManagedId {
    type Error = NotAnId;

    fn try_from(text: String) -> Result<Self, NotAnId> {
        text.parse()
    }
}
