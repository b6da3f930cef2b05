//! The inspection of a session: its lines and their effects, its timeline, and search.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use bowline_transport::wire::StreamId;
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use utoipa::ToSchema;

use super::dialogue::dialogue_record;
use super::index::read_index;
use super::past::present;
use super::stream_slice::{SliceRequest, StreamSlice, output_stream};
use super::transcript::SLICE_BYTES;
use crate::api::extract::{QueryParams, SessionPath};
use crate::api::problem::Problem;
use crate::app_state::AppState;
use crate::inspection::{
    CheckedMembers, LinePage, MemberCheck, PageStart, SearchHit, SearchPlace, Timeline,
    find_in_bytes, search_transcript,
};
use crate::sessions::SessionRecord;

/// Lines per response, if the client does not say.
const DEFAULT_LINES: usize = 200;

/// Maximum number of lines per response.
const MAX_LINES: usize = 2_000;

/// Hits per response, if the client does not say.
const DEFAULT_HITS: usize = 50;

/// Maximum number of hits per response.
const MAX_HITS: usize = 500;

/// Maximum bytes whose members are looked at by one request.
const MAX_PARSED: u64 = 1 << 20;

/// Maximum bytes of output that one request looks through.
const MAX_SEARCHED: u64 = 64 << 20;

/// Maximum length of a text to look for, in bytes.
const MAX_NEEDLE: usize = 1 << 10;

/// Which lines are read.
#[derive(Debug, Deserialize, utoipa::IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub(super) struct LinesQuery {
    /// Index of the first row, from 0; of the first line with `fold=false`. Default: 0.
    #[serde(default)]
    from: Option<usize>,
    /// Offset in the output: the line that has it, and those around it.
    #[serde(default)]
    offset: Option<u64>,
    /// Number of a line of the output, from 1: it and those around it.
    #[serde(default)]
    line: Option<u64>,
    /// Number of an entry, as in changes: the first line that became a part of it, and those around it.
    #[serde(default)]
    entry: Option<u32>,
    /// Maximum number of items, at most 2000. Default: 200.
    #[serde(default)]
    max: Option<usize>,
    /// Whether lines of one type that follow each other and became a part of the same are one row. Default: true.
    #[serde(default)]
    fold: Option<bool>,
}

impl LinesQuery {
    fn start(&self) -> Result<PageStart, Problem> {
        let starts = [
            self.from.map(PageStart::Index),
            self.offset.map(PageStart::Offset),
            self.line.map(PageStart::Line),
            self.entry.map(PageStart::Entry),
        ];
        let mut starts = starts.into_iter().flatten();
        match (starts.next(), starts.next()) {
            (Some(start), None) => Ok(start),
            (None, _) => Ok(PageStart::Index(0)),
            (Some(_), Some(_)) => Err(Problem::bad_request(
                "use one of `from`, `offset`, `line` and `entry`",
            )),
        }
    }
}

/// List the lines of a session in one order: its output, what was written to the agent, its standard error and
/// what is lost; with what each became in the transcript.
#[utoipa::path(get, path = "/api/sessions/{id}/lines", operation_id = "lines",
    params(("id" = String, Path, description = "Id of the session"), LinesQuery),
    responses((status = 200, description = "Success", body = LinePage,
            example = json!({"rows": 1, "lines": 5, "from": 0, "at": 0, "items": [{"index": 0, "lines": 5, "stream": "output",
                "number": 201, "bytes": [70760, 72169], "kind": "content_block_delta", "about": "The change", "at_ms": 1795411479239_u64,
                "became": [{"type": "entry", "number": 12, "main_entry": 12}], "note": null, "error": null}]})),
        (status = "default", description = "Error", body = Problem)))]
pub(super) async fn lines(
    State(app): State<Arc<AppState>>,
    SessionPath(id): SessionPath,
    QueryParams(query): QueryParams<LinesQuery>,
) -> Result<Json<LinePage>, Problem> {
    let start = query.start()?;
    let max = query.max.unwrap_or(DEFAULT_LINES).clamp(1, MAX_LINES);
    let is_folded = query.fold.unwrap_or(true);
    let record = dialogue_record(&app, id).await?;
    let page = read_index(&app, &record, move |it| {
        LinePage::read(&it.observed.lines, start, max, is_folded)
    });
    Ok(Json(page.await?))
}

/// Which lines are looked at.
#[derive(Debug, Deserialize, utoipa::IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub(super) struct UnknownMembersQuery {
    /// Offset of the first byte, the beginning of a line.
    from: u64,
    /// Maximum number of bytes, at most 1 MiB. Default: 1 MiB.
    #[serde(default)]
    max: Option<u64>,
    /// `input` for what was written to the agent. Default: the session's output.
    #[serde(default)]
    stream: Option<String>,
}

