//! Reads a session that has ended.

use std::sync::Arc;

use bowline_transport::SessionId;

use crate::api::acp::intent::{Failure, FailureKind};
use crate::api::rest::HeldTranscript;
use crate::app_state::AppState;
use crate::sessions::describe_exit;

/// A session that has ended.
pub(super) struct EndedSession {
    /// Its transcript.
    pub(super) transcript: HeldTranscript,
    /// How it ended, one line.
    pub(super) reason: String,
}

/// Reads the transcript of a session that has ended, from its log.
///
/// # Errors
///
/// There is no such session, or its log cannot be read.
pub(super) async fn read(app: &Arc<AppState>, id: SessionId) -> Result<EndedSession, Failure> {
    let failed = |message: String| Failure::new(FailureKind::Failed, message);
    let record = app.sessions.record(id).await;
    let record = record.map_err(|error| failed(error.to_string()))?;
    let record = record.ok_or_else(|| not_found(&id.to_string()))?;
    let exit = record.info.exit.as_ref();
    let reason = exit.map_or_else(
        || "its process was killed".to_owned(),
        |exit| describe_exit(exit).0,
    );
    let transcript = HeldTranscript::read(app, record).await;
    let transcript = transcript.map_err(|it| failed(format!("{}; {}", it.detail, it.next)))?;
    Ok(EndedSession { transcript, reason })
}

/// The failure of a request for an unknown session.
pub(super) fn not_found(session: &str) -> Failure {
    let message = format!("there is no session {session}; session/list returns those that are");
    Failure::new(FailureKind::NotFound, message)
}
