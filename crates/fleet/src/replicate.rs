//! Publishes the journal of a session to the fleet's stream while it is written.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use bowline_journal::{Folder, JournalReader, JournalTail, Record};
use bowline_process::SessionId;
use bowline_wire::Epoch;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

use crate::bus::{Bus, BusError};
use crate::directory::{LogIndex, log_subject};
use crate::log::{
    FLUSH_AFTER, MESSAGE_BYTES, Positions, PublishReply, PublishRequest, PublishStep, Publisher,
};

/// Interval at which the journal of an idle session is read.
const IDLE_POLL: Duration = Duration::from_secs(1);

/// Number of reads without new records after which a journal is read less often.
const IDLE_AFTER: u32 = 40;

/// A journal on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalJournal {
    /// The session.
    pub session: SessionId,
    /// Its folder.
    pub path: PathBuf,
}

/// How far a session is copied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplicaState {
    /// The incarnation of the child; `None` before the journal was read.
    pub epoch: Option<Epoch>,
    /// The end of each stream in the journal, as far as it was read.
    pub ends: Positions,
    /// What the fleet's stream has.
    pub copied: Positions,
    /// Where in the stream to begin to read at an offset.
    pub index: LogIndex,
    /// Whether the credentials lack the right to publish.
    pub is_denied: bool,
}

/// Publishes a session's journal until the session has ended and all of it is stored, which `has_ended` returns.
/// The session never waits for it. Reads the journal itself rather than the session's process, so that
/// a slow broker delays nothing and what was missed is there later.
///
/// # Errors
///
/// The journal cannot be read, or is of another version.
pub async fn replicate<B: Bus>(
    bus: &B,
    journal: LocalJournal,
    state: &watch::Sender<ReplicaState>,
    mut has_ended: watch::Receiver<bool>,
) -> io::Result<()> {
    let path = journal.path;
    let Some((epoch, started_ms)) = identity(&path, &mut has_ended).await? else {
        return Ok(());
    };
    let mut replication = Replication {
        bus,
        subject: log_subject(journal.session, epoch),
        publisher: Publisher::new(epoch, started_ms),
        source: Source { path, tail: None },
        state,
        last_look: Instant::now(),
        next_look: Instant::now(),
        empty_looks: 0,
    };
    state.send_modify(|it| it.epoch = Some(epoch));
    replication.run(has_ended).await
}

/// Returns the epoch and the creation time of a journal once it has a segment; `None` if the session ended before.
async fn identity(
    path: &std::path::Path,
    has_ended: &mut watch::Receiver<bool>,
) -> io::Result<Option<(Epoch, u64)>> {
    loop {
        let was_ended = *has_ended.borrow();
        let path = path.to_owned();
        let opened = spawn_blocking(move || {
            let reader = JournalReader::open(Folder::at(path))?;
            io::Result::Ok(reader.epoch().zip(reader.started_ms()))
        });
        match opened.await.map_err(io::Error::other)? {
            Ok(Some(identity)) => return Ok(Some(identity)),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ if was_ended => return Ok(None),
            _ => sleep_until(Instant::now() + IDLE_POLL).await,
        }
    }
}

struct Replication<'a, B> {
    bus: &'a B,
    subject: String,
    publisher: Publisher,
    source: Source,
    state: &'a watch::Sender<ReplicaState>,
    /// Time of the previous read: records that are new may have waited since then.
    last_look: Instant,
    /// Time of the next read. Each lists the journal's folder, and an acknowledgement is no reason for one.
    next_look: Instant,
    empty_looks: u32,
}

