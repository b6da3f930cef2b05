//! The index of a session, shared by concurrent requests; a later request adds only what is new.

use std::sync::Arc;

use bowline_transport::wire::{StdioKind, StreamId};
use tokio::task::spawn_blocking;

use super::completion::run_to_completion;
use super::stream_slice::{SliceRequest, StreamSlice};
use super::transcript::{FoldEnd, SLICE_BYTES, advance, new_fold, too_many_transcripts};
use crate::api::problem::Problem;
use crate::app_state::AppState;
use crate::inspection::{IndexedSession, Observed};
use crate::sessions::SessionRecord;

/// Reads the index of a session, after adding what is new. The work runs on threads for blocking work, a few at a
/// time.
pub(super) async fn read_index<T: Send + 'static>(
    app: &Arc<AppState>,
    record: &SessionRecord,
    read: impl FnOnce(&mut IndexedSession) -> T + Send + 'static,
) -> Result<T, Problem> {
    let app = Arc::clone(app);
    let record = app.sessions.record(record.info.id).await;
    let record = record.map_err(Problem::internal)?;
    let record = record.ok_or_else(Problem::session_not_found)?;
    run_to_completion(async move {
        let cached = app.indexes.get(record.info.id);
        let mut kept = cached.fold.lock().await;
        let in_use = app.indexes.reserve(&cached, SLICE_BYTES).await;
        let in_use = in_use.ok_or_else(too_many_transcripts)?;
        let permit = app.transcripts.permit().await;
        let indexed = kept.take().filter(|it| it.epoch == record.info.epoch);
        let indexed = match indexed {
            Some(indexed) => indexed,
            None => IndexedSession::new(new_fold(&record).await?),
        };
        let indexed = update(&app, &record, indexed).await?;
        cached.set_bytes(indexed.size());
        let reading = spawn_blocking(move || {
            let mut indexed = indexed;
            let value = read(&mut indexed);
            (indexed, value)
        });
        let (indexed, value) = reading.await.map_err(Problem::internal)?;
        *kept = Some(indexed);
        drop(kept);
        drop((permit, cached, in_use));
        app.indexes.trim();
        Ok(value)
    })
    .await
}

async fn update(
    app: &AppState,
    record: &SessionRecord,
    mut indexed: IndexedSession,
) -> Result<IndexedSession, Problem> {
    let Some(fold) = indexed.fold.take() else {
        return Ok(indexed);
    };
    let mut observed = std::mem::take(&mut indexed.observed);
    if record.info.stdio == StdioKind::Pipes {
        read_stderr(app, record, &mut observed).await?;
    }
    let (fold, observed) = advance(app, record, (fold, observed), FoldEnd::ALL).await?;
    let complete = spawn_blocking(move || {
        indexed.observed = observed;
        indexed.complete(fold);
        indexed
    });
    complete.await.map_err(Problem::internal)
}

async fn read_stderr(
    app: &AppState,
    record: &SessionRecord,
    observed: &mut Observed,
) -> Result<(), Problem> {
    loop {
        let from = observed.stderr.next;
        let request = SliceRequest {
            stream: StreamId::STDERR,
            from,
            max: SLICE_BYTES,
            input_from: None,
        };
        let slice = match StreamSlice::read(app, record, request).await {
            Err(problem) if matches!(problem.code, "NO_STREAM" | "OUT_OF_RANGE") => return Ok(()),
            slice => slice?,
        };
        slice
            .pieces
            .iter()
            .for_each(|piece| observed.push_stderr(piece));
        if observed.stderr.next == from || observed.stderr.next >= slice.end {
            return Ok(());
        }
    }
}
