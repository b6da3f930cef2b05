//! Copies a recording into a state folder.

use std::io;

use bowline_jsonl::{Framer, Item, RawJson};
use bowline_lifecycle::journal::{Arrival, Arrived, Merged};
use bowline_lifecycle::{Piece, StreamId};
use bowline_recording::TraceLine;
use bowline_runner::{RecordingDetails, RecordingImport, StateDir};
use bytes::{Buf as _, Bytes, BytesMut};

use super::cannot_copy;
use crate::failure::Failure;
use crate::recording::Recording;

/// Bytes of lines that are copied at once, about.
const CHUNK: usize = 256 << 10;

/// Copies a recording. Returns the id of its session, and what of it cannot be read.
pub(super) fn recording(
    state: &StateDir,
    mut recording: Recording,
    details: RecordingDetails,
) -> Result<(String, Vec<String>), Failure> {
    let failed = |error: io::Error| Failure::failed(cannot_copy(&error));
    let import = RecordingImport::begin(state).map_err(failed)?;
    if recording.has_lines() {
        let mut copy = LineCopy::new(import);
        while let Some(piece) = recording.next_piece()? {
            if let Merged::Output(Arrived {
                piece: Piece::Bytes { bytes, .. },
                ..
            }) = piece
            {
                copy.push(bytes).map_err(failed)?;
            }
        }
        let id = copy.finish(details).map_err(failed)?;
        return Ok((id, Vec::new()));
    }
    let mut import = import;
    recording.keep_stderr();
    while let Some(piece) = recording.next_piece()? {
        copy_stderr(&mut import, recording.take_stderr()?).map_err(failed)?;
        let pushed = match piece {
            Merged::Output(piece) => import.push(StreamId::STDOUT, piece),
            Merged::Input(piece) => import.push(StreamId::INPUT, piece),
        };
        pushed.map_err(failed)?;
    }
    loop {
        let stderr = recording.take_stderr()?;
        if stderr.is_empty() {
            break;
        }
        copy_stderr(&mut import, stderr).map_err(failed)?;
    }
    let losses = recording.losses()?;
    let details = RecordingDetails {
        unreadable: recording.unreadable()?,
        ..details
    };
    let id = import.finish(details).map_err(failed)?;
    Ok((id.to_string(), losses))
}

fn copy_stderr(import: &mut RecordingImport, stderr: Vec<Arrived>) -> io::Result<()> {
    let mut stderr = stderr.into_iter();
    stderr.try_for_each(|piece| import.push(StreamId::STDERR, piece))
}

/// Copies lines in the agent's output format.
pub(super) fn lines(
    state: &StateDir,
    lines: Bytes,
    details: RecordingDetails,
) -> io::Result<String> {
    let mut copy = LineCopy::new(RecordingImport::begin(state)?);
    copy.push(lines)?;
    copy.finish(details)
}

/// Copies lines, which have no times of arrival: each gets that of the newest `timestamp` that the agent wrote. A trace
/// is divided into what the agent and what the host wrote.
struct LineCopy {
    import: RecordingImport,
    framer: Framer,
    /// What was pushed and is not copied, and the offset past the lines of it that were read.
    rest: BytesMut,
    read: usize,
    offset: u64,
    at_ms: Option<u64>,
}

impl LineCopy {
    fn new(import: RecordingImport) -> Self {
        Self {
            import,
            framer: Framer::default(),
            rest: BytesMut::new(),
            read: 0,
            offset: 0,
            at_ms: None,
        }
    }

    fn push(&mut self, bytes: Bytes) -> io::Result<()> {
        self.rest.extend_from_slice(&bytes);
        self.framer.push(bytes);
        self.read_lines()
    }

    fn finish(mut self, details: RecordingDetails) -> io::Result<String> {
        self.framer.finish();
        self.read_lines()?;
        self.read = self.rest.len();
        self.copy_read()?;
        Ok(self.import.finish(details)?.to_string())
    }

    fn read_lines(&mut self) -> io::Result<()> {
        let mut framer = std::mem::take(&mut self.framer);
        while let Some(frame) = framer.next_frame() {
            for item in frame.items() {
                self.read_line(&item)?;
            }
        }
        self.framer = framer;
        Ok(())
    }

    fn read_line(&mut self, item: &Item<'_>) -> io::Result<()> {
        let line = item.event.as_ref().ok().map(|event| event.raw);
        let end = usize::try_from(item.at.end.saturating_sub(self.offset));
        let end = end.unwrap_or(usize::MAX).min(self.rest.len());
        if let Some(traced) = line.and_then(TraceLine::parse) {
            self.copy_read()?;
            // The line itself is replaced by its message.
            let rest = item.at.end.saturating_sub(self.offset) as usize;
            self.rest.advance(rest.min(self.rest.len()));
            self.offset = item.at.end;
            return copy_traced(&mut self.import, &traced);
        }
        let at_ms = line.and_then(timestamp).or(self.at_ms);
        if at_ms != self.at_ms || self.read >= CHUNK {
            let end = end - self.read;
            self.copy_read()?;
            self.at_ms = at_ms;
            self.read = end;
        } else {
            self.read = end;
        }
        Ok(())
    }

    /// Copies the lines that were read, which have one time.
    fn copy_read(&mut self) -> io::Result<()> {
        let bytes = self.rest.split_to(self.read).freeze();
        self.offset += self.read as u64;
        self.read = 0;
        append(
            &mut self.import,
            StreamId::STDOUT,
            bytes,
            arrival(self.at_ms),
        )
    }
}

fn copy_traced(import: &mut RecordingImport, line: &TraceLine<'_>) -> io::Result<()> {
    let bytes = Bytes::from(format!("{}\n", line.message));
    let at_ms = (line.at_ms > 0).then_some(line.at_ms);
    match &*line.direction.decode() {
        "host>" => {
            let output = Some(import.end(StreamId::STDOUT));
            append(import, StreamId::INPUT, bytes, Arrival { at_ms, output })
        }
        "agent>" => append(import, StreamId::STDOUT, bytes, arrival(at_ms)),
        _ => Ok(()),
    }
}

fn append(
    import: &mut RecordingImport,
    stream: StreamId,
    bytes: Bytes,
    arrival: Arrival,
) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let offset = import.end(stream);
    let piece = Piece::Bytes { offset, bytes };
    import.push(stream, Arrived { arrival, piece })
}

const fn arrival(at_ms: Option<u64>) -> Arrival {
    Arrival {
        at_ms,
        output: None,
    }
}

/// Returns the time that the agent wrote into a line.
fn timestamp(line: RawJson<'_>) -> Option<u64> {
    let text = line.get("timestamp")?.as_str()?;
    let time: jiff::Timestamp = text.decode().parse().ok()?;
    u64::try_from(time.as_millisecond()).ok()
}
