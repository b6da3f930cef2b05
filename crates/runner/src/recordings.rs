//! Recordings as sessions that have ended: their streams are copied into a journal of the state folder.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::Instant;

use bowline_transport::journal::{Arrived, Folder, JournalLimits, JournalWriter};
use bowline_transport::wire::{Epoch, ExitNotice, SessionKind, StdioKind, StreamId};
use bowline_transport::{Containment, Drained, ExitStatus, Piece, SessionId};

use crate::shim::{SessionDir, SessionInfo, SessionPhase, StateDir};

/// The label of a session that is a recording. Its value is [`HISTORY`] for a past conversation, otherwise the
/// name of the file.
pub(crate) const RECORDING_LABEL: &str = "bowline.recording";

/// The value of the label of a past conversation.
pub(crate) const HISTORY: &str = "history";

/// The label of a recording of which something cannot be read: what, a line each.
pub(crate) const UNREADABLE_LABEL: &str = "bowline.recording-unreadable";

/// Bytes after which the copy is synced: until then, the journal keeps them in memory. The copy is temporary, so
/// that a smaller one is not synced at all.
const SYNC_BYTES: u64 = 256 << 20;

/// Copies a recording into a state folder, as a session that has ended. Blocks.
///
/// Until [`finish`](Self::finish), a runner of the folder does not list it.
#[derive(Debug)]
pub struct RecordingImport {
    session: SessionDir,
    journal: JournalWriter<Folder>,
    unsynced: u64,
    first_ms: Option<u64>,
    last_ms: Option<u64>,
}

/// What a recording is listed with.
#[derive(Clone, Debug, Default)]
pub struct RecordingDetails {
    /// Its name.
    pub name: String,
    /// Whether it is a past conversation, as an agent keeps it.
    pub is_history: bool,
    /// The agent's program, if it is known.
    pub program: Option<String>,
    /// The working directory, if it is known.
    pub cwd: Option<PathBuf>,
    /// More labels, such as the dialect.
    pub labels: BTreeMap<String, String>,
    /// What of it cannot be read, and is no gap: one message each. The transcript has them at its end.
    pub unreadable: Vec<String>,
}

impl RecordingImport {
    /// Creates the folder of the session.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn begin(state: &StateDir) -> io::Result<Self> {
        let session = state.create_unlocked(SessionId::random())?;
        let limits = JournalLimits {
            cap_bytes: u64::MAX,
            sync_bytes: u64::MAX,
            ..JournalLimits::default()
        };
        let folder = Folder::make(session.journal())?;
        let mut journal = JournalWriter::create(folder, limits, Epoch(0), 0)?;
        journal.defer_syncs();
        Ok(Self {
            session,
            journal,
            unsynced: 0,
            first_ms: None,
            last_ms: None,
        })
    }

    /// Appends a piece of a stream. Output and input are appended in the order in which they occurred.
    ///
    /// # Errors
    ///
    /// Those of the file system, such as a full disk.
    pub fn push(&mut self, stream: StreamId, piece: Arrived) -> io::Result<()> {
        let (arrival, now) = (piece.arrival, Instant::now());
        self.first_ms = self.first_ms.or(arrival.at_ms);
        self.last_ms = arrival.at_ms.or(self.last_ms);
        let appended = match piece.piece {
            Piece::Bytes { offset, bytes } => {
                self.unsynced += bytes.len() as u64;
                self.journal.append(stream, offset, bytes, arrival, now)
            }
            Piece::Gap { to, .. } => {
                let reason = "not in the recording";
                self.journal.append_gap(stream, to, reason, arrival, now)
            }
        };
        appended.map_err(io::Error::other)?;
        if self.unsynced >= SYNC_BYTES
            && let Some(sync) = self.journal.due_sync()
        {
            self.journal.synced(sync.run(), now);
            self.unsynced = 0;
        }
        Ok(())
    }

    /// Returns the offset past the last byte of a stream.
    #[must_use]
    pub fn end(&self, stream: StreamId) -> u64 {
        self.journal.end(stream)
    }

    /// Completes the session, and returns its id.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn finish(self, details: RecordingDetails) -> io::Result<SessionId> {
        let mut labels = details.labels;
        let label = match details.is_history {
            true => HISTORY.to_owned(),
            false => details.name.clone(),
        };
        labels.insert(RECORDING_LABEL.to_owned(), label);
        if !details.unreadable.is_empty() {
            labels.insert(UNREADABLE_LABEL.to_owned(), details.unreadable.join("\n"));
        }
        let kept = self.journal.kept();
        let ends = kept.iter().map(|(stream, kept)| (*stream, kept.end));
        let id = self.session.id();
        self.session.write_info(&SessionInfo {
            id,
            name: Some(details.name),
            kind: SessionKind::Dialogue,
            stdio: StdioKind::Pipes,
            program: details.program.unwrap_or_else(|| "recording".to_owned()),
            cwd: details.cwd,
            labels,
            epoch: Epoch(0),
            shim_pid: 0,
            pid: None,
            containment: Containment::Group,
            has_journal: true,
            started_ms: self.first_ms.unwrap_or(0),
            phase: SessionPhase::Closed,
            exit: Some(ExitNotice {
                status: ExitStatus::Unknown,
                oom: false,
                drained: Drained::Clean,
                ends: ends.collect(),
            }),
            ended_ms: self.last_ms,
        })?;
        Ok(id)
    }
}
