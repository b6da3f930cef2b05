//! Recording all streams of a session as a journal: output, standard error, input, and the exit.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use bowline_transport::journal::{
    Arrival, Arrived, Degraded, JournalLimits, JournalWriter, Merge, Merged, OneFile,
};
use bowline_transport::wire::{Epoch, ExitNotice, StreamId};
use bowline_transport::{Exit, Kind, LogReader, Piece};
use bytes::Bytes;
use serde::Deserialize as _;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

use super::note::{EndOffset, Note};

/// Writes a journal.
#[derive(Debug)]
pub(super) struct JournalRecorder {
    /// Moved to a blocking thread during a write.
    writer: Option<Box<JournalWriter<OneFile>>>,
    /// The first gap.
    missing: Option<String>,
    /// Output and input that are not written, in their order.
    merge: Merge,
    /// The exit, once it is noted.
    exit: Option<Exit>,
}

/// The next input of the recording.
enum Next {
    Output(Option<Piece>),
    Errors(Option<Piece>),
    Note(Option<Note>),
    /// The writer's deadline has passed.
    Due,
}

impl JournalRecorder {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let (disk, limits) = (OneFile::at(path), JournalLimits::one_segment());
        let writer = JournalWriter::create(disk, limits, Epoch::random(), unix_ms())?;
        Ok(Self {
            writer: Some(Box::new(writer)),
            missing: None,
            merge: Merge::default(),
            exit: None,
        })
    }

    /// Records until the streams have ended and the exit is noted. Returns why the recording is
    /// incomplete, if it is.
    pub(super) async fn run(
        mut self,
        kind: Kind,
        streams: [LogReader; 2],
        mut notes: mpsc::UnboundedReceiver<Note>,
        end: EndOffset,
    ) -> Option<String> {
        let output = output_stream(kind);
        self.merge = Merge::at(streams[0].offset());
        let failed = self.follow(output, streams, &mut notes, end).await.err();
        if failed.is_some() {
            self.record_exit(output, &mut notes).await;
        }
        let synced = self.write(|writer, now| writer.sync(now)).await;
        failed.or_else(|| synced.err()).or(self.missing)
    }

    async fn follow(
        &mut self,
        stream: StreamId,
        [mut output, mut errors]: [LogReader; 2],
        notes: &mut mpsc::UnboundedReceiver<Note>,
        end: EndOffset,
    ) -> Result<(), String> {
        let (mut has_output, mut has_errors, mut has_notes) = (true, true, true);
        while has_output || has_errors || has_notes {
            let next = tokio::select! {
                piece = output.next(), if has_output => Next::Output(piece),
                piece = errors.next(), if has_errors => Next::Errors(piece),
                note = notes.recv(), if has_notes => Next::Note(note),
                () = due(self.deadline()) => Next::Due,
            };
            match next {
                Next::Output(piece) => {
                    has_output = piece.is_some();
                    // What the agent answers was noted before the answer was there.
                    while let Ok(note) = notes.try_recv() {
                        self.note(note);
                    }
                    let merge = &mut self.merge;
                    piece
                        .into_iter()
                        .for_each(|piece| merge.push_output(arrived(piece)));
                }
                Next::Errors(piece) => {
                    has_errors = piece.is_some();
                    if let Some(piece) = piece {
                        self.record(StreamId::STDERR, arrived(piece)).await?;
                    }
                }
                Next::Note(None) => has_notes = false,
                Next::Note(Some(note)) => self.note(note),
                Next::Due => self.poll().await?,
            }
            has_notes &= self.exit.is_none();
            self.record_merged(stream, !has_output).await?;
            let recorded = self.end(stream);
            end.send_if_modified(|end| std::mem::replace(end, recorded) != recorded);
        }
        let Some(exit) = self.exit else { return Ok(()) };
        let piece = Piece::Bytes {
            offset: self.end(StreamId::LIFECYCLE),
            bytes: exit_line(&exit, stream),
        };
        self.record(StreamId::LIFECYCLE, arrived(piece)).await
    }

    /// Records the exit after a failure, and the output before it as missing, in the space that the journal
    /// keeps for them.
    async fn record_exit(&mut self, output: StreamId, notes: &mut mpsc::UnboundedReceiver<Note>) {
        while self.exit.is_none()
            && let Some(note) = notes.recv().await
        {
            if let Note::Exit(exit) = note {
                self.exit = Some(exit);
            }
        }
        let Some(exit) = self.exit else {
            return;
        };
        let arrival = Arrival::at(unix_ms());
        let written = self.write(move |writer, now| {
            writer.use_reserve();
            for (stream, end) in ends(&exit, output) {
                writer.append_gap(stream, end, "not recorded", arrival, now)?;
            }
            let offset = writer.end(StreamId::LIFECYCLE);
            writer.append(
                StreamId::LIFECYCLE,
                offset,
                exit_line(&exit, output),
                arrival,
                now,
            )
        });
        // The failure before this one is reported.
        let _ = written.await;
    }

    fn note(&mut self, note: Note) {
        match note {
            Note::Input(line) => {
                let piece = Piece::Bytes {
                    offset: line.offset,
                    bytes: line.line,
                };
                let arrival = Arrival::at(line.at_ms).beside(line.output_end);
                self.merge.push_input(Arrived { arrival, piece });
            }
            Note::Exit(exit) => self.exit = Some(exit),
        }
    }

    /// Records the output and the input whose order is known, or all of it.
    async fn record_merged(&mut self, output: StreamId, is_all: bool) -> Result<(), String> {
        loop {
            let next = if is_all {
                self.merge.rest()
            } else {
                self.merge.next_piece()
            };
            match next {
                Some(Merged::Output(piece)) => self.record(output, piece).await?,
                Some(Merged::Input(piece)) => self.record(StreamId::INPUT, piece).await?,
                None => return Ok(()),
            }
        }
    }

    async fn record(
        &mut self,
        stream: StreamId,
        Arrived { arrival, piece }: Arrived,
    ) -> Result<(), String> {
        match piece {
            Piece::Bytes { offset, bytes } => {
                self.write(move |writer, now| writer.append(stream, offset, bytes, arrival, now))
                    .await
            }
            Piece::Gap { from, to } => {
                let missing = || format!("bytes {from} to {to} of {stream} are missing");
                self.missing.get_or_insert_with(missing);
                self.write(move |writer, now| {
                    writer.append_gap(stream, to, "not read in time", arrival, now)
                })
                .await
            }
        }
    }

    async fn poll(&mut self) -> Result<(), String> {
        self.write(|writer, now| {
            writer.poll(now);
            writer
                .degraded()
                .map_or(Ok(()), |degraded| Err(degraded.clone()))
        })
        .await
    }

    /// Runs a write on a blocking thread.
    async fn write(
        &mut self,
        write: impl FnOnce(&mut JournalWriter<OneFile>, std::time::Instant) -> Result<(), Degraded>
        + Send
        + 'static,
    ) -> Result<(), String> {
        let mut writer = self.writer.take().ok_or("the writer is gone")?;
        let now = Instant::now().into_std();
        let work = spawn_blocking(move || (write(&mut writer, now), writer));
        let (written, writer) = work.await.map_err(|error| error.to_string())?;
        self.writer = Some(writer);
        written.map_err(|degraded| degraded.detail)
    }

    fn end(&self, stream: StreamId) -> u64 {
        self.writer.as_ref().map_or(0, |writer| writer.end(stream))
    }

    fn deadline(&self) -> Option<Instant> {
        let writer = self.writer.as_ref()?;
        writer.deadline().map(Instant::from_std)
    }
}

