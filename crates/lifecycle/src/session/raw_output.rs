//! The bytes of a session's streams, from any offset.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use bowline_transport::journal::Arrived;
use bowline_transport::wire::StreamId;
use bowline_transport::{LogReader, Piece, Stream, TerminalSession};
use tokio::task::spawn_blocking;
use tracing::warn;

use super::handle::DialogueSession;
use super::recorded_output::OutputSource;
use super::recording::{OutputSources, Recorder, output_stream};
use crate::error::RecordError;

/// Bytes per read of the recording.
const CHUNK: usize = 64 << 10;

/// The bytes of one stream of a session, in pieces with their offsets. What is missing is a
/// [`Piece::Gap`]: bytes that were dropped before they were read, and those that are no longer kept.
///
/// A reader never holds the agent back, and shares the bytes that the session keeps. It does not keep the
/// session alive; after the end of the session it reads what is kept, and ends.
///
/// # Example
///
/// ```no_run
/// use bowline_lifecycle::{Diagnostics, DialogueSession, Piece, RawOutput, RecordError, Stream};
///
/// # async fn show(session: DialogueSession) -> Result<(), Box<dyn std::error::Error>> {
/// let mut output: RawOutput = session.raw_output(Stream::Output, 0);
/// while let Some(piece) = output.next().await {
///     match piece {
///         Piece::Bytes { offset, bytes } => println!("{} bytes at {offset}", bytes.len()),
///         Piece::Gap { from, to } => println!("bytes {from} to {to} are no longer kept"),
///     }
/// }
/// let known: Diagnostics = session.diagnostics().await;
/// println!("{} and {} streams", known.facts, known.streams.len());
/// match session.record("session.bjl").await {
///     Ok(from) => println!("recorded from byte {from} of the output on"),
///     Err(RecordError::AlreadyRecorded { path }) => println!("see {}", path.display()),
///     Err(error) => return Err(error.into()),
/// }
/// # Ok(())
/// # }
/// ```
pub struct RawOutput {
    reader: LogReader,
    /// The recording and the stream of a journal, for bytes that are no longer in memory.
    recorded: Option<(Arc<OutputSources>, StreamId)>,
    /// The rest of a gap that the recording may fill.
    gap: Option<(u64, u64)>,
}

impl fmt::Debug for RawOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawOutput")
            .field("offset", &self.offset())
            .finish_non_exhaustive()
    }
}

impl RawOutput {
    /// Returns the bytes of a terminal's stream from an offset on.
    #[must_use]
    pub fn of_terminal(terminal: &TerminalSession, stream: Stream, from: u64) -> Self {
        Self::from(terminal.observer_at(stream, from))
    }

    /// Returns the same stream from another offset on.
    #[must_use]
    pub fn at(&self, from: u64) -> Self {
        Self {
            reader: self.reader.observer_at(from),
            recorded: self.recorded.clone(),
            gap: None,
        }
    }

    /// Returns the offset of the next piece.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.gap
            .map_or_else(|| self.reader.offset(), |(from, _)| from)
    }

    /// Waits for the next piece; `None` after the end of the stream.
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<Piece> {
        if self.gap.is_none() {
            match self.reader.next().await? {
                Piece::Gap { from, to } if self.recorded.is_some() => self.gap = Some((from, to)),
                piece => return Some(piece),
            }
        }
        let (from, to) = self.gap?;
        let gap = Piece::Gap { from, to };
        let piece = self.recorded_at(from, to).await.unwrap_or(gap);
        let end = piece.end();
        self.gap = (end < to).then_some((end, to));
        Some(piece)
    }

    /// Returns the first part of the bytes `from..to` as the recording has it, or `None` if it does not reach
    /// so far.
    async fn recorded_at(&self, from: u64, to: u64) -> Option<Piece> {
        let (sources, stream) = self.recorded.as_ref()?;
        let (recorded, stream) = (sources.log.recorded()?, *stream);
        if stream == StreamId::STDERR && !recorded.is_journal {
            return None;
        }
        if stream != StreamId::STDERR {
            let mut end = recorded.end.clone();
            // Fails if the recording has ended: then it is read as far as it goes.
            let _ = end.wait_for(|end| *end > from).await;
        }
        let length = usize::try_from(to - from).map_or(CHUNK, |left| left.min(CHUNK));
        let read = move || OutputSource::open(&recorded, stream)?.read(from, length);
        let read = spawn_blocking(read).await.map_err(io::Error::other);
        match read.flatten() {
            Ok(Some(Arrived { piece, .. })) => Some(up_to(piece, to)),
            Ok(None) => None,
            Err(error) => {
                warn!(%error, "cannot read the recording");
                None
            }
        }
    }
}

/// Cuts a piece that goes past an offset.
fn up_to(piece: Piece, end: u64) -> Piece {
    match piece {
        Piece::Gap { from, to } => Piece::Gap {
            from,
            to: to.min(end),
        },
        bytes => bytes,
    }
}

impl From<LogReader> for RawOutput {
    fn from(reader: LogReader) -> Self {
        Self {
            reader,
            recorded: None,
            gap: None,
        }
    }
}

impl DialogueSession {
    /// Returns the bytes of one of the agent's streams from an offset on: 0 for the beginning, or the
    /// [end](Self::raw_end) of the stream for what comes. Standard error is empty on a terminal.
    ///
    /// Bytes that are no longer [kept](crate::DialogueConfiguration::kept_output) come from the session's
    /// recording, if there is one; otherwise they are a gap.
    #[must_use]
    pub fn raw_output(&self, stream: Stream, from: u64) -> RawOutput {
        let in_journal = match stream {
            Stream::Output => output_stream(self.terminal.kind()),
            Stream::Errors => StreamId::STDERR,
        };
        RawOutput {
            recorded: Some((Arc::clone(&self.sources), in_journal)),
            ..RawOutput::of_terminal(&self.terminal, stream, from)
        }
    }

    /// Records the session from now on, as [`record`](crate::DialogueConfiguration::record) of the configuration
    /// does from its start. The recording begins with the oldest bytes that are
    /// [kept](crate::DialogueConfiguration::kept_output). Returns the offset of the first one in the output: if
    /// it is not 0, earlier output is missing, and the session's end says so.
    ///
    /// # Errors
    ///
    /// The file exists or cannot be created, the session is recorded already, or it has ended.
    pub async fn record(&self, path: impl AsRef<Path>) -> Result<u64, RecordError> {
        let path = path.as_ref();
        self.sources.log.check()?;
        let recorder = Recorder::create_late(path).await?;
        let begun = self.sources.log.record(recorder, &self.terminal);
        if begun.is_err() {
            // Another recording has begun, or the session has ended.
            Recorder::discard_empty(path).await;
        }
        begun
    }

    /// Returns the offset past the last byte of a stream so far.
    #[must_use]
    pub fn raw_end(&self, stream: Stream) -> u64 {
        self.terminal.end(stream)
    }
}
