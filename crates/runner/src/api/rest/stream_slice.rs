//! Reads a session's output: from its shim while that runs, else from its journal.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use axum::http::StatusCode;
use bowline_transport::journal::{Arrived, Damage, Folder, JournalReader, UnsupportedVersion};
use bowline_transport::wire::{DEFAULT_CREDIT, ExitNotice, Lease, StdioKind, StreamId};
use bowline_transport::{Piece, SessionId};
use bytes::BytesMut;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::shim_client::ShimClient;
use crate::api::problem::Problem;
use crate::app_state::AppState;
use crate::sessions::{LogReader, SessionRecord, ShimStatus};

/// Time limit for a read from a shim.
const READ_TIMEOUT: Duration = Duration::from_secs(15);

/// Bytes per read from a journal.
const JOURNAL_READ_BYTES: usize = 256 << 10;

/// What to read of a session.
#[derive(Clone, Copy, Debug)]
pub(in crate::api) struct SliceRequest {
    pub(in crate::api) stream: StreamId,
    /// Offset of the first byte.
    pub(in crate::api) from: u64,
    /// Maximum number of bytes.
    pub(in crate::api) max: u64,
    /// Offset of the first byte of input, if the input that was taken up to the end of the bytes is wanted
    /// too.
    pub(in crate::api) input_from: Option<u64>,
}

/// A range of a stream.
#[derive(Debug)]
pub(in crate::api) struct StreamSlice {
    /// Bytes and gaps, in order.
    pub(in crate::api) pieces: Vec<Arrived>,
    /// The session's input, as far as it was wanted.
    pub(super) input: Vec<Arrived>,
    /// End offset of the stream.
    pub(in crate::api) end: u64,
    /// The child's exit status, if it has exited.
    pub(in crate::api) exit: Option<ExitNotice>,
    /// Whether the session's process was killed, so that the exit status is unknown.
    pub(super) is_lost: bool,
    /// What of the journal cannot be read, as far as the read has reached it.
    pub(super) damage: Vec<Damage>,
}

impl StreamSlice {
    /// Reads a part of a session.
    pub(in crate::api) async fn read(
        app: &AppState,
        record: &SessionRecord,
        request: SliceRequest,
    ) -> Result<Self, Problem> {
        if record.shim == ShimStatus::Gone {
            return Self::from_journal(record, request).await;
        }
        match Self::from_shim(app, record.info.id, request).await {
            // The shim may have ended in the meantime.
            Err(problem) if matches!(problem.code, "SESSION_ENDED" | "SESSION_LOST") => {
                Self::from_journal(record, request).await
            }
            read => read,
        }
    }

    /// Returns the bytes between gaps, each with its offset.
    pub(super) fn runs(&self) -> Vec<(u64, BytesMut)> {
        let mut runs: Vec<(u64, BytesMut)> = Vec::new();
        let mut end = None;
        for piece in &self.pieces {
            let Piece::Bytes { offset, bytes } = &piece.piece else {
                continue;
            };
            match runs.last_mut().filter(|_| end == Some(*offset)) {
                Some((_, run)) => run.extend_from_slice(bytes),
                None => runs.push((*offset, BytesMut::from(&bytes[..]))),
            }
            end = Some(piece.end());
        }
        runs
    }

    async fn from_shim(
        app: &AppState,
        id: SessionId,
        request: SliceRequest,
    ) -> Result<Self, Problem> {
        let SliceRequest {
            stream, from, max, ..
        } = request;
        let input = request.input_from.map(|from| (StreamId::INPUT, from));
        let cursors = [(stream, from)].into_iter().chain(input).collect();
        let credit = DEFAULT_CREDIT.min(max);
        let client = ShimClient::attach(app, id, Lease::Read, cursors, credit).await;
        let client = client.map_err(|problem| match problem.code {
            "SESSION_REFUSED" => offset_past_end(),
            _ => problem,
        })?;
        let extent = client.attached.streams.get(&stream).copied();
        let extent = extent.ok_or_else(stream_not_found)?;
        let mut slice = Self {
            pieces: Vec::new(),
            input: Vec::new(),
            end: extent.end,
            exit: client.attached.exit.clone(),
            is_lost: false,
            damage: Vec::new(),
        };
        let until = extent.end.min(from.saturating_add(max));
        // A session of an older runner has no stream of its input.
        let input = client.attached.streams.get(&StreamId::INPUT);
        let input = input.filter(|_| until == extent.end && max > 0);
        let input = request.input_from.zip(input.map(|input| input.end));
        let mut ends = BTreeMap::from([(stream, (from, until))]);
        ends.extend(input.map(|(from, end)| (StreamId::INPUT, (from, end))));
        let reading = slice.read_pieces(LogReader::new(client.link, ends), stream);
        timeout(READ_TIMEOUT, reading)
            .await
            .map_err(|_| Problem::timed_out("reading the log timed out"))??;
        Ok(slice)
    }

