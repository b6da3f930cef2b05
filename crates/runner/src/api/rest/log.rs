//! Logs: the bytes of a stream, and the transcript that they fold into.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{ACCEPT_RANGES, CONTENT_RANGE, CONTENT_TYPE, ETAG};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use axum::{Extension, Json};
use bowline_reducer::Schema;
use bowline_transport::Piece;
use bowline_transport::journal::Arrived;
use bowline_transport::wire::StreamId;
use bytes::{BufMut as _, Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use utoipa::ToSchema;

use super::byte_range::{self, ByteRange};
use super::dialogue::dialogue_record;
use super::past::{MomentQuery, past};
use super::shim_client::read_record;
use super::stream_slice::{
    SliceRequest, StreamSlice, offset_past_end, output_stream, stream_not_found,
};
use super::transcript::{snapshot_body, transcript_body};
use super::transcript_schema::Transcript;
use super::window::Window;
use crate::api::events::{EventHub, changes_since};
use crate::api::extract::{QueryParams, SessionPath};
use crate::api::problem::Problem;
use crate::app_state::AppState;
use crate::sessions::SessionRecord;

/// Maximum bytes per response, which a slow client keeps in memory.
const MAX_BYTES: u64 = 1 << 20;

/// The name of the past of a resumed conversation among the streams.
const HISTORY: &str = "history";

/// The range to read.
#[derive(Debug, Deserialize, utoipa::IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub(super) struct LogQuery {
    /// `tty`, `stdout`, `stderr`, `input` and `control` (of a dialogue on pipes), `lifecycle`, or `history`: the past of the
    /// conversation that the session resumed, in the agent's output format. Default: the session's output.
    #[serde(default)]
    stream: Option<String>,
    /// Offset of the first byte.
    #[serde(default)]
    #[param(required = false)]
    from: u64,
    /// Maximum number of bytes, at most 1 MiB. Default: 1 MiB.
    #[serde(default)]
    max: Option<u64>,
}

impl LogQuery {
    /// Returns the slice of a session's stream, and the maximum of its bytes.
    fn request(&self, record: &SessionRecord) -> Result<(SliceRequest, u64), Problem> {
        let stream = match self.stream.as_deref() {
            None => output_stream(record.info.stdio),
            Some("tty") => StreamId::TTY,
            Some("stdout") => StreamId::STDOUT,
            Some("stderr") => StreamId::STDERR,
            Some("input") => StreamId::INPUT,
            Some("lifecycle") => StreamId::LIFECYCLE,
            Some("control") => StreamId::CONTROL,
            Some(_) => return Err(Problem::bad_request("unknown stream")),
        };
        let max = self.max.unwrap_or(MAX_BYTES).min(MAX_BYTES);
        let request = SliceRequest {
            stream,
            from: self.from,
            max,
            input_from: None,
        };
        Ok((request, max))
    }
}

/// When the bytes of a stream arrived.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Arrivals)]
pub(super) struct ArrivalsBody {
    /// The parts of the range that arrived together, in order.
    arrivals: Vec<ArrivalOf>,
    /// Offset for the next request; that of this one at the end.
    next: u64,
}

/// When and where a part of a stream arrived.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Arrival)]
struct ArrivalOf {
    /// Offset of its first byte.
    offset: u64,
    /// Milliseconds since the Unix epoch. `null` if unknown.
    at_ms: Option<u64>,
    /// The end of the session's output at that time. Only input has it.
    output: Option<u64>,
}

/// Read when the bytes of a stream arrived.
///
/// What was written to an agent is at its place in the output by `output`.
#[utoipa::path(get, path = "/api/sessions/{id}/arrivals", operation_id = "arrivals",
    params(("id" = String, Path, description = "Id of the session"), LogQuery),
    responses(
        (status = 200, description = "Success", body = ArrivalsBody),
        (status = "default", description = "Error", body = Problem)))]
pub(super) async fn arrivals(
    State(app): State<Arc<AppState>>,
    SessionPath(id): SessionPath,
    QueryParams(query): QueryParams<LogQuery>,
) -> Result<Json<ArrivalsBody>, Problem> {
    let record = read_record(&app, id).await?;
    let (request, _) = query.request(&record)?;
    let slice = StreamSlice::read(&app, &record, request).await?;
    let next = slice.pieces.last().map_or(query.from, Arrived::end);
    let arrival = |piece: &Arrived| match piece.piece {
        Piece::Bytes { offset, .. } => Some(ArrivalOf {
            offset,
            at_ms: piece.arrival.at_ms,
            output: piece.arrival.output,
        }),
        Piece::Gap { .. } => None,
    };
    let arrivals = slice.pieces.iter().filter_map(arrival).collect();
    Ok(Json(ArrivalsBody { arrivals, next }))
}