/// Returns a piece that has arrived now.
fn arrived(piece: Piece) -> Arrived {
    let arrival = Arrival::at(unix_ms());
    Arrived { arrival, piece }
}

/// Returns the stream of the journal that holds the agent's output.
pub(in crate::session) const fn output_stream(kind: Kind) -> StreamId {
    match kind {
        Kind::LocalPty => StreamId::TTY,
        _ => StreamId::STDOUT,
    }
}

/// Returns the offset past the last byte of each output stream.
fn ends(exit: &Exit, output: StreamId) -> [(StreamId, u64); 2] {
    [
        (output, exit.output_end),
        (StreamId::STDERR, exit.errors_end),
    ]
}

/// Returns the exit as a line of the lifecycle stream: `{"exit":{…}}`.
pub(in crate::session) fn exit_line(exit: &Exit, output: StreamId) -> Bytes {
    let notice = ExitNotice {
        status: exit.status,
        oom: false,
        drained: exit.drained,
        ends: ends(exit, output).into(),
    };
    let mut line = serde_json::json!({ "exit": notice }).to_string();
    line.push('\n');
    line.into()
}

/// Returns the end of each output stream by the agent's exit in a lifecycle stream: `{"exit":{"ends":…}}`
/// of a recorded dialogue, or `{"event":"exited","ends":…}` of a session at a runner. `None` without an
/// exit, which is the last record of a whole journal.
#[must_use]
pub fn exit_ends(lifecycle: &[u8]) -> Option<BTreeMap<StreamId, u64>> {
    let lines = lifecycle.rsplit(|byte| *byte == b'\n');
    let mut lines = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let line = lines.find(|line| line["event"] == "exited" || line["exit"].is_object())?;
    let exit = line.get("exit").filter(|exit| exit.is_object());
    let ends = &exit.unwrap_or(&line)["ends"];
    Some(BTreeMap::deserialize(ends).unwrap_or_default())
}

/// Returns the time in milliseconds since the Unix epoch.
pub(in crate::session) fn unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_millis() as u64
}

async fn due(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
