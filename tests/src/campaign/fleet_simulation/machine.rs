//! A machine with a runner and its sessions.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use bowline_fleet::{
    ConversationKey, FakeBus, FleetSession, LinkOpening, LocalFiles, LocalRunner, LocalSession,
    Member, MemberConfiguration, Reach, RunnerId, claim,
};
use bowline_transport::SessionId;
use bowline_transport::journal::{
    Arrival, Folder, JournalLimits, JournalTail, JournalWriter, Record,
};
use bowline_transport::wire::{Epoch, StreamId};
use parking_lot::Mutex;
use tokio::io::DuplexStream;
use tokio::sync::watch;

use crate::campaign::Random;

/// A child of a session, with its journal.
pub(super) struct Incarnation {
    pub(super) session: LocalSession,
    writer: JournalWriter<Folder>,
}

/// The sessions of a machine, as its daemon lists them. They outlive it.
#[derive(Clone, Default)]
struct Sessions(Arc<Mutex<Vec<Incarnation>>>);

impl LocalRunner for Sessions {
    async fn sessions(&self) -> Option<Vec<LocalSession>> {
        Some(self.0.lock().iter().map(|it| it.session.clone()).collect())
    }

    async fn files(&self, _: &LocalSession) -> Option<LocalFiles> {
        None
    }

    async fn serve(&self, _: DuplexStream, _: LinkOpening) {}
}

/// A runner, its connection to the broker, and its sessions.
pub(super) struct Machine {
    pub(super) id: RunnerId,
    bus: FakeBus,
    folder: PathBuf,
    sessions: Sessions,
    member: Option<Member>,
    boots: u64,
    is_cut: bool,
}

impl Machine {
    pub(super) fn new(folder: &Path, number: u64, bus: FakeBus) -> Result<Self, String> {
        let id = format!("runner-{number}").parse::<RunnerId>();
        let id = id.map_err(|error| error.to_string())?;
        Ok(Self {
            folder: folder.join(id.as_str()),
            id,
            bus,
            sessions: Sessions::default(),
            member: None,
            boots: 0,
            is_cut: false,
        })
    }

    /// Starts a session with a conversation of its own.
    pub(super) fn start(&mut self, random: &mut Random) -> Result<(), String> {
        let id = session_id(random)?;
        let conversation = ConversationKey::new("claude", id.to_string());
        self.open(id, conversation, None, random)
    }

    fn open(
        &mut self,
        id: SessionId,
        conversation: ConversationKey,
        generation: Option<u64>,
        random: &mut Random,
    ) -> Result<(), String> {
        let failed = |error: std::io::Error| error.to_string();
        std::fs::create_dir_all(&self.folder).map_err(failed)?;
        let epoch = Epoch(u128::from(random.draw()) << 64 | u128::from(random.draw()));
        let journal = self.folder.join(id.to_string());
        let limits = JournalLimits {
            segment_bytes: 4_000,
            ..JournalLimits::default()
        };
        let disk = Folder::make(&journal).map_err(failed)?;
        let writer = JournalWriter::create(disk, limits, epoch, 1).map_err(failed)?;
        let session = LocalSession {
            id,
            epoch,
            has_ended: false,
            journal,
            summary: serde_json::json!({ "id": id, "state": "running" }),
            conversation: Some(conversation),
            generation,
        };
        let mut incarnation = Incarnation { session, writer };
        incarnation.write(random)?;
        self.sessions.0.lock().push(incarnation);
        Ok(())
    }

    /// Joins the fleet, unless its daemon runs.
    pub(super) fn join(&mut self) {
        if self.member.is_some() {
            return;
        }
        self.boots += 1;
        let configuration = MemberConfiguration {
            runner: self.id.clone(),
            name: self.id.to_string(),
            version: "1".to_owned(),
            boot: self.boots.to_string(),
            is_durable: watch::channel(false).1,
            log_days: None,
        };
        self.member = Some(Member::join(
            self.bus.clone(),
            configuration,
            self.sessions.clone(),
        ));
    }