    /// Reads until each stream has reached its end. Input that comes before output is kept whether it has an end or
    /// not.
    async fn read_pieces(
        &mut self,
        mut reader: LogReader,
        output: StreamId,
    ) -> Result<(), Problem> {
        while let Some((stream, piece)) = reader.next().await? {
            match stream {
                _ if stream == output => self.pieces.push(piece),
                StreamId::INPUT => self.input.push(piece),
                _ => {}
            }
        }
        Ok(())
    }

    async fn from_journal(record: &SessionRecord, request: SliceRequest) -> Result<Self, Problem> {
        if !record.info.has_journal {
            return Err(no_log());
        }
        let SliceRequest {
            stream, from, max, ..
        } = request;
        let folder = Folder::at(record.session.journal());
        let read = spawn_blocking(move || read_journal(folder, request)).await;
        let read = read.map_err(Problem::internal)?;
        let JournalSlice {
            mut pieces,
            input,
            end: kept,
            damage,
        } = read.map_err(|error| unreadable_journal(&error))?;
        let exit = record.info.exit.clone();
        let ends = exit.as_ref().map(|exit| &exit.ends);
        let end = ends.and_then(|ends| ends.get(&stream)).copied();
        let end = end.unwrap_or_default().max(kept);
        if from > end {
            return Err(offset_past_end());
        }
        // Output that did not reach the disk, or that is damaged there.
        if kept < end && from.saturating_add(max) > kept {
            let from = from.max(kept);
            pieces.push(Piece::Gap { from, to: end }.into());
        }
        Ok(Self {
            pieces,
            input,
            end,
            is_lost: exit.is_none(),
            exit,
            damage,
        })
    }
}

/// A range of a stream in a journal.
struct JournalSlice {
    pieces: Vec<Arrived>,
    input: Vec<Arrived>,
    /// End of the stream in the journal.
    end: u64,
    damage: Vec<Damage>,
}

fn read_journal(folder: Folder, request: SliceRequest) -> io::Result<JournalSlice> {
    let SliceRequest {
        stream, from, max, ..
    } = request;
    let mut journal = JournalReader::open(folder)?;
    let end = journal.kept()?.get(&stream).map_or(0, |kept| kept.end);
    let until = end.min(from.saturating_add(max));
    let (mut pieces, mut next) = (Vec::new(), from);
    while next < until {
        let wanted = usize::try_from(until - next).unwrap_or(usize::MAX);
        let wanted = wanted.min(JOURNAL_READ_BYTES);
        let Some(piece) = journal.read_arrived(stream, next, wanted)? else {
            break;
        };
        next = piece.end();
        pieces.push(piece);
    }
    let mut input = Vec::new();
    let mut input_from = request.input_from.filter(|_| max > 0);
    while let Some(from) = input_from
        && let Some(piece) = journal.read_arrived(StreamId::INPUT, from, JOURNAL_READ_BYTES)?
    {
        let is_due = piece.arrival.output.is_none_or(|place| place <= next);
        input_from = is_due.then(|| piece.end());
        input.extend(Some(piece).filter(|_| is_due));
    }
    let damage = journal.damage().cloned().collect();
    Ok(JournalSlice {
        pieces,
        input,
        end,
        damage,
    })
}

/// The stream of a session's output.
pub(super) const fn output_stream(stdio: StdioKind) -> StreamId {
    match stdio {
        StdioKind::Pipes => StreamId::STDOUT,
        StdioKind::Pty => StreamId::TTY,
    }
}

pub(super) fn no_log() -> Problem {
    let detail = "the session has no log";
    let next = "create sessions with `journal.on` to read their log after they have ended";
    Problem::new(StatusCode::GONE, "NO_LOG", detail, next)
}

pub(super) fn unreadable_journal(error: &io::Error) -> Problem {
    let inner = error.get_ref();
    if !inner.is_some_and(|it| it.is::<UnsupportedVersion>()) {
        return Problem::internal(error);
    }
    let next = "read the log with the version of Bowline that wrote it";
    Problem::new(StatusCode::CONFLICT, "JOURNAL_VERSION", error, next)
}

pub(super) fn stream_not_found() -> Problem {
    let detail = "the session has no such stream";
    let next = "use one of `streams` of GET /api/sessions/{id}";
    Problem::new(StatusCode::NOT_FOUND, "NO_STREAM", detail, next)
}

pub(super) fn offset_past_end() -> Problem {
    let detail = "offset is past the end of the stream";
    let next = "use an offset up to the stream's `end` in GET /api/sessions/{id}";
    let status = StatusCode::RANGE_NOT_SATISFIABLE;
    Problem::new(status, "OUT_OF_RANGE", detail, next)
}
