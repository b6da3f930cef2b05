//! The past of the conversation that a session at a runner resumed.

use std::collections::BTreeMap;

use bowline_transport::{Remote, RemoteError, RemoteUrl, SessionId, SessionSummary};
use bytes::Bytes;

use crate::control::HISTORY_LABEL;

/// Returns the labels of a session, in its record at the runner.
pub(super) async fn labels(
    remote: &Remote,
    session: SessionId,
) -> Result<BTreeMap<String, String>, RemoteError> {
    // A shim has no record to ask for.
    if matches!(remote.url, RemoteUrl::Shim(_)) {
        return Ok(BTreeMap::new());
    }
    let path = format!("/api/sessions/{session}");
    let (_, body) = remote.ask("GET", &path, Bytes::new()).await?;
    // The attach fails if there is no such session.
    let record = serde_json::from_slice::<SessionSummary>(&body);
    Ok(record.map(|it| it.labels).unwrap_or_default())
}

/// Returns the past of the conversation that a session with these labels resumed, if its runner keeps it.
pub(super) async fn past(
    remote: &Remote,
    session: SessionId,
    labels: &BTreeMap<String, String>,
) -> Result<Option<Bytes>, RemoteError> {
    match labels.contains_key(HISTORY_LABEL) {
        true => remote.history(session).await,
        false => Ok(None),
    }
}
