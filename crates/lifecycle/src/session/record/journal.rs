//! A recording of every stream: what the agent said, what it was sent, and how it ended.

use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use bowline_transport::journal::{Degraded, JournalLimits, JournalWriter, OneFile};
use bowline_transport::wire::{Epoch, ExitNotice, StreamId};
use bowline_transport::{Exit, Kind, LogReader, Piece};
use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

use super::{Note, Written};

/// A journal that is written.
#[derive(Debug)]
pub(in crate::session) struct Journal {
    /// Away while a thread writes.
    writer: Option<Box<JournalWriter<OneFile>>>,
    /// The first thing that is missing.
    missing: Option<String>,
}

/// What is to be written next.
enum Next {
    Piece(StreamId, Piece),
    Note(Note),
    /// One of the streams has ended.
    Ended,
    /// The writer has something to do.
    Due,
}

impl Journal {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let started_ms = now.unwrap_or_default().as_millis() as u64;
        let (disk, limits) = (OneFile::at(path), JournalLimits::one_segment());
        let writer = JournalWriter::create(disk, limits, Epoch::random(), started_ms)?;
        Ok(Self {
            writer: Some(Box::new(writer)),
            missing: None,
        })
    }

    /// Copies until the session has told its end; gives why the copy is not whole.
    pub(super) async fn copy(
        mut self,
        kind: Kind,
        [mut output, mut errors]: [LogReader; 2],
        mut notes: mpsc::UnboundedReceiver<Note>,
        told: Written,
    ) -> Option<String> {
        let said = said_on(kind);
        let (mut has_output, mut has_errors, mut has_notes) = (true, true, true);
        while has_output || has_errors || has_notes {
            let next = tokio::select! {
                piece = output.next(), if has_output => {
                    has_output = piece.is_some();
                    piece.map_or(Next::Ended, |piece| Next::Piece(said, piece))
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
            if let Err(error) = self.take(next, said).await {
                return Some(error);
            }
            told.send_if_modified(|end| std::mem::replace(end, self.end(said)) != self.end(said));
        }
        let synced = self.write(|writer, now| writer.sync(now)).await;
        synced.err().or(self.missing)
    }

    async fn take(&mut self, next: Next, said: StreamId) -> Result<(), String> {
        match next {
            Next::Ended => Ok(()),
            Next::Piece(stream, Piece::Bytes { offset, bytes }) => {
                self.append(stream, offset, bytes).await
            }
            Next::Piece(stream, Piece::Gap { from, to }) => {
                let missing = || format!("bytes {from} to {to} of {stream} are missing");
                self.missing.get_or_insert_with(missing);
                self.write(move |writer, now| {
                    writer.append_gap(stream, to, "not read in time", now)
                })
                .await
            }
            Next::Note(Note::Input(bytes)) => {
                let offset = self.end(StreamId::INPUT);
                self.append(StreamId::INPUT, offset, bytes).await
            }
            Next::Note(Note::Exit(exit)) => {
                let offset = self.end(StreamId::LIFECYCLE);
                self.append(StreamId::LIFECYCLE, offset, exit_line(&exit, said))
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
        self.write(move |writer, now| writer.append(stream, offset, bytes, now))
            .await
    }

    /// Writes on a thread that may wait for the disk.
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

/// Where the agent speaks.
pub(in crate::session) const fn said_on(kind: Kind) -> StreamId {
    match kind {
        Kind::LocalPty => StreamId::TTY,
        _ => StreamId::STDOUT,
    }
}

/// The process's end as a line of the lifecycle stream: `{"exit":{…}}`.
fn exit_line(exit: &Exit, said: StreamId) -> Bytes {
    let notice = ExitNotice {
        status: exit.status,
        oom: false,
        drained: exit.drained,
        ends: [(said, exit.output_end), (StreamId::STDERR, exit.errors_end)].into(),
    };
    let mut line = serde_json::json!({ "exit": notice }).to_string();
    line.push('\n');
    line.into()
}

async fn due(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
