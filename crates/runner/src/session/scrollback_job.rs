//! Screens with the lines above them, for clients that begin: read and rebuilt in another thread, one at a
//! time.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bowline_transport::wire::StreamId;
use bytes::{Bytes, BytesMut};
use tokio::sync::mpsc;

use super::journal::SharedDisk;
use super::recorder::Recorder;
use crate::blocking::spawn_or_run;
use crate::screen::SessionScreen;
use crate::scrollback::{
    JournalSource, MemorySource, ScreenLog, ScreenRecord, snapshot_with_scrollback,
};
use crate::session_machine::{ClientId, ScreenSnapshot, SessionMachine};

/// Records a session's screen, and rebuilds the lines above it.
#[derive(Debug)]
pub(super) struct Scrollback {
    log: ScreenLog,
    lines: u32,
    /// The clients of the snapshot that is being made.
    running: Vec<ClientId>,
    /// Clients that came later.
    waiting: Vec<ClientId>,
    sender: mpsc::UnboundedSender<ScreenSnapshot>,
    done: mpsc::UnboundedReceiver<ScreenSnapshot>,
}

impl Scrollback {
    pub(super) fn new(lines: u32, log: ScreenLog) -> Self {
        let (sender, done) = mpsc::unbounded_channel();
        Self {
            log,
            lines,
            running: Vec::new(),
            waiting: Vec::new(),
            sender,
            done,
        }
    }

    /// Records the size of a screen.
    pub(super) fn on_resized<D: SharedDisk>(
        &mut self,
        screen: &SessionScreen,
        machine: &SessionMachine,
        recorder: &mut Recorder<D>,
    ) {
        let record = self
            .log
            .resized(screen.size(), screen.at_offset(), screen.end());
        self.write(record, machine, recorder);
    }

    /// Takes output that a screen was fed, and records the state of the screen if that is due.
    pub(super) fn on_output<D: SharedDisk>(
        &mut self,
        (offset, bytes): (u64, &[u8]),
        screen: &mut SessionScreen,
        machine: &SessionMachine,
        recorder: &mut Recorder<D>,
    ) {
        if self.log.on_output(offset, bytes) {
            let record = self.log.state(screen.snapshot(), screen.end());
            self.write(record, machine, recorder);
        }
    }

    fn write<D: SharedDisk>(
        &mut self,
        record: ScreenRecord,
        machine: &SessionMachine,
        recorder: &mut Recorder<D>,
    ) {
        if !recorder.has_journal() {
            let oldest = machine.memory_start(StreamId::TTY);
            self.log.keep(record, oldest);
        } else if !recorder.record_screen(&record) {
            self.log.retry();
        }
    }

    /// Makes a snapshot for a client, after the one that is being made.
    pub(super) fn request<D: SharedDisk>(
        &mut self,
        client: ClientId,
        screen: &mut SessionScreen,
        machine: &SessionMachine,
        recorder: &Recorder<D>,
    ) {
        self.waiting.push(client);
        self.start_next(screen, machine, recorder);
    }

    /// Waits for a snapshot. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<ScreenSnapshot> {
        self.done.recv().await
    }

    /// Returns the clients of a snapshot that was made.
    pub(super) fn take_clients(&mut self) -> Vec<ClientId> {
        std::mem::take(&mut self.running)
    }

    /// Begins the next snapshot, unless one is being made.
    pub(super) fn start_next<D: SharedDisk>(
        &mut self,
        screen: &mut SessionScreen,
        machine: &SessionMachine,
        recorder: &Recorder<D>,
    ) {
        if !self.running.is_empty() || self.waiting.is_empty() {
            return;
        }
        self.running = std::mem::take(&mut self.waiting);
        // Has the newest rows above the screen.
        let plain = screen.snapshot();
        let Some(present) = screen.bare_snapshot() else {
            let _ = self.sender.send(plain);
            return;
        };
        let (lines, sender) = (u64::from(self.lines), self.sender.clone());
        let disk = recorder.disk();
        let start = machine.memory_start(StreamId::TTY);
        let memory = disk.is_none().then(|| MemorySource {
            records: Some(self.log.kept(start)),
            start,
            output: output_in_memory(machine),
        });
        spawn_or_run(move || {
            let work = || match (disk, memory) {
                (Some(disk), _) => {
                    let mut source = JournalSource::open(disk)?;
                    snapshot_with_scrollback(&present, &mut source, lines)
                }
                (None, Some(mut source)) => snapshot_with_scrollback(&present, &mut source, lines),
                (None, None) => Ok(None),
            };
            // A client must not wait for ever, whatever fails.
            let made = catch_unwind(AssertUnwindSafe(work)).unwrap_or(Ok(None));
            let made = made.unwrap_or_else(|error| {
                tracing::warn!(%error, "cannot read the scrollback of a terminal");
                None
            });
            // Fails if the session ended meanwhile.
            let _ = sender.send(made.unwrap_or(plain));
        });
    }
}

fn output_in_memory(machine: &SessionMachine) -> Bytes {
    let mut output = BytesMut::new();
    let mut at = machine.memory_start(StreamId::TTY);
    while let Ok((bytes, _)) = machine.read_memory(StreamId::TTY, at, usize::MAX) {
        if bytes.is_empty() {
            break;
        }
        at += bytes.len() as u64;
        output.extend(&bytes);
    }
    output.freeze()
}
