//! Changes of a session's name, labels and metadata, and the list of a runner's sessions.

use std::collections::BTreeMap;

use bowline_process::SessionId;
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize};

use super::error::RemoteError;
use super::refusal::Problem;
use super::session_summary::{SessionList, SessionSummary};
use super::target::Remote;

/// Maximum size of a session's metadata, in bytes.
pub const MAX_METADATA: usize = 64 << 10;

/// A change of what hosts record about a session: the body of `PATCH /api/sessions/{id}`. Absent members
/// stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SessionUpdate {
    /// The display name; `null` removes it.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub name: Option<Option<String>>,
    /// Labels to set, and those to remove as `null`; other labels stay. Names that begin with `bowline.` are
    /// reserved.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "schema", schema(value_type = BTreeMap<String, Option<String>>, required = false))]
    pub labels: BTreeMap<String, Option<String>>,
    /// Text of the host's own, at most 64 KiB; `null` removes it.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub metadata: Option<Option<String>>,
}

/// Reads a member that is there: `null` is `Some(None)`.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(from).map(Some)
}

impl Remote {
    /// Returns all sessions of the runner, oldest first, without their metadata.
    ///
    /// # Errors
    ///
    /// Returns [`RemoteError::Link`] if the runner cannot be reached or refuses the token, and
    /// [`RemoteError::Answer`] for its other errors.
    pub async fn sessions(&self) -> Result<Vec<SessionSummary>, RemoteError> {
        let list: SessionList = self.json("GET", "/api/sessions", Bytes::new()).await?;
        Ok(list.sessions)
    }

    /// Changes the name, the labels or the metadata of a session, whether it runs or has ended, and returns
    /// the session. The change is on the runner's disk when this returns.
    ///
    /// # Errors
    ///
    /// As [`sessions`](Self::sessions), and [`RemoteError::Answer`] with the code `METADATA_TOO_LARGE`,
    /// `LABEL_RESERVED` or `SESSION_NOT_FOUND`.
    pub async fn update_session(
        &self,
        session: SessionId,
        update: &SessionUpdate,
    ) -> Result<SessionSummary, RemoteError> {
        let body = serde_json::to_vec(update).unwrap_or_default();
        let path = format!("/api/sessions/{session}");
        self.json("PATCH", &path, body.into()).await
    }

    async fn json<T: for<'de> Deserialize<'de>>(
        &self,
        method: &str,
        path: &str,
        body: Bytes,
    ) -> Result<T, RemoteError> {
        let (status, body) = self.ask(method, path, body).await?;
        let answer = |code, detail| RemoteError::Answer {
            status,
            code,
            detail,
        };
        if (200..300).contains(&status) {
            let parsed = serde_json::from_slice(&body);
            return parsed.map_err(|error| {
                let detail = format!("invalid response: {error}; use a runner of this version");
                answer(String::new(), detail)
            });
        }
        let problem = Problem::parse(&body);
        let detail = problem.text();
        Err(answer(problem.code, detail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_null_and_value_are_distinct() {
        let update = |text| serde_json::from_str::<SessionUpdate>(text);
        assert_eq!(update("{}").unwrap(), SessionUpdate::default());
        let removed = update(r#"{"name":null,"labels":{"a":null,"b":"c"},"metadata":null}"#);
        let removed = removed.unwrap();
        assert_eq!(
            (removed.name.clone(), removed.metadata.clone()),
            (Some(None), Some(None))
        );
        assert_eq!(removed.labels["a"], None);
        let text = serde_json::to_string(&removed).unwrap();
        assert_eq!(update(&text).unwrap(), removed);
        assert!(update(r#"{"title":"x"}"#).is_err());
    }
}