impl<B: Bus> Replication<'_, B> {
    async fn run(&mut self, has_ended: watch::Receiver<bool>) -> io::Result<()> {
        let mut connects = self.bus.connects();
        connects.mark_unchanged();
        loop {
            if connects.has_changed().unwrap_or(false) {
                connects.mark_unchanged();
                self.publisher.on_connect();
            }
            let was_ended = *has_ended.borrow();
            let may_follow = if was_ended || self.next_look <= Instant::now() {
                self.feed().await?
            } else {
                true
            };
            let now = Instant::now();
            if let Some(request) = self.publisher.poll(now.into_std()) {
                let before = self.publisher.copied().total();
                let attempt = request.attempt;
                let is_question = request.step == PublishStep::Last;
                tokio::select! {
                    reply = perform(self.bus, &self.subject, request) => {
                        self.publisher.on_reply(attempt, reply, Instant::now().into_std());
                        self.report(before);
                        if is_question {
                            // What the stream lacks is read again.
                            self.next_look = now;
                        }
                    }
                    _ = connects.changed() => self.publisher.on_connect(),
                }
                continue;
            }
            if was_ended && !may_follow && self.publisher.is_settled() {
                return Ok(());
            }
            let due = self.publisher.deadline().map(Instant::from_std);
            let wake = due
                .map_or(self.next_look, |due| due.min(self.next_look))
                .max(now + Duration::from_millis(1));
            tokio::select! {
                () = sleep_until(wake) => {}
                _ = connects.changed() => self.publisher.on_connect(),
            }
        }
    }

    /// Pushes what follows in the journal, up to a message. Returns whether there was anything, or what the stream
    /// has is unknown.
    async fn feed(&mut self) -> io::Result<bool> {
        let Some(from) = self.publisher.position().cloned() else {
            self.next_look = Instant::now() + FLUSH_AFTER;
            return Ok(true);
        };
        let source = std::mem::take(&mut self.source);
        let read = spawn_blocking(move || source.read(&from));
        let (source, records) = read.await.map_err(io::Error::other)??;
        self.source = source;
        let now = Instant::now();
        let since = std::mem::replace(&mut self.last_look, now);
        let found = !records.is_empty();
        self.empty_looks = if found {
            0
        } else {
            self.empty_looks.saturating_add(1)
        };
        let bytes: u64 = records.iter().map(Record::size).sum();
        self.next_look = match self.empty_looks {
            // More is there than one message has.
            _ if bytes >= MESSAGE_BYTES as u64 => now,
            ..=IDLE_AFTER => now + FLUSH_AFTER,
            _ => now + IDLE_POLL,
        };
        for record in records {
            self.publisher.push(record, since.into_std());
        }
        self.report_ends();
        Ok(found)
    }

    /// Reports how far the journal was read, of which the stream may have everything already.
    fn report_ends(&self) {
        let ends = self.source.tail.as_ref().map(JournalTail::ends);
        let Some(ends) = ends.map(|it| Positions::from(it.clone())) else {
            return;
        };
        self.state.send_if_modified(|state| {
            let has_changed = state.ends != ends;
            state.ends = ends;
            has_changed
        });
    }

    fn report(&self, before: u64) {
        let publisher = &self.publisher;
        self.state.send_modify(|state| {
            state.is_denied = publisher.is_denied();
            if publisher.copied() != &state.copied && publisher.copied().total() > before {
                state.index.add(before, publisher.sequence());
            }
            state.copied.clone_from(publisher.copied());
        });
    }
}

/// The journal as a source of records.
#[derive(Debug, Default)]
struct Source {
    path: PathBuf,
    tail: Option<JournalTail<Folder>>,
}

impl Source {
    /// Reads the records after a position, up to a message. Blocks on disk reads.
    fn read(mut self, from: &Positions) -> io::Result<(Self, Vec<Record>)> {
        let has_moved = |tail: &JournalTail<Folder>| {
            let ends = Positions::from(tail.ends().clone());
            !(ends.covers(from) && from.covers(&ends))
        };
        if self.tail.as_ref().is_none_or(has_moved) {
            let from: BTreeMap<_, _> = from.clone().into();
            self.tail = Some(JournalTail::new(Folder::at(&self.path), from));
        }
        let mut records = Vec::new();
        let mut bytes = 0;
        let Some(tail) = &mut self.tail else {
            return Ok((self, records));
        };
        while bytes < MESSAGE_BYTES as u64 {
            match tail.next_record() {
                Ok(Some(record)) => {
                    bytes += record.size();
                    records.push(record);
                }
                // The session was removed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                Ok(None) => break,
                Err(error) => return Err(error),
            }
        }
        Ok((self, records))
    }
}

async fn perform<B: Bus>(bus: &B, subject: &str, request: PublishRequest) -> PublishReply {
    let reply = match request.step {
        PublishStep::Last => bus.last(subject).await.map(PublishReply::Last),
        PublishStep::Append {
            expected,
            begin,
            body,
        } => {
            let appended = bus.append(subject, expected, &begin, body).await;
            appended.map(PublishReply::Stored)
        }
    };
    reply.unwrap_or_else(|error| match error {
        BusError::WrongLast => PublishReply::WrongLast,
        BusError::InProcess => PublishReply::InProcess,
        BusError::NoStream(_) => PublishReply::NoStream,
        BusError::Denied(_) => PublishReply::Denied,
        _ => PublishReply::Unanswered,
    })
}

#[cfg(test)]
mod tests;
