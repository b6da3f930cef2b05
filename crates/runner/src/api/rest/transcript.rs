//! The transcript of a session: its whole output, folded. Concurrent requests share one fold, and a
//! later request folds only what was added.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bowline_lifecycle::control::HISTORY_LABEL;
use bowline_reducer::{End, HostEvent, Meta, Schema, Snapshot, Transcript};
use bowline_transport::Piece;
use bowline_transport::journal::{Damage, Merge, Merged};
use bytes::Bytes;
use futures_util::stream;
use tokio::task::spawn_blocking;

use super::completion::run_to_completion;
use super::conversation::running_conversation;
use super::stream_slice::{SliceRequest, StreamSlice, output_stream};
use crate::api::problem::Problem;
use crate::app_state::{AppState, FoldUse};
use crate::session_fold::{FoldObserver, FoldOrigin, SessionFold};
use crate::sessions::{SessionRecord, describe_exit};

/// Bytes that are read at once.
pub(super) const SLICE_BYTES: u64 = 4 << 20;

/// Delay after which to request a transcript again if others use all memory for transcripts.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Arrival time of records without one: the end of a session, and gaps of its log.
const NO_TIME: Meta = Meta { at_ms: 0 };

/// Stands for the exit status of a child whose shim was killed.
const SHIM_KILLED: &str = "session process killed, exit status unknown";

/// Folds a session's output up to its present end, and returns what `read` makes of the transcript.
/// The fold and `read` run on threads for blocking work, a few at a time.
pub(super) async fn read_transcript<T: Send + 'static>(
    app: &Arc<AppState>,
    record: SessionRecord,
    read: impl FnOnce(&mut Transcript) -> T + Send + 'static,
) -> Result<T, Problem> {
    let (value, _) = use_fold(app, record, |fold| read(&mut fold.transcript)).await?;
    Ok(value)
}

/// Returns the transcript of a session as JSON, which is written as it is sent. Until then the fold stays
/// in memory, once for all requests.
pub(super) async fn transcript_body(
    app: &Arc<AppState>,
    record: SessionRecord,
    schema: Schema,
) -> Result<Body, Problem> {
    if let Some(conversation) = running_conversation(app, &record).await? {
        let snapshot = conversation.session().snapshot().await;
        return Ok(snapshot_body(&snapshot, schema));
    }
    let held = HeldTranscript::read(app, record).await?;
    let mut chunks = held.snapshot.json_chunks(schema);
    let chunks = std::iter::from_fn(move || {
        let _held = &held;
        chunks.next()
    });
    Ok(chunked_body(chunks))
}

/// Returns a transcript as JSON, which is written as it is sent.
pub(super) fn snapshot_body(snapshot: &Snapshot, schema: Schema) -> Body {
    chunked_body(snapshot.json_chunks(schema))
}

/// Returns a body whose chunks are written as it is sent, off the reactor: one has an entry of any size.
fn chunked_body(chunks: impl Iterator<Item = Vec<u8>> + Send + 'static) -> Body {
    let chunks = stream::try_unfold(chunks, |mut chunks| async move {
        let next = spawn_blocking(move || chunks.next().map(|chunk| (Bytes::from(chunk), chunks)));
        // Fails while the runtime shuts down, which must not look like the end.
        next.await
    });
    Body::from_stream(chunks)
}

/// The transcript of a session that no task follows. Its fold stays in memory as long as this does, once for
/// all requests.
pub(in crate::api) struct HeldTranscript {
    pub(in crate::api) snapshot: Snapshot,
    _fold: HeldFold,
}

impl HeldTranscript {
    /// Folds the log of a session.
    pub(in crate::api) async fn read(
        app: &Arc<AppState>,
        record: SessionRecord,
    ) -> Result<Self, Problem> {
        let (snapshot, fold) = use_fold(app, record, |fold| fold.transcript.snapshot()).await?;
        let _fold = fold;
        Ok(Self { snapshot, _fold })
    }
}

/// A fold that a request uses.
pub(in crate::api) struct HeldFold {
    in_use: Option<FoldUse>,
    app: Arc<AppState>,
}