/// Read bytes of a stream.
///
/// The response ends before the first gap. Its headers describe it: `Bowline-From` is the offset of
/// its first byte, `Bowline-Next` that of the next request, `Bowline-End` the end of the stream, and
/// `Bowline-Gap` is `FROM-TO` if bytes before the first one were lost. `Bowline-Damage` names the first
/// damage of the session's journal that was found.
///
/// A header `Range: bytes=FROM-TO` stands for `from` and `max`, and is answered with 206 and `Content-Range`. `ETag` is
/// the same for the same bytes; a request with `If-None-Match` is answered with 304 if they are known.
#[utoipa::path(get, path = "/api/sessions/{id}/log", operation_id = "log",
    params(("id" = String, Path, description = "Id of the session"), LogQuery),
    responses(
        (status = 200, description = "Success", content_type = "application/octet-stream", body = String,
            headers(
                ("Bowline-From" = u64, description = "Offset of the first byte"),
                ("Bowline-Next" = u64, description = "Offset for the next request"),
                ("Bowline-End" = u64, description = "End offset of the stream"),
                ("Bowline-Gap" = String, description = "Lost range before the first byte"),
                ("Bowline-Damage" = String, description = "Why a part of the log cannot be read"),
                ("ETag" = String, description = "Stands for these bytes"))),
        (status = 206, description = "The bytes of the header Range", content_type = "application/octet-stream", body = String,
            headers(("Content-Range" = String, description = "The range of the bytes, and the end of the stream"))),
        (status = 304, description = "The bytes are those of If-None-Match"),
        (status = "default", description = "Error", body = Problem)))]
pub(super) async fn log(
    State(app): State<Arc<AppState>>,
    SessionPath(id): SessionPath,
    QueryParams(query): QueryParams<LogQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let record = read_record(&app, id).await?;
    if query.stream.as_deref() == Some(HISTORY) {
        return history(&record, &query).await;
    }
    let (mut request, mut max) = query.request(&record)?;
    let range = ByteRange::of(&headers);
    if let Some(range) = range {
        let probe = SliceRequest { max: 0, ..request };
        let end = StreamSlice::read(&app, &record, probe).await?.end;
        let (from, length) = range.within(end)?;
        (request.from, max) = (from, length.min(MAX_BYTES));
        request.max = max;
    }
    let slice = StreamSlice::read(&app, &record, request).await?;
    let part = LogResponse::new(&slice, request.from, max);
    let tag = part.tag(&record, request.stream);
    if byte_range::is_known(&headers, &tag) {
        return Ok(byte_range::not_modified(&tag));
    }
    let is_part = range.is_some();
    let mut response = part.into_response(slice.end, &tag, is_part);
    let damage = slice.damage.first().map(ToString::to_string);
    if let Some(damage) = damage.and_then(|text| HeaderValue::try_from(text).ok()) {
        response.headers_mut().insert("bowline-damage", damage);
    }
    Ok(response)
}

/// Reads the past of the conversation that a session resumed, which does not change.
async fn history(record: &SessionRecord, query: &LogQuery) -> Result<Response, Problem> {
    let folder = record.session.clone();
    let read = spawn_blocking(move || folder.history()).await;
    let read = read
        .map_err(Problem::internal)?
        .map_err(Problem::internal)?;
    let history = Bytes::from(read.ok_or_else(stream_not_found)?);
    let end = history.len() as u64;
    if query.from > end {
        return Err(offset_past_end());
    }
    let max = query.max.unwrap_or(MAX_BYTES).min(MAX_BYTES);
    let next = end.min(query.from.saturating_add(max));
    let part = history.slice(query.from as usize..next as usize);
    let mut response = Response::new(Body::from(part));
    let kind = HeaderValue::from_static("application/octet-stream");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    for (name, offset) in [
        ("bowline-from", query.from),
        ("bowline-next", next),
        ("bowline-end", end),
    ] {
        response.headers_mut().insert(name, offset.into());
    }
    Ok(response)
}

/// The bytes of a slice up to its first gap, after an initial one.
struct LogResponse {
    from: u64,
    gap: Option<(u64, u64)>,
    bytes: BytesMut,
}

impl LogResponse {
    fn new(slice: &StreamSlice, from: u64, max: u64) -> Self {
        let mut response = Self {
            from,
            gap: None,
            bytes: BytesMut::new(),
        };
        for piece in &slice.pieces {
            match &piece.piece {
                Piece::Gap { from, to } if response.bytes.is_empty() => {
                    // Adjacent gaps occur if output is dropped during the read.
                    let start = response.gap.map_or(*from, |(start, _)| start);
                    response.gap = Some((start, *to));
                    response.from = *to;
                }
                Piece::Gap { .. } => break,
                Piece::Bytes { bytes, .. } => response.bytes.put_slice(bytes),
            }
        }
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        response.bytes.truncate(max);
        response
    }

    /// Returns a tag of the bytes: a stream of an incarnation only grows.
    fn tag(&self, record: &SessionRecord, stream: StreamId) -> String {
        let (epoch, next) = (record.info.epoch, self.next());
        format!("\"{epoch}-{stream}-{}-{next}\"", self.from)
    }

    fn next(&self) -> u64 {
        self.from + self.bytes.len() as u64
    }

