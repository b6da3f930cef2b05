//! What conversations were about that have ended while no daemon drove them, or while one was killed.

use std::sync::Arc;

use bowline_lifecycle::control::is_driven;
use bowline_transport::SessionId;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::spawn_blocking;
use tracing::debug;

use super::transcript::use_fold;
use crate::api::problem::Problem;
use crate::app_state::AppState;
use crate::conversations::activity_of;
use crate::sessions::SessionRecord;

/// Keeps what conversations were about, one after the other, as far as that is not kept.
pub(crate) async fn keep_missing_activities(
    app: Arc<AppState>,
    mut ended: UnboundedReceiver<SessionId>,
) {
    while let Some(id) = ended.recv().await {
        if let Ok(Some(record)) = app.sessions.record(id).await {
            keep_missing_activity(&app, record).await;
        }
    }
}

/// Keeps what a conversation that has ended was about, if that is not kept.
pub(super) async fn keep_missing_activity(app: &Arc<AppState>, record: SessionRecord) {
    if record.activity.is_some() || !is_driven(&record.info.labels) {
        return;
    }
    let id = record.info.id;
    if let Err(problem) = fold_and_keep(app, record).await {
        let (code, detail) = (problem.code, problem.detail);
        debug!(session.id = %id, code, detail, "cannot tell what a session was about");
    }
}

async fn fold_and_keep(app: &Arc<AppState>, record: SessionRecord) -> Result<(), Problem> {
    let session = record.session.clone();
    let (activity, _held) = use_fold(app, record, |it| activity_of(&it.transcript)).await?;
    let kept = spawn_blocking(move || session.keep_activity(&activity)).await;
    kept.map_err(Problem::internal)?.map_err(Problem::internal)
}
