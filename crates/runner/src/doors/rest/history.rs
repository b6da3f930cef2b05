//! What a session has said so far: from its shim while there is one, else from its journal.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::http::StatusCode;
use bowline_jsonl::Framer;
use bowline_reducer::{End, HostEvent, Meta, Transcript};
use bowline_transport::journal::{Folder, JournalReader};
use bowline_transport::wire::{DEFAULT_CREDIT, ExitNotice, Lease, Message, StdioKind, StreamId};
use bowline_transport::{ExitStatus, Piece, SessionId};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::talk::Talk;
use crate::doors::problem::Problem;
use crate::serve::{Hall, Record, Standing};

/// How long a part of a log may take to come.
const PATIENCE: Duration = Duration::from_secs(15);

/// Bytes that are read from a journal at a time.
const CHUNK: usize = 256 << 10;

/// A part of a stream.
#[derive(Debug)]
pub(super) struct History {
    /// Bytes and gaps, one behind the other.
    pub(super) pieces: Vec<Piece>,
    /// Offset behind the newest byte of the stream.
    pub(super) end: u64,
    /// How the child ended, if it has.
    pub(super) exit: Option<ExitNotice>,
}

/// What is known of a session.
pub(super) async fn record(hall: &Hall, id: SessionId) -> Result<Record, Problem> {
    let record = hall.directory.record(id).await;
    let record = record.map_err(Problem::internal)?;
    record.ok_or_else(Problem::no_session)
}

impl History {
    /// Reads a stream from an offset: all there is now, or as much as is asked for.
    pub(super) async fn read(
        hall: &Hall,
        record: &Record,
        stream: StreamId,
        from: u64,
        max: u64,
    ) -> Result<Self, Problem> {
        if record.standing == Standing::Gone {
            return Self::from_journal(record, stream, from, max).await;
        }
        match Self::from_shim(hall, record.info.id, stream, from, max).await {
            // The shim may have gone in the meantime.
            Err(problem) if matches!(problem.code, "SESSION_ENDED" | "SESSION_LOST") => {
                Self::from_journal(record, stream, from, max).await
            }
            read => read,
        }
    }

    async fn from_shim(
        hall: &Hall,
        id: SessionId,
        stream: StreamId,
        from: u64,
        max: u64,
    ) -> Result<Self, Problem> {
        let cursors = BTreeMap::from([(stream, from)]);
        let credit = DEFAULT_CREDIT.min(max);
        let talk = Talk::join(hall, id, Lease::Read, cursors, credit).await;
        let mut talk = talk.map_err(|problem| match problem.code {
            "SESSION_REFUSED" => out_of_range(),
            _ => problem,
        })?;
        let extent = talk.attached.streams.get(&stream).copied();
        let extent = extent.ok_or_else(no_stream)?;
        let mut history = Self {
            pieces: Vec::new(),
            end: extent.end,
            exit: talk.attached.exit.clone(),
        };
        let until = extent.end.min(from.saturating_add(max));
        let taken = timeout(PATIENCE, history.take(&mut talk, stream, from, until));
        taken
            .await
            .map_err(|_| Problem::late("the log takes too long to come"))??;
        Ok(history)
    }

    async fn take(
        &mut self,
        talk: &mut Talk,
        stream: StreamId,
        from: u64,
        until: u64,
    ) -> Result<(), Problem> {
        let mut next = from;
        while next < until {
            match talk.link.next().await? {
                Message::Data {
                    stream: of,
                    offset,
                    bytes,
                    ..
                } if of == stream => {
                    let n = bytes.len() as u64;
                    talk.link.queue(Message::Credit { stream, n });
                    next = offset + n;
                    self.pieces.push(Piece::Bytes { offset, bytes });
                }
                Message::Gap {
                    stream: of,
                    from,
                    to,
                    ..
                } if of == stream => {
                    next = to;
                    self.pieces.push(Piece::Gap { from, to });
                }
                // A screen stands for everything before it: those bytes are gone.
                Message::Snapshot { at_offset: to, .. } if to > next => {
                    let from = next;
                    next = to;
                    self.pieces.push(Piece::Gap { from, to });
                }
                _ => {}
            }
        }
        Ok(())
    }

