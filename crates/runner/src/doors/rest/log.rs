//! Logs: bytes of a stream, and the transcript that they fold into.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use bowline_transport::Piece;
use bowline_transport::wire::StreamId;
use bytes::{BufMut as _, BytesMut};
use serde::Deserialize;
use utoipa::ToSchema;

use super::extract::Asked;
use super::history::{self, History};
use super::id;
use crate::doors::problem::Problem;
use crate::serve::Hall;

/// Bytes of a log that are given at a time, unless said otherwise.
const USUAL: u64 = 1 << 20;

/// The most bytes that are given at a time.
const MOST: u64 = 16 << 20;

/// A part of a stream.
#[derive(Debug, Deserialize, utoipa::IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub(super) struct Part {
    /// `tty`, `stdout`, `stderr` or `lifecycle`; the output if left out.
    #[serde(default)]
    stream: Option<String>,
    /// Offset of the first byte.
    #[serde(default)]
    #[param(required = false)]
    from: u64,
    /// Bytes at most; 1 MiB if left out, and never more than 16 MiB.
    #[serde(default)]
    max: Option<u64>,
}

/// Read bytes of a stream, as they came.
///
/// The answer ends before a gap. Its headers say where it lies: `Bowline-From` is the offset of
/// its first byte, `Bowline-Next` the one to ask from next, `Bowline-End` the one behind the newest
/// byte, and `Bowline-Gap` says `FROM-TO` when bytes before the first are missing for good.
#[utoipa::path(get, path = "/api/sessions/{id}/log", operation_id = "log",
    params(("id" = String, Path, description = "The session"), Part),
    responses(
        (status = 200, description = "Done", content_type = "application/octet-stream", body = String,
            headers(
                ("Bowline-From" = u64, description = "Offset of the first byte"),
                ("Bowline-Next" = u64, description = "The offset to ask from next"),
                ("Bowline-End" = u64, description = "Offset behind the newest byte"),
                ("Bowline-Gap" = String, description = "What is missing before the first byte"))),
        (status = "default", description = "Not done", body = Problem)))]
pub(super) async fn range(
    State(hall): State<Arc<Hall>>,
    Path(name): Path<String>,
    Asked(part): Asked<Part>,
) -> Result<Response, Problem> {
    let record = history::record(&hall, id(&name)?).await?;
    let stream = match part.stream.as_deref() {
        None => history::output(record.info.stdio),
        Some("tty") => StreamId::TTY,
        Some("stdout") => StreamId::STDOUT,
        Some("stderr") => StreamId::STDERR,
        Some("lifecycle") => StreamId::LIFECYCLE,
        Some(_) => return Err(Problem::bad_request("there is no such stream")),
    };
    let max = part.max.unwrap_or(USUAL).min(MOST);
    let history = History::read(&hall, &record, stream, part.from, max).await?;
    Ok(Taken::new(&history, part.from, max).response(history.end))
}

/// The bytes up to the first gap behind them.
struct Taken {
    from: u64,
    gap: Option<(u64, u64)>,
    bytes: BytesMut,
}

impl Taken {
    fn new(history: &History, from: u64, max: u64) -> Self {
        let mut taken = Self {
            from,
            gap: None,
            bytes: BytesMut::new(),
        };
        for piece in &history.pieces {
            match piece {
                Piece::Gap { from, to } if taken.bytes.is_empty() => {
                    // A fast child may push more out while we read: gaps may follow one another.
                    let first = taken.gap.map_or(*from, |(first, _)| first);
                    taken.gap = Some((first, *to));
                    taken.from = *to;
                }
                Piece::Gap { .. } => break,
                Piece::Bytes { bytes, .. } => taken.bytes.put_slice(bytes),
            }
        }
        taken
            .bytes
            .truncate(usize::try_from(max).unwrap_or(usize::MAX));
        taken
    }

    fn response(self, end: u64) -> Response {
        let next = self.from + self.bytes.len() as u64;
        let mut response = Response::new(Body::from(self.bytes.freeze()));
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static("application/octet-stream");
        headers.insert(CONTENT_TYPE, kind);
        headers.insert("bowline-from", self.from.into());
        headers.insert("bowline-next", next.into());
        headers.insert("bowline-end", end.into());
        let gap = self.gap.map(|(from, to)| format!("{from}-{to}"));
        let gap = gap.and_then(|gap| HeaderValue::try_from(gap).ok());
        gap.map(|gap| headers.insert("bowline-gap", gap));
        response
    }
}

/// Read the transcript of a dialogue (schema 1), folded from everything that it has said.
#[utoipa::path(get, path = "/api/sessions/{id}/transcript", operation_id = "transcript",
    params(("id" = String, Path, description = "The session")),
    responses((status = 200, description = "Done", content_type = "application/json", body = Object),
        (status = "default", description = "Not done", body = Problem)))]
pub(super) async fn transcript(
    State(hall): State<Arc<Hall>>,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let record = super::dialogue::dialogue(&hall, id(&name)?).await?;
    let transcript = history::fold(&hall, &record).await?;
    let mut response = Response::new(Body::from(transcript.to_json()));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_in_a_row_are_one() {
        let (bytes, offset) = (bytes::Bytes::from_static(b"rest"), 9);
        let history = History {
            pieces: vec![
                Piece::Gap { from: 0, to: 4 },
                Piece::Gap { from: 4, to: 9 },
                Piece::Bytes { offset, bytes },
                Piece::Gap { from: 13, to: 20 },
            ],
            end: 20,
            exit: None,
        };
        let taken = Taken::new(&history, 0, 100);
        assert_eq!((taken.gap, taken.from), (Some((0, 9)), 9));
        assert_eq!(taken.bytes, "rest");
    }
}