impl UnknownMembersQuery {
    /// Returns whether the input is looked at.
    fn is_input(&self) -> Result<bool, Problem> {
        match self.stream.as_deref() {
            None => Ok(false),
            Some("input") => Ok(true),
            Some(_) => Err(Problem::bad_request(
                "unknown stream; give `input`, or leave `stream` out",
            )),
        }
    }
}

/// List the members of lines that this version does not know.
///
/// Of the output, the lines of each protocol are looked at; those members are not known that this version does not read. Of
/// the input, the lines of Codex and of agents that speak ACP are looked at in the same way, and those of Claude Code and
/// Qwen Code by their protocol. Agents that are only read (`gemini-stream-json`, `codex-exec`, `copilot-json`,
/// `opencode-run-json`) have no input, and `is_checked` is false for it.
#[utoipa::path(get, path = "/api/sessions/{id}/unknown-members", operation_id = "unknownMembers",
    params(("id" = String, Path, description = "Id of the session"), UnknownMembersQuery),
    responses((status = 200, description = "Success", body = CheckedMembers,
            example = json!({"is_checked": true, "kept_whole": 0, "lines": [{"offset": 90, "members": ["/message/usage/novelty"]}]})),
        (status = "default", description = "Error", body = Problem)))]
pub(super) async fn unknown_members(
    State(app): State<Arc<AppState>>,
    SessionPath(id): SessionPath,
    QueryParams(query): QueryParams<UnknownMembersQuery>,
) -> Result<Json<CheckedMembers>, Problem> {
    let is_input = query.is_input()?;
    let record = dialogue_record(&app, id).await?;
    let dialect = read_index(&app, &record, |it| it.dialect).await?;
    let Some(check) = MemberCheck::of(dialect, is_input) else {
        return Ok(Json(CheckedMembers::default()));
    };
    let request = SliceRequest {
        stream: if is_input {
            StreamId::INPUT
        } else {
            output_stream(record.info.stdio)
        },
        from: query.from,
        max: query.max.unwrap_or(MAX_PARSED).min(MAX_PARSED),
        input_from: None,
    };
    let slice = StreamSlice::read(&app, &record, request).await?;
    let finding = spawn_blocking(move || {
        let runs = slice.runs().into_iter();
        CheckedMembers::find(check, runs.map(|(offset, bytes)| (offset, bytes.freeze())))
    });
    Ok(Json(finding.await.map_err(Problem::internal)?))
}

/// Read what lasts in a session: turns, model calls with their tokens, tool calls, permission requests; and how
/// full the context was.
#[utoipa::path(get, path = "/api/sessions/{id}/timeline", operation_id = "timeline",
    params(("id" = String, Path, description = "Id of the session")),
    responses((status = 200, description = "Success", body = Timeline,
            example = json!({"from_ms": 1795411479000_u64, "to_ms": 1795411480000_u64, "is_ordered": true, "end": 2048, "lines": 3, "turns": [], "model_calls": [
                {"from_ms": 1795411479000_u64, "to_ms": 1795411479800_u64, "bytes": [0, 900], "entry": 1, "thread": null, "model": "m",
                 "usage": {"input_tokens": 4, "output_tokens": 20, "cache_read_tokens": 0, "cache_creation_tokens": 0}}],
                "tools": [], "permissions": [], "context": [], "compactions": [], "left_out": 0})),
        (status = "default", description = "Error", body = Problem)))]
pub(super) async fn timeline(
    State(app): State<Arc<AppState>>,
    SessionPath(id): SessionPath,
) -> Result<Json<Timeline>, Problem> {
    let record = dialogue_record(&app, id).await?;
    let timeline = read_index(&app, &record, |it| it.timeline.clone());
    Ok(Json(timeline.await?))
}

/// What is looked for.
#[derive(Debug, Deserialize, utoipa::IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub(super) struct SearchQuery {
    /// The text, of 1 to 1024 bytes. Letters of ASCII match in either case.
    q: String,
    /// Where, separated by commas: `text`, `tools`, `bytes`. Default: `text,tools`.
    #[serde(default)]
    r#in: Option<String>,
    /// Where to continue: `next` of the last response.
    #[serde(default)]
    after: Option<String>,
    /// Maximum number of hits, at most 500. Default: 50.
    #[serde(default)]
    max: Option<usize>,
}

/// What was found.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SearchResult {
    /// The hits: those in the transcript in its order, then those in the bytes.
    hits: Vec<SearchHit>,
    /// Where to continue; `null` at the end. It may be there without hits, since a request looks through at most
    /// 64 MiB.
    next: Option<String>,
}

/// Where a search continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SearchCursor {
    Entry(u32),
    Byte(u64),
}

impl SearchCursor {
    fn parse(text: Option<&str>) -> Result<Self, Problem> {
        let Some(text) = text else {
            return Ok(Self::Entry(0));
        };
        let cursor = match text.split_once(':') {
            Some(("entry", number)) => number.parse().ok().map(Self::Entry),
            Some(("byte", number)) => number.parse().ok().map(Self::Byte),
            _ => None,
        };
        cursor.ok_or_else(|| Problem::bad_request("`after` is not the `next` of a response"))
    }