    async fn from_journal(
        record: &Record,
        stream: StreamId,
        from: u64,
        max: u64,
    ) -> Result<Self, Problem> {
        if !record.info.has_journal {
            return Err(no_log());
        }
        let folder = Folder::at(record.session.journal());
        let read = spawn_blocking(move || read_journal(folder, stream, from, max)).await;
        let read = read.map_err(Problem::internal)?;
        let (pieces, end) = read.map_err(Problem::internal)?;
        if from > end {
            return Err(out_of_range());
        }
        let exit = record.info.exit.clone();
        Ok(Self { pieces, end, exit })
    }
}

fn read_journal(
    folder: Folder,
    stream: StreamId,
    from: u64,
    max: u64,
) -> std::io::Result<(Vec<Piece>, u64)> {
    let mut journal = JournalReader::open(folder)?;
    let end = journal.kept()?.get(&stream).map_or(0, |kept| kept.end);
    let until = end.min(from.saturating_add(max));
    let (mut pieces, mut next) = (Vec::new(), from);
    while next < until {
        let wanted = usize::try_from(until - next).unwrap_or(CHUNK).min(CHUNK);
        let Some(piece) = journal.read(stream, next, wanted)? else {
            break;
        };
        next = match &piece {
            Piece::Bytes { offset, bytes } => offset + bytes.len() as u64,
            Piece::Gap { to, .. } => *to,
        };
        pieces.push(piece);
    }
    Ok((pieces, end))
}

/// The stream that a session's output is.
pub(super) const fn output(stdio: StdioKind) -> StreamId {
    match stdio {
        StdioKind::Pipes => StreamId::STDOUT,
        StdioKind::Pty => StreamId::TTY,
    }
}

/// Folds everything that a session has said into a transcript.
pub(super) async fn fold(hall: &Hall, record: &Record) -> Result<Transcript, Problem> {
    let stream = output(record.info.stdio);
    let history = History::read(hall, record, stream, 0, u64::MAX).await?;
    let folded = spawn_blocking(move || folded(&history));
    folded.await.map_err(Problem::internal)
}

/// A log has no clock of ours.
const NO_TIME: Meta = Meta { at_ms: 0 };

fn folded(history: &History) -> Transcript {
    let (mut framer, mut transcript) = (Framer::default(), Transcript::new());
    for piece in &history.pieces {
        match piece {
            Piece::Bytes { bytes, .. } => framer.push(bytes.clone()),
            Piece::Gap { from, to } => {
                framer.skip_to(*to);
                apply(&mut framer, &mut transcript);
                let (from, to) = (*from, *to);
                transcript.apply_host(HostEvent::Gap { from, to }, NO_TIME);
            }
        }
        apply(&mut framer, &mut transcript);
    }
    if let Some(exit) = &history.exit {
        framer.finish();
        apply(&mut framer, &mut transcript);
        let (exit, expected) = told(exit);
        let exit = exit.as_str();
        transcript.end(End::Process { exit, expected }, NO_TIME);
    }
    transcript
}

fn apply(framer: &mut Framer, transcript: &mut Transcript) {
    while let Some(frame) = framer.next_frame() {
        for item in frame.items() {
            transcript.apply(&item, NO_TIME);
        }
    }
}

/// An agent that ends by itself with code 0 does what it should.
fn told(exit: &ExitNotice) -> (String, bool) {
    match exit.status {
        ExitStatus::Code(code) => (format!("exit code {code}"), code == 0),
        ExitStatus::Signal(signal) => (format!("signal {signal}"), false),
        ExitStatus::Unknown => ("an unknown end".to_owned(), false),
    }
}

fn no_log() -> Problem {
    let next = "keep a journal (`journal.on`) to read a session that has ended";
    Problem::new(
        StatusCode::GONE,
        "NO_LOG",
        "the session has left no log",
        next,
    )
}

fn no_stream() -> Problem {
    let next = "ask for one of `streams` of GET /api/sessions/{id}";
    Problem::new(
        StatusCode::NOT_FOUND,
        "NO_STREAM",
        "the session has no such stream",
        next,
    )
}

fn out_of_range() -> Problem {
    let next = "ask from an offset up to the stream's end, see GET /api/sessions/{id}";
    let detail = "the offset lies behind the stream's end";
    Problem::new(
        StatusCode::RANGE_NOT_SATISFIABLE,
        "OUT_OF_RANGE",
        detail,
        next,
    )
}
