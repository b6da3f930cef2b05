//! The conversation of a session, if this daemon drives it.

use crate::api::problem::Problem;
use crate::app_state::AppState;
use crate::conversations::{Conversation, ConversationError, is_driven};
use crate::sessions::{SessionRecord, ShimStatus};

/// Returns the conversation of a session that this daemon drives, while it runs.
pub(super) async fn conversation(
    app: &AppState,
    record: &SessionRecord,
) -> Result<Option<Conversation>, Problem> {
    if !is_driven(&record.info.labels) {
        return Ok(None);
    }
    Ok(Some(app.conversations.attach(record.info.id).await?))
}

/// Returns the conversation of a session that this daemon drives; `None` once it has ended.
pub(super) async fn running_conversation(
    app: &AppState,
    record: &SessionRecord,
) -> Result<Option<Conversation>, Problem> {
    if record.shim != ShimStatus::Running || !is_driven(&record.info.labels) {
        return Ok(None);
    }
    match app.conversations.attach(record.info.id).await {
        Ok(conversation) => Ok(Some(conversation)),
        Err(ConversationError::Ended) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