    /// Ends the daemon. Its sessions go on.
    pub(super) fn leave(&mut self) {
        self.member = None;
    }

    pub(super) fn cut(&mut self) {
        self.is_cut = true;
        self.bus.cut();
    }

    pub(super) fn connect(&mut self) {
        self.is_cut = false;
        self.bus.connect();
    }

    /// Connects again, as after a failure of the broker, unless it is cut off.
    pub(super) fn reconnect(&mut self) {
        if !self.is_cut {
            self.connect();
        }
    }

    /// Ends all faults.
    pub(super) fn heal(&mut self) {
        self.bus
            .set_fates(|_| bowline_fleet::Fate::Answered(std::time::Duration::ZERO));
        self.connect();
        self.join();
    }

    /// Lets a session write.
    pub(super) fn write(&mut self, random: &mut Random) -> Result<(), String> {
        let mut sessions = self.sessions.0.lock();
        let running = sessions.iter_mut().filter(|it| !it.session.has_ended);
        let mut running: Vec<_> = running.collect();
        let count = running.len() as u64;
        match count {
            0 => Ok(()),
            _ => running[random.below(count) as usize].write(random),
        }
    }

    /// Ends a session.
    pub(super) fn end(&mut self, random: &mut Random) {
        let mut sessions = self.sessions.0.lock();
        let count = sessions.len() as u64;
        let session = &mut sessions[random.below(count) as usize].session;
        session.has_ended = true;
        session.summary = serde_json::json!({ "id": session.id, "state": "exited" });
    }

    /// Returns whether a session of the directory may be continued here.
    pub(super) fn may_take(&self, session: &FleetSession) -> bool {
        let is_silent = matches!(session.reach, Reach::Silent { .. });
        is_silent && self.conversation(session.id).is_none()
    }

    /// Returns the conversation of a session that is or was here.
    pub(super) fn conversation(&self, id: SessionId) -> Option<ConversationKey> {
        let sessions = self.sessions.0.lock();
        let found = sessions.iter().find(|it| it.session.id == id);
        found.and_then(|it| it.session.conversation.clone())
    }

    /// Continues a session here with the next generation.
    pub(super) async fn take_over(
        &mut self,
        session: &FleetSession,
        conversation: ConversationKey,
        random: &mut Random,
    ) -> Result<(), String> {
        // Without a reply, the session starts without a claim.
        let _ = claim(&self.bus, &conversation, &self.id, session.id, true).await;
        let generation = session.record.generation + 1;
        self.open(session.id, conversation, Some(generation), random)
    }

    /// Calls a function with each session.
    pub(super) fn each(&self, mut with: impl FnMut(&Incarnation)) {
        self.sessions.0.lock().iter().for_each(&mut with);
    }
}

impl Incarnation {
    fn write(&mut self, random: &mut Random) -> Result<(), String> {
        for _ in 0..1 + random.below(6) {
            let stream = match random.below(4) {
                0 => StreamId::STDERR,
                _ => StreamId::STDOUT,
            };
            let at = self.writer.end(stream);
            let count = 1 + random.below(1_500) as usize;
            let bytes = random.bytes(count).into();
            let written =
                self.writer
                    .append(stream, at, bytes, Arrival::at(at + 1), Instant::now());
            written.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Returns the records of the journal.
    pub(super) fn records(&self) -> Result<Vec<Record>, String> {
        let disk = Folder::at(&self.session.journal);
        let mut tail = JournalTail::new(disk, std::collections::BTreeMap::new());
        let mut records = Vec::new();
        while let Some(record) = tail.next_record().map_err(|error| error.to_string())? {
            records.push(record);
        }
        Ok(records)
    }
}

/// Returns a random id, in the form of a UUID of version 4.
fn session_id(random: &mut Random) -> Result<SessionId, String> {
    let (a, b) = (random.draw(), random.draw());
    let text = format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        a >> 32,
        a >> 16 & 0xffff,
        a & 0xfff,
        b >> 48 & 0xfff,
        b & 0xffff_ffff_ffff,
    );
    text.parse().map_err(|_| format!("{text} is no id"))
}