    fn into_response(self, end: u64, tag: &str, is_part: bool) -> Response {
        let next = self.next();
        let is_empty = self.bytes.is_empty();
        let mut response = Response::new(Body::from(self.bytes.freeze()));
        if is_part && !is_empty {
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            let range = format!("bytes {}-{}/{end}", self.from, next - 1);
            byte_range::insert(&mut response, CONTENT_RANGE, &range);
        }
        byte_range::insert(&mut response, ETAG, tag);
        let headers = response.headers_mut();
        headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        let kind = HeaderValue::from_static("application/octet-stream");
        headers.insert(CONTENT_TYPE, kind);
        headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        headers.insert("bowline-from", self.from.into());
        headers.insert("bowline-next", next.into());
        headers.insert("bowline-end", end.into());
        let gap = self.gap.map(|(from, to)| format!("{from}-{to}"));
        let gap = gap.and_then(|gap| HeaderValue::try_from(gap).ok());
        gap.map(|gap| headers.insert("bowline-gap", gap));
        response
    }
}

/// The form of a transcript.
#[derive(Debug, Deserialize, utoipa::IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub(super) struct TranscriptQuery {
    /// The version of the schema: 1, or 2, which is schema 1 plus members. Default: 2.
    #[serde(default)]
    #[param(minimum = 1, maximum = 2)]
    schema: Option<u32>,
    /// A `cursor` of an earlier response, or the `id` of an event. The response then has the changes after it:
    /// `{"changes": […], "cursor": …, "ended": …}`. An empty one, and one of another run of the runner, gets a `reset`
    /// and everything.
    #[serde(default)]
    since: Option<String>,
    /// With `since`: how long to wait for a change, in seconds, up to 300. Default: 0.
    #[serde(default)]
    #[param(required = false, maximum = 300)]
    wait: u64,
    /// Maximum number of entries, up to 1000: the newest ones, or those before `before`, with their tool calls, the open
    /// permission requests, and the session. `before` of the response is the parameter for earlier ones. A client that keeps a
    /// transcript by its changes reads a part of it from `/changes`.
    #[serde(default)]
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// With `limit`: where the entries end.
    #[serde(default)]
    before: Option<u32>,
}

impl TranscriptQuery {
    pub(super) fn schema(&self) -> Result<Schema, Problem> {
        let schema = self
            .schema
            .map_or_else(|| Some(Schema::default()), Schema::of_number);
        schema.ok_or_else(|| Problem::bad_request("unknown schema; use 1 or 2"))
    }
}

/// Read the transcript of a dialogue, folded from its whole output.
///
/// With a moment, it is the transcript as it was then: the fold of what had come before. `stats.missing` counts the
/// bytes of output that are not available, and `stats.damaged` is set if a
/// part of the log cannot be read; `entries` has the reasons. With `since`, the
/// response has only what has changed since an earlier one, as `/api/sessions/{id}/events` sends it.
#[utoipa::path(get, path = "/api/sessions/{id}/transcript", operation_id = "transcript",
    params(("id" = String, Path, description = "Id of the session"), TranscriptQuery, MomentQuery),
    responses((status = 200, description = "Success", content_type = "application/json", body = Transcript,
            headers(("Bowline-At" = u64, description = "With a moment: the offset in the output"))),
        (status = "default", description = "Error", body = Problem)))]
pub(super) async fn transcript(
    State(app): State<Arc<AppState>>,
    Extension(hub): Extension<Arc<EventHub>>,
    SessionPath(id): SessionPath,
    QueryParams(query): QueryParams<TranscriptQuery>,
    QueryParams(moment): QueryParams<MomentQuery>,
) -> Result<Response, Problem> {
    let schema = query.schema()?;
    let record = dialogue_record(&app, id).await?;
    if let Some(since) = &query.since {
        return changes_since(hub, &record, since, query.wait).await;
    }
    if let Some(limit) = query.limit {
        let window = Window::new(limit, query.before)?;
        return window.respond(&app, record).await;
    }
    let mut response = match moment.resolve(&app, &record).await? {
        None => Response::new(transcript_body(&app, record, schema).await?),
        Some(until) => {
            let moment = past(&app, record, until).await?;
            let mut response = Response::new(snapshot_body(&moment.snapshot, schema));
            response
                .headers_mut()
                .insert("bowline-at", moment.output.into());
            response
        }
    };
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_gaps_are_merged() {
        let (bytes, offset) = (Bytes::from_static(b"rest"), 9);
        let slice = StreamSlice {
            pieces: vec![
                Piece::Gap { from: 0, to: 4 }.into(),
                Piece::Gap { from: 4, to: 9 }.into(),
                Piece::Bytes { offset, bytes }.into(),
                Piece::Gap { from: 13, to: 20 }.into(),
            ],
            input: Vec::new(),
            end: 20,
            exit: None,
            is_lost: false,
            damage: Vec::new(),
        };
        let response = LogResponse::new(&slice, 0, 100);
        assert_eq!((response.gap, response.from), (Some((0, 9)), 9));
        assert_eq!(response.bytes, "rest");
    }
}