impl fmt::Debug for HeldFold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldFold").finish_non_exhaustive()
    }
}

impl Drop for HeldFold {
    fn drop(&mut self) {
        self.in_use = None;
        self.app.transcripts.trim();
    }
}

/// As [`read_transcript`], with the fold, and keeps the fold in memory until the second value is dropped.
pub(in crate::api) async fn use_fold<T: Send + 'static>(
    app: &Arc<AppState>,
    record: SessionRecord,
    read: impl FnOnce(&mut SessionFold) -> T + Send + 'static,
) -> Result<(T, HeldFold), Problem> {
    let app = Arc::clone(app);
    // A fold is completed for the requests that wait for it.
    run_to_completion(async move {
        let cached = app.transcripts.get(record.info.id);
        let mut kept = cached.fold.lock().await;
        let next = kept.as_ref().map_or(0, |fold| fold.next);
        let stream = output_stream(record.info.stdio);
        let request = SliceRequest {
            stream,
            from: next,
            max: 0,
            input_from: None,
        };
        let extent = StreamSlice::read(&app, &record, request).await;
        let bytes = extent.map_or(next, |extent| extent.end);
        let in_use = app.transcripts.reserve(&cached, bytes).await;
        let in_use = in_use.ok_or_else(too_many_transcripts)?;
        let permit = app.transcripts.permit().await;
        let fold = kept.take().filter(|it| it.epoch == record.info.epoch);
        let fold = match fold {
            Some(fold) => fold,
            None => new_fold(&record).await?,
        };
        let fold = update(&app, &record, fold).await?;
        cached.set_bytes(fold.size());
        let (fold, value) = spawn_blocking(move || {
            let mut fold = fold;
            let value = read(&mut fold);
            (fold, value)
        })
        .await
        .map_err(Problem::internal)?;
        *kept = Some(fold);
        drop(kept);
        drop(permit);
        drop(cached);
        let held = HeldFold {
            in_use: Some(in_use),
            app,
        };
        Ok((value, held))
    })
    .await
}

/// Returns a fold of nothing of a session but the past of the conversation that it resumed.
pub(super) async fn new_fold(record: &SessionRecord) -> Result<SessionFold, Problem> {
    let (info, folder) = (record.info.clone(), record.session.clone());
    let begun = spawn_blocking(move || {
        let mut fold = SessionFold::new(&info);
        if info.labels.contains_key(HISTORY_LABEL)
            && let Some(history) = folder.history()?
        {
            fold.history(history.into());
        }
        Ok::<_, std::io::Error>(fold)
    });
    let begun = begun.await.map_err(Problem::internal)?;
    begun.map_err(Problem::internal)
}

pub(super) fn too_many_transcripts() -> Problem {
    let detail = "too many transcripts are being read";
    Problem::rate_limited(detail, RETRY_AFTER)
}

/// How much of a session is folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FoldEnd {
    /// Offset past the last byte of output.
    pub(super) output: u64,
    /// Offset past the last byte of the input that was taken at the end of that output. What was taken before is
    /// folded in any case.
    pub(super) input: u64,
}

impl FoldEnd {
    /// Everything.
    pub(super) const ALL: Self = Self {
        output: u64::MAX,
        input: u64::MAX,
    };

    /// Drops what comes after the end.
    fn cut(self, slice: &mut StreamSlice) {
        for piece in &mut slice.pieces {
            if let Piece::Bytes { offset, bytes } = &mut piece.piece {
                let length = usize::try_from(self.output.saturating_sub(*offset));
                bytes.truncate(length.unwrap_or(usize::MAX));
            }
        }
        slice.pieces.retain(|piece| match &piece.piece {
            Piece::Bytes { bytes, .. } => !bytes.is_empty(),
            Piece::Gap { to, .. } => *to <= self.output,
        });
        slice.input.retain(|piece| {
            let is_before = |place: u64| place < self.output;
            piece.end() <= self.input || piece.arrival.output.is_none_or(is_before)
        });
    }
}

