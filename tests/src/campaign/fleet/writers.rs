//! Sessions as journals that are written and copied meanwhile, without processes.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use bowline_fleet::{LocalJournal, LogMessage, LogStore as _, Replica, StoredMessage, log_subject};
use bowline_fleet::{Positions, ReplicaState, replicate};
use bowline_transport::SessionId;
use bowline_transport::journal::{
    Arrival, Folder, JournalLimits, JournalTail, JournalWriter, Record,
};
use bowline_transport::wire::{Epoch, StreamId};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::campaign::Random;
use crate::campaign::support::within;
use crate::fleet::RecordedBus;

const OUT: StreamId = StreamId::STDOUT;

/// The incarnation of each session.
const EPOCH: Epoch = Epoch(1);

/// Interval between two records, of at most so many bytes.
const WRITE_EVERY: Duration = Duration::from_millis(20);
const RECORD_BYTES: u64 = 4_000;

/// Pause before a replica is read again that could not be read.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// Journals that are appended to until their writers are stopped.
pub(super) struct Writers {
    sessions: Vec<WrittenSession>,
    stop: watch::Sender<bool>,
    bus: RecordedBus,
}

struct WrittenSession {
    journal: LocalJournal,
    written: watch::Receiver<u64>,
    copied: watch::Receiver<ReplicaState>,
    has_ended: watch::Sender<bool>,
    writing: JoinHandle<Result<(), String>>,
    copying: JoinHandle<std::io::Result<()>>,
}

impl Writers {
    /// Starts to write journals, and to copy them.
    pub(super) fn start(
        bus: &RecordedBus,
        folder: &Path,
        count: u64,
        random: &mut Random,
    ) -> Result<Self, String> {
        let stop = watch::Sender::new(false);
        let sessions = (0..count).map(|n| {
            let path = folder.join(format!("journal{n}"));
            WrittenSession::start(bus.clone(), path, random.draw(), stop.subscribe())
        });
        Ok(Self {
            sessions: sessions.collect::<Result<_, _>>()?,
            stop,
            bus: bus.clone(),
        })
    }

    /// Waits until what is written now is copied.
    pub(super) async fn copied(&mut self) -> Result<(), String> {
        for session in &mut self.sessions {
            let end = *session.written.borrow();
            let copied = session.copied.wait_for(|it| it.copied.at(OUT) > end);
            let copied = within("a copy of what was written", copied).await?;
            copied.map_err(|_| "the replication has ended".to_owned())?;
        }
        Ok(())
    }

    /// Ends the sessions, and compares what the servers have with their journals and with what was acknowledged.
    /// Returns the number of acknowledged messages.
    pub(super) async fn finish(self) -> Result<usize, String> {
        self.stop.send_replace(true);
        let mut sum = 0;
        for session in self.sessions {
            sum += session.finish(&self.bus).await?;
        }
        Ok(sum)
    }
}

impl WrittenSession {
    fn start(
        bus: RecordedBus,
        path: std::path::PathBuf,
        seed: u64,
        stop: watch::Receiver<bool>,
    ) -> Result<Self, String> {
        let folder = Folder::make(&path).map_err(|error| error.to_string())?;
        let limits = JournalLimits::default();
        let writer = JournalWriter::create(folder, limits, EPOCH, seed);
        let writer = writer.map_err(|error| error.to_string())?;
        let journal = LocalJournal {
            session: SessionId::random(),
            path,
        };
        let (end, written) = watch::channel(0);
        let (state, copied) = watch::channel(ReplicaState::default());
        let (has_ended, ended) = watch::channel(false);
        let copying = {
            let journal = journal.clone();
            tokio::spawn(async move { replicate(&bus, journal, &state, ended).await })
        };
        Ok(Self {
            journal,
            written,
            copied,
            has_ended,
            writing: tokio::spawn(write(writer, seed, end, stop)),
            copying,
        })
    }

    async fn finish(self, bus: &RecordedBus) -> Result<usize, String> {
        let written = within("the last record", self.writing).await?;
        written.map_err(|error| error.to_string())??;
        self.has_ended.send_replace(true);
        let copied = within("the end of a replication", self.copying).await?;
        let copied = copied.map_err(|error| error.to_string())?;
        copied.map_err(|error| error.to_string())?;
        let subject = log_subject(self.journal.session, EPOCH);
        let stored = stored(bus, &subject).await?;
        let (acknowledged, lost) = bus.with(|it| it.lost(&subject, &stored));
        if lost > 0 {
            return Err(format!("{lost} of {acknowledged} acknowledged are lost"));
        }
        compare(&stored, &self.journal.path)?;
        Ok(acknowledged)
    }
}

/// Appends records of random lengths until `stop` is set.
async fn write(
    mut writer: JournalWriter<Folder>,
    seed: u64,
    end: watch::Sender<u64>,
    mut stop: watch::Receiver<bool>,
) -> Result<(), String> {
    let mut random = Random::new(seed);
    while !*stop.borrow() {
        let count = 1 + random.below(RECORD_BYTES) as usize;
        let at = writer.end(OUT);
        let bytes = random.bytes(count).into();
        let appended = writer.append(OUT, at, bytes, Arrival::at(at + 1), Instant::now());
        appended.map_err(|error| error.to_string())?;
        end.send_replace(writer.end(OUT));
        tokio::select! {
            () = sleep(WRITE_EVERY) => {}
            _ = stop.changed() => {}
        }
    }
    Ok(())
}

/// Reads all messages of a subject, as often as the servers fail.
pub(super) async fn stored(bus: &RecordedBus, subject: &str) -> Result<Vec<StoredMessage>, String> {
    let reading = async {
        loop {
            if let Ok(stored) = read_once(bus, subject).await {
                return stored;
            }
            sleep(RETRY_AFTER).await;
        }
    };
    within("the messages of a session", reading).await
}

async fn read_once(
    bus: &RecordedBus,
    subject: &str,
) -> Result<Vec<StoredMessage>, bowline_fleet::BusError> {
    let mut messages = bus.read(subject, 0).await?;
    let mut stored = Vec::new();
    while let Some(message) = messages.recv().await {
        stored.push(message?);
    }
    Ok(stored)
}

/// Compares a replica with the journal that it is of, byte for byte. Each message continues the one before it:
/// nothing is repeated or out of order.
pub(super) fn compare(stored: &[StoredMessage], journal: &Path) -> Result<(), String> {
    let mut replica = Replica::default();
    let mut end = Positions::default();
    for message in stored {
        let decoded = LogMessage::decode(&message.body).map_err(|error| error.to_string())?;
        if decoded.begin != end {
            let (sequence, begin) = (message.sequence, &decoded.begin);
            return Err(format!("message {sequence} is of {begin} after {end}"));
        }
        end = decoded.end();
        replica.take(message.sequence, &message.body);
    }
    replica.finish();
    let mut tail = JournalTail::new(Folder::at(journal), BTreeMap::new());
    let mut written = Vec::<Record>::new();
    while let Some(record) = tail.next_record().map_err(|error| error.to_string())? {
        written.push(record);
    }
    let copied = replica.take_records();
    match copied == written {
        true => Ok(()),
        false => Err(format!(
            "the replica has {} records up to {end}, the journal {} up to {}",
            copied.len(),
            written.len(),
            Positions::from(tail.ends().clone())
        )),
    }
}
