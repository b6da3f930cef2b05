//! Recording all streams of a session as a journal: output, standard error, input, and the exit.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use bowline_transport::journal::{Arrival, Degraded, JournalLimits, JournalWriter, OneFile};
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
    /// The exit, once it is noted.
    exit: Option<Exit>,
}

/// The next input of the recording.
enum Next {
    Piece(StreamId, Piece),
    Note(Note),
    /// A stream has ended.
    Ended,
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
                piece = output.next(), if has_output => {
                    has_output = piece.is_some();
                    piece.map_or(Next::Ended, |piece| Next::Piece(stream, piece))
                }
                piece = errors.next(), if has_errors => {
                    has_errors = piece.is_some();
                    piece.map_or(Next::Ended, |piece| Next::Piece(StreamId::STDERR, piece))
                }
                note = notes.recv(), if has_notes => {
                    has_notes = !matches!(note, None | Some(Note::Exit(_)));
                    note.map_or(Next::Ended, Next::Note)
                }
                () = due(self.deadline()) => Next::Due,
            };
            self.record(next, stream).await?;
            let recorded = self.end(stream);
            end.send_if_modified(|end| std::mem::replace(end, recorded) != recorded);
        }
        Ok(())
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

    async fn record(&mut self, next: Next, output: StreamId) -> Result<(), String> {
        match next {
            Next::Ended => Ok(()),
            Next::Piece(stream, Piece::Bytes { offset, bytes }) => {
                self.append(stream, offset, bytes).await
            }
            Next::Piece(stream, Piece::Gap { from, to }) => {
                let missing = || format!("bytes {from} to {to} of {stream} are missing");
                self.missing.get_or_insert_with(missing);
                let arrival = Arrival::at(unix_ms());
                self.write(move |writer, now| {
                    writer.append_gap(stream, to, "not read in time", arrival, now)
                })
                .await
            }
            Next::Note(Note::Input(bytes)) => {
                let offset = self.end(StreamId::INPUT);
                self.append(StreamId::INPUT, offset, bytes).await
            }
            Next::Note(Note::Exit(exit)) => {
                let exit = *self.exit.insert(exit);
                let offset = self.end(StreamId::LIFECYCLE);
                self.append(StreamId::LIFECYCLE, offset, exit_line(&exit, output))
                    .await
            }
            Next::Due => {
                self.write(|writer, now| {
                    writer.poll(now);
                    writer
                        .degraded()
                        .map_or(Ok(()), |degraded| Err(degraded.clone()))
                })
                .await
            }
        }
    }

    async fn append(&mut self, stream: StreamId, offset: u64, bytes: Bytes) -> Result<(), String> {
        let arrival = Arrival::at(unix_ms());
        self.write(move |writer, now| writer.append(stream, offset, bytes, arrival, now))
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
fn exit_line(exit: &Exit, output: StreamId) -> Bytes {
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
fn unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_millis() as u64
}

async fn due(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
