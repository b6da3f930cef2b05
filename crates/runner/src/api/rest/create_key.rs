//! Requests to create a session that are repeated with the same key.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::StatusCode;
use bowline_transport::SessionId;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::agent::start_problem;
use crate::api::idempotency_key::IdempotencyKey;
use crate::api::problem::Problem;
use crate::app_state::AppState;
use crate::conversations::{ConversationError, is_driven};
use crate::sessions::SessionRecord;

/// The label of a session that was created with a key: the digest of the request.
const REQUEST_LABEL: &str = "bowline.request";

/// Returns the session that has the id of a request. One without a record is being created by an earlier request,
/// or is being removed.
pub(super) async fn existing(app: &AppState, id: SessionId) -> Result<SessionRecord, Problem> {
    let record = app.sessions.record(id).await.map_err(Problem::internal)?;
    record.ok_or_else(|| {
        let detail = "an earlier request for the same session is still being carried out";
        let next = "retry in a second";
        Problem::new(StatusCode::CONFLICT, "REQUEST_IN_PROGRESS", detail, next)
    })
}

/// A request with a key. The session has an id that follows from the key, and a digest of the request as a label, so
/// that a repeated one finds it, also after a restart of the runner.
pub(super) struct KeyedRequest {
    pub(super) id: SessionId,
    digest: String,
}

impl KeyedRequest {
    /// Returns the key of a request; `None` without one, or if the request has an id.
    pub(super) fn of(key: &IdempotencyKey, body: &Map<String, Value>) -> Option<Self> {
        if body.contains_key("id") {
            return None;
        }
        let id = key.uuid("create")?.to_string().parse().ok()?;
        let text = serde_json::to_string(body).ok()?;
        let hash = Sha256::digest(text);
        let digest = hash.iter().take(8).map(|it| format!("{it:02x}")).collect();
        Some(Self { id, digest })
    }

    pub(super) fn label(keyed: Option<&Self>, labels: &mut BTreeMap<String, String>) {
        labels.remove(REQUEST_LABEL);
        if let Some(keyed) = keyed {
            labels.insert(REQUEST_LABEL.to_owned(), keyed.digest.clone());
        }
    }

    /// Checks that the session was created by the same request. An agent has then opened its session.
    pub(super) async fn check_repeated(
        &self,
        app: &Arc<AppState>,
        record: &SessionRecord,
    ) -> Result<(), Problem> {
        if record.info.labels.get(REQUEST_LABEL) != Some(&self.digest) {
            let detail = "the `Idempotency-Key` was used for another request";
            let next = "use a key of its own for each request";
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return Err(Problem::new(status, "IDEMPOTENCY_KEY_REUSED", detail, next));
        }
        if !record.has_ended() && is_driven(&record.info.labels) {
            let opened = async {
                let conversation = app.conversations.attach(self.id).await?;
                conversation.session().opened().await?;
                Ok::<_, ConversationError>(())
            };
            let opened = opened.await;
            opened.map_err(|error| start_problem(&record.info.program, error))?;
        }
        Ok(())
    }
}
