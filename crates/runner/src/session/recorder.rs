//! Records a session's streams in its journal, the audit log among them.

use bowline_transport::journal::SyncDone;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::audit_log::AuditEvent;
use super::journal::{JournalState, SessionJournal, SharedDisk};
use crate::blocking::spawn_or_run;
use crate::scrollback::ScreenRecord;
use crate::session_machine::{JournalRead, SessionMachine};
use crate::wire::StreamId;

/// The `kind` of [`Degraded`](crate::wire::Message::Degraded) while the journal cannot be written.
const JOURNAL: &str = "journal";

/// Keeps the journal, if there is one, at the ends of the machine's streams.
#[derive(Debug)]
pub(super) struct Recorder<D: SharedDisk> {
    journal: Option<SessionJournal<D>>,
    streams: Vec<StreamId>,
    sync_sender: mpsc::UnboundedSender<SyncDone>,
    syncs: mpsc::UnboundedReceiver<SyncDone>,
}

impl<D: SharedDisk> Recorder<D> {
    /// Creates a recorder of these streams.
    pub(super) fn new(journal: Option<SessionJournal<D>>, streams: Vec<StreamId>) -> Self {
        let (sync_sender, syncs) = mpsc::unbounded_channel();
        Self {
            journal,
            streams,
            sync_sender,
            syncs,
        }
    }

    /// Returns the session's streams.
    pub(super) fn streams(&self) -> &[StreamId] {
        &self.streams
    }

    /// Appends an event to the audit log.
    pub(super) fn audit(&mut self, machine: &mut SessionMachine, event: &AuditEvent<'_>) {
        machine.on_output(StreamId::LIFECYCLE, event.line());
        self.record(machine, StreamId::LIFECYCLE);
    }

    /// Writes what the journal lacks of a stream.
    pub(super) fn record(&mut self, machine: &mut SessionMachine, id: StreamId) {
        let Some(journal) = &mut self.journal else {
            return;
        };
        journal.follow(machine, id, Instant::now().into_std());
        while let Some(state) = self.journal.as_mut().and_then(SessionJournal::next_state) {
            match state {
                JournalState::Degraded(detail) => report_degraded(machine, JOURNAL, &detail),
                JournalState::Recovered => {
                    machine.recover(JOURNAL);
                    let event = AuditEvent::Recovered { kind: JOURNAL };
                    machine.on_output(StreamId::LIFECYCLE, event.line());
                    self.record_all(machine);
                }
            }
        }
    }

    fn record_all(&mut self, machine: &mut SessionMachine) {
        for id in self.streams.clone() {
            self.record(machine, id);
        }
    }

    /// Returns whether there is a journal.
    pub(super) fn has_journal(&self) -> bool {
        self.journal.is_some()
    }

    /// Returns the journal's disk.
    pub(super) fn disk(&self) -> Option<D> {
        self.journal.as_ref().map(SessionJournal::disk)
    }

    /// Writes a record of the screen. Returns whether it was written.
    pub(super) fn record_screen(&mut self, record: &ScreenRecord) -> bool {
        let (journal, bytes) = (self.journal.as_mut(), record.encode());
        let now = Instant::now().into_std();
        journal
            .zip(bytes)
            .is_some_and(|(journal, bytes)| journal.append_screen(bytes, now))
    }

    /// Reads up to `max` bytes of a stream from `offset`.
    pub(super) fn read(&mut self, stream: StreamId, offset: u64, max: usize) -> JournalRead {
        let journal = self.journal.as_mut();
        journal.map_or(JournalRead::Unreadable, |it| it.read(stream, offset, max))
    }

    /// Starts a sync that is due in another thread, so that the disk does not stall the session.
    pub(super) fn start_sync(&mut self) {
        let due = self.journal.as_mut().and_then(SessionJournal::due_sync);
        if let Some(job) = due {
            let sender = self.sync_sender.clone();
            spawn_or_run(move || {
                // Fails if the session ended meanwhile.
                let _ = sender.send(job.run());
            });
        }
    }

    /// Waits for the end of a sync. Cancel safe.
    pub(super) async fn next_sync(&mut self) -> Option<SyncDone> {
        self.syncs.recv().await
    }

    /// Takes the result of a sync.
    pub(super) fn on_synced(&mut self, machine: &mut SessionMachine, done: SyncDone) {
        if let Some(journal) = &mut self.journal {
            journal.synced(done, Instant::now().into_std());
            self.record_all(machine);
        }
    }

    /// Does what is due now.
    pub(super) fn poll(&mut self, machine: &mut SessionMachine) {
        if let Some(journal) = &mut self.journal {
            journal.poll(Instant::now().into_std());
            self.record_all(machine);
        }
    }

    /// When [`poll`](Self::poll) is due next.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let deadline = self.journal.as_ref().and_then(SessionJournal::deadline);
        deadline.map(Instant::from_std)
    }

    /// Completes the journal at the end of the session, and makes it durable; blocks.
    pub(super) fn close(&mut self, machine: &mut SessionMachine) {
        if let Some(journal) = &mut self.journal {
            journal.close(machine, &self.streams, Instant::now().into_std());
        }
    }
}

/// Reports a degraded feature to all clients. The journal takes the audit line with its next
/// write: it may be what is degraded.
pub(super) fn report_degraded(machine: &mut SessionMachine, kind: &str, detail: &str) {
    tracing::warn!(kind, detail, "session degraded");
    machine.degrade(kind, detail);
    let event = AuditEvent::Degraded { kind, detail };
    machine.on_output(StreamId::LIFECYCLE, event.line());
}
