//! A session as it was: its transcript at an offset, a line or an instant, and parts of it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use bowline_reducer::Snapshot;
use serde::Deserialize;
use serde_json::json;
use tokio::task::spawn_blocking;
use utoipa::ToSchema;

use super::completion::run_to_completion;
use super::conversation::running_conversation;
use super::dialogue::dialogue_record;
use super::index::read_index;
use super::stream_slice::{SliceRequest, StreamSlice, output_stream};
use super::transcript::{FoldEnd, advance, new_fold, too_many_transcripts, use_fold};
use crate::api::extract::{QueryParams, SessionPath};
use crate::api::problem::Problem;
use crate::app_state::AppState;
use crate::inspection::{TranscriptWindow, WindowStart};
use crate::session_fold::SessionFold;
use crate::sessions::SessionRecord;

/// Entries per response, if the client does not say.
const DEFAULT_ENTRIES: usize = 200;

/// Maximum number of entries per response.
const MAX_ENTRIES: usize = 1_000;

/// Bytes of output that are folded without a look for a checkpoint, which may first have to be made.
const INDEXED_BYTES: u64 = 4 << 20;

/// A moment of a session. Without any, the present.
#[derive(Clone, Copy, Debug, Default, Deserialize, utoipa::IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub(super) struct MomentQuery {
    /// Offset in the output: only what came before it.
    #[serde(default)]
    at: Option<u64>,
    /// With `at`: offset in the input, for what was written at that offset of the output. What was written before
    /// is there in any case.
    #[serde(default)]
    input: Option<u64>,
    /// Number of a line of the output, from 1: up to its end.
    #[serde(default)]
    line: Option<u64>,
    /// A time, in milliseconds since the Unix epoch: what had arrived by then.
    #[serde(default)]
    at_ms: Option<u64>,
}

impl MomentQuery {
    /// Returns where a fold ends at the moment; `None` for the present.
    pub(super) async fn resolve(
        self,
        app: &Arc<AppState>,
        record: &SessionRecord,
    ) -> Result<Option<FoldEnd>, Problem> {
        let moments = [self.at, self.line, self.at_ms];
        if moments.iter().flatten().count() > 1 {
            let detail = "a moment is given twice; use one of `at`, `line` and `at_ms`";
            return Err(Problem::bad_request(detail));
        }
        let until = if let Some(line) = self.line {
            let end =
                read_index(app, record, move |it| it.observed.lines.end_of_line(line)).await?;
            let no_line = || Problem::bad_request(format!("the output has no line {line}"));
            let output = end.ok_or_else(no_line)?;
            FoldEnd { output, input: 0 }
        } else if let Some(at_ms) = self.at_ms {
            let arrived = read_index(app, record, move |it| it.observed.lines.arrived_at(at_ms));
            let (output, input) = arrived.await?;
            FoldEnd { output, input }
        } else if let Some(output) = self.at {
            let input = self.input.unwrap_or(0);
            FoldEnd { output, input }
        } else {
            return Ok(None);
        };
        let end = output_end(app, record).await?;
        Ok(Some(if until.output >= end {
            let input = u64::MAX;
            FoldEnd { output: end, input }
        } else {
            until
        }))
    }
}

async fn output_end(app: &AppState, record: &SessionRecord) -> Result<u64, Problem> {
    let request = SliceRequest {
        stream: output_stream(record.info.stdio),
        from: 0,
        max: 0,
        input_from: None,
    };
    Ok(StreamSlice::read(app, record, request).await?.end)
}

/// Returns whether a fold can be continued up to an end, and contains nothing after it.
fn can_continue(fold: &SessionFold, until: FoldEnd) -> bool {
    if fold.has_ended {
        return until.output >= fold.next && until.input == u64::MAX;
    }
    fold.next < until.output || (fold.next == until.output && fold.input_next <= until.input)
}

/// A transcript at a moment.
pub(super) struct Moment {
    pub(super) snapshot: Snapshot,
    /// Offsets past the output and the input that were folded.
    pub(super) output: u64,
    input: u64,
    /// When the last output arrived.
    at_ms: Option<u64>,
}

impl Moment {
    fn of(fold: &mut SessionFold) -> Self {
        Self {
            snapshot: fold.transcript.snapshot(),
            output: fold.next,
            input: fold.input_next,
            at_ms: fold.at_ms(),
        }
    }
}

/// Folds a session up to an end, and returns the transcript of that moment. The fold is kept, so that a later moment continues it.
pub(super) async fn past(
    app: &Arc<AppState>,
    record: SessionRecord,
    until: FoldEnd,
) -> Result<Moment, Problem> {
    let app = Arc::clone(app);
    run_to_completion(async move {
        let cached = app.past.get(record.info.id);
        let mut kept = cached.fold.lock().await;
        let in_use = app.past.reserve(&cached, until.output).await;
        let in_use = in_use.ok_or_else(too_many_transcripts)?;
        let is_before = |it: &SessionFold| it.epoch == record.info.epoch && can_continue(it, until);
        let fold = nearest(&app, &record, kept.take().filter(is_before), until).await?;
        let permit = app.transcripts.permit().await;
        let (mut fold, ()) = advance(&app, &record, (fold, ()), until).await?;
        let moment = Moment::of(&mut fold);
        cached.set_bytes(fold.size());
        *kept = Some(fold);
        drop(kept);
        drop((permit, cached, in_use));
        app.past.trim();
        Ok(moment)
    })
    .await
}