    fn text(self) -> String {
        match self {
            Self::Entry(number) => format!("entry:{number}"),
            Self::Byte(offset) => format!("byte:{offset}"),
        }
    }
}

impl SearchQuery {
    fn places(&self) -> Result<Vec<SearchPlace>, Problem> {
        let names = self.r#in.as_deref().unwrap_or("text,tools");
        let place = |name: &str| match name.trim() {
            "text" => Ok(SearchPlace::Text),
            "tools" => Ok(SearchPlace::Tools),
            "bytes" => Ok(SearchPlace::Bytes),
            _ => Err(Problem::bad_request("use text, tools or bytes in `in`")),
        };
        names.split(',').map(place).collect()
    }
}

/// Search the texts, the tool calls and the bytes of a session.
#[utoipa::path(get, path = "/api/sessions/{id}/search", operation_id = "search",
    params(("id" = String, Path, description = "Id of the session"), SearchQuery),
    responses((status = 200, description = "Success", body = SearchResult,
            example = json!({"hits": [{"in": "text", "entry": 4, "main_entry": 4, "tool_call": null, "bytes": [512, 900],
                "before": "the change is ", "found": "small", "after": ": for an even length"}], "next": null})),
        (status = "default", description = "Error", body = Problem)))]
pub(super) async fn search(
    State(app): State<Arc<AppState>>,
    SessionPath(id): SessionPath,
    QueryParams(query): QueryParams<SearchQuery>,
) -> Result<Json<SearchResult>, Problem> {
    if query.q.is_empty() || query.q.len() > MAX_NEEDLE {
        return Err(Problem::bad_request("`q` must have 1 to 1024 bytes"));
    }
    let places = query.places()?;
    let cursor = SearchCursor::parse(query.after.as_deref())?;
    let max = query.max.unwrap_or(DEFAULT_HITS).clamp(1, MAX_HITS);
    let record = dialogue_record(&app, id).await?;
    let mut hits = Vec::new();
    let mut next = Some(cursor);
    if let SearchCursor::Entry(from) = cursor {
        let in_bytes = places.contains(&SearchPlace::Bytes);
        next = in_bytes.then_some(SearchCursor::Byte(0));
        if places.iter().any(|it| *it != SearchPlace::Bytes) {
            let snapshot = present(&app, dialogue_record(&app, id).await?)
                .await?
                .snapshot;
            let text = query.q.clone();
            let found =
                spawn_blocking(move || search_transcript(&snapshot, &text, &places, from, max));
            let found = found.await.map_err(Problem::internal)?;
            next = found.next.map(SearchCursor::Entry).or(next);
            hits = found.hits;
        }
    }
    if let Some(SearchCursor::Byte(from)) = next
        && hits.len() < max
    {
        let room = max - hits.len();
        let (found, offset) = search_bytes(&app, &record, query.q, from, room).await?;
        hits.extend(found);
        next = offset.map(SearchCursor::Byte);
    }
    let next = next.map(SearchCursor::text);
    Ok(Json(SearchResult { hits, next }))
}

/// Looks through the output from an offset on. Returns the hits, and where to continue.
async fn search_bytes(
    app: &AppState,
    record: &SessionRecord,
    text: String,
    from: u64,
    max: usize,
) -> Result<(Vec<SearchHit>, Option<u64>), Problem> {
    let (mut hits, mut next) = (Vec::new(), from);
    let overlap = text.len() as u64 - 1;
    loop {
        let request = SliceRequest {
            stream: output_stream(record.info.stdio),
            from: next,
            max: SLICE_BYTES,
            input_from: None,
        };
        let slice = StreamSlice::read(app, record, request).await?;
        let room = max - hits.len();
        let (found, end, all) = find(slice, text.clone(), room).await?;
        hits.extend(found);
        if hits.len() >= max {
            // The rest of a line with a hit is not looked through again.
            let last = hits.last().and_then(SearchHit::end);
            return Ok((hits, last));
        }
        if end >= all || end <= next {
            return Ok((hits, None));
        }
        // A text may lie across two slices.
        next = end.saturating_sub(overlap).max(next + 1);
        if next - from >= MAX_SEARCHED {
            return Ok((hits, Some(next)));
        }
    }
}

/// Returns the hits in a slice, its end, and that of its stream.
async fn find(
    slice: StreamSlice,
    text: String,
    max: usize,
) -> Result<(Vec<SearchHit>, u64, u64), Problem> {
    let finding = spawn_blocking(move || {
        let mut hits = Vec::new();
        for (offset, bytes) in slice.runs() {
            hits.extend(find_in_bytes(&bytes, offset, &text, max - hits.len()));
        }
        let end = slice.pieces.last().map_or(0, |piece| piece.end());
        (hits, end, slice.end)
    });
    finding.await.map_err(Problem::internal)
}