/// Folds what was added to a session's output.
async fn update(
    app: &AppState,
    record: &SessionRecord,
    fold: SessionFold,
) -> Result<SessionFold, Problem> {
    let (fold, ()) = advance(app, record, (fold, ()), FoldEnd::ALL).await?;
    Ok(fold)
}

/// Folds a session's output and input up to an end, or to its present one.
pub(super) async fn advance<O: FoldObserver + Send + 'static>(
    app: &AppState,
    record: &SessionRecord,
    (mut fold, mut observer): (SessionFold, O),
    until: FoldEnd,
) -> Result<(SessionFold, O), Problem> {
    let stream = output_stream(record.info.stdio);
    let mut end = None;
    while !fold.has_ended && end.is_none_or(|end| fold.next < end) {
        if app.shutdown.is_cancelled() {
            return Err(Problem::shutting_down());
        }
        // The byte after the end is read for the input that comes before it.
        let rest = until.output.saturating_sub(fold.next).saturating_add(1);
        let request = SliceRequest {
            stream,
            from: fold.next,
            max: SLICE_BYTES.min(rest),
            input_from: Some(fold.input_next),
        };
        let slice = StreamSlice::read(app, record, request).await;
        let slice = match slice {
            // A journal that could not be written may have less than its shim had.
            Err(problem) if problem.code == "OUT_OF_RANGE" && fold.next > 0 => break,
            slice => slice?,
        };
        end.get_or_insert_with(|| slice.end.min(until.output));
        let from = fold.next;
        let folded = spawn_blocking(move || {
            let mut slice = slice;
            until.cut(&mut slice);
            add(&mut fold, &slice, until, &mut observer);
            if !fold.has_ended {
                observer.part(&mut fold);
            }
            (fold, observer)
        });
        (fold, observer) = folded.await.map_err(Problem::internal)?;
        if fold.next == from {
            break;
        }
    }
    Ok((fold, observer))
}

/// Folds a slice, which begins where the fold ends: its output and its input in one order. Input that comes
/// after the slice's output is left for the next one.
fn add(
    fold: &mut SessionFold,
    slice: &StreamSlice,
    until: FoldEnd,
    observer: &mut impl FoldObserver,
) {
    let mut merge = Merge::at(fold.next);
    let pieces = slice.pieces.iter().cloned();
    pieces.for_each(|piece| merge.push_output(piece));
    let input = slice.input.iter().cloned();
    input.for_each(|piece| merge.push_input(piece));
    while let Some(merged) = merge.next_piece() {
        match merged {
            Merged::Output(piece) => fold.output(&piece, observer),
            Merged::Input(piece) => fold.input(&piece, observer),
        }
    }
    for damage in &slice.damage {
        if !fold.damage.contains(damage) {
            let reason = damage_message(damage);
            let reason = reason.as_str();
            fold.transcript
                .apply_host(HostEvent::Damaged { reason }, NO_TIME);
            fold.damage.push(damage.clone());
        }
    }
    let is_whole = fold.next >= slice.end && until.output >= slice.end;
    if is_whole && (slice.exit.is_some() || slice.is_lost) {
        fold.framer.finish();
        fold.apply_lines(observer);
        if fold.origin != FoldOrigin::Process {
            return fold.end_recording();
        }
        let exit = slice.exit.as_ref().map(describe_exit);
        let (exit, expected) = exit.unwrap_or_else(|| (SHIM_KILLED.to_owned(), false));
        let exit = exit.as_str();
        fold.transcript
            .end(End::Process { exit, expected }, NO_TIME);
        fold.has_ended = true;
    }
}

fn damage_message(damage: &Damage) -> String {
    format!("the log is damaged: {damage}, and the rest of that segment was not read")
}

#[cfg(test)]
mod tests {
    use std::thread;

    use axum::body::to_bytes;

    use super::*;

    #[tokio::test]
    async fn transcript_is_written_off_the_reactor() {
        let reactor = thread::current().id();
        let chunks = (0..3).map(move |n| {
            assert_ne!(thread::current().id(), reactor);
            vec![n]
        });
        let body = to_bytes(chunked_body(chunks), usize::MAX).await.unwrap();
        assert_eq!(&body[..], [0, 1, 2]);
    }
}