/// Returns the fold from which one up to an end is continued with the least output: the last one that was asked for,
/// a checkpoint of the index, or an empty one.
async fn nearest(
    app: &Arc<AppState>,
    record: &SessionRecord,
    last: Option<SessionFold>,
    until: FoldEnd,
) -> Result<SessionFold, Problem> {
    let from = last.as_ref().map_or(0, |fold| fold.next);
    let epoch = record.info.epoch;
    let found = match until.output.saturating_sub(from) > INDEXED_BYTES {
        true => read_index(app, record, move |it| it.fold_before(until.output)).await?,
        false => None,
    };
    match found
        .filter(|it| it.epoch == epoch && it.next > from)
        .or(last)
    {
        Some(fold) => Ok(fold),
        None => new_fold(record).await,
    }
}

/// Which entries are read.
#[derive(Debug, Deserialize, utoipa::IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub(super) struct WindowQuery {
    /// Index of the first entry among those of the main thread, from 0. Default: that of the last ones.
    #[serde(default)]
    from: Option<usize>,
    /// Number of an entry, as in changes: it and those around it.
    #[serde(default)]
    entry: Option<u32>,
    /// Maximum number of entries, at most 1000. Default: 200.
    #[serde(default)]
    max: Option<usize>,
}

/// A part of a transcript.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "only the schema is used")]
pub(super) struct TranscriptPart {
    /// Offset in the output up to which it was folded.
    at: u64,
    /// Offset in the input up to which it was folded.
    input: u64,
    /// When the last output up to there arrived, in milliseconds since the Unix epoch; `null` if unknown.
    at_ms: Option<u64>,
    /// Lines of output up to there.
    line: u64,
    /// Number of entries of the main thread in all.
    entries: usize,
    /// Index of the first one of this part.
    from: usize,
    /// The number of entries of the main thread in this part.
    count: usize,
    /// The changes that make up this part, a reset first: entries of the main thread with their blocks, their tool
    /// calls and the threads of their sub-agents; and all that concerns the session as a whole.
    changes: Vec<serde_json::Value>,
}

/// Read a part of a transcript as changes, now or as it was at a moment.
///
/// For clients that keep a transcript by its changes, as events send them. `/transcript` with `limit` has the newest entries as one
/// value.
#[utoipa::path(get, path = "/api/sessions/{id}/changes", operation_id = "changes",
    params(("id" = String, Path, description = "Id of the session"), MomentQuery, WindowQuery),
    responses((status = 200, description = "Success", content_type = "application/json", body = TranscriptPart,
            example = json!({"at": 2048, "input": 0, "at_ms": null, "line": 3, "entries": 1, "from": 0, "count": 1, "changes": [
                {"change": "reset"},
                {"change": "entry", "entry": 0, "thread": null, "value": {"kind": "notice", "notice": "informational", "text": "hello"},
                 "turn": null, "at_ms": null, "bytes": [0, 90], "history": false}]})),
        (status = "default", description = "Error", body = Problem)))]
pub(super) async fn changes(
    State(app): State<Arc<AppState>>,
    SessionPath(id): SessionPath,
    QueryParams(moment): QueryParams<MomentQuery>,
    QueryParams(query): QueryParams<WindowQuery>,
) -> Result<Response, Problem> {
    let start = match (query.from, query.entry) {
        (Some(_), Some(_)) => {
            return Err(Problem::bad_request("use one of `from` and `entry`"));
        }
        (Some(from), None) => WindowStart::Index(from),
        (None, Some(entry)) => WindowStart::Entry(entry),
        (None, None) => WindowStart::End,
    };
    let max = query.max.unwrap_or(DEFAULT_ENTRIES).clamp(1, MAX_ENTRIES);
    let record = dialogue_record(&app, id).await?;
    let moment = match moment.resolve(&app, &record).await? {
        Some(until) => past(&app, record, until).await?,
        None => present(&app, record).await?,
    };
    let body = spawn_blocking(move || {
        let window = TranscriptWindow::read(&moment.snapshot, start, max);
        part_body(&window, &moment)
    });
    let body = body.await.map_err(Problem::internal)?;
    let mut response = body.into_response();
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

fn part_body(window: &TranscriptWindow, moment: &Moment) -> Vec<u8> {
    let head = json!({
        "at": moment.output, "input": moment.input, "at_ms": moment.at_ms, "line": moment.snapshot.stats().lines(),
        "entries": window.entries, "from": window.range.start, "count": window.range.len(),
    });
    let head = head.to_string();
    let head = head.strip_suffix('}').unwrap_or(&head);
    [head.as_bytes(), b",\"changes\":", &window.changes, b"}"].concat()
}

/// Returns the present transcript of a session.
pub(super) async fn present(app: &Arc<AppState>, record: SessionRecord) -> Result<Moment, Problem> {
    if let Some(conversation) = running_conversation(app, &record).await? {
        let snapshot = conversation.session().snapshot().await;
        return Ok(Moment {
            output: snapshot.applied(),
            input: 0,
            at_ms: None,
            snapshot,
        });
    }
    let (present, _) = use_fold(app, record, Moment::of).await?;
    Ok(present)
}
