//! A host's view of the fleet: the sessions, whether each can be reached, and their copies.

mod watch;

use std::collections::BTreeMap;
use std::time::Duration;

use bowline_process::SessionId;
use bowline_wire::StreamId;
use tokio::time::{Instant, sleep};

use crate::bus::{Bucket, Bus, BusError, Entry};
use crate::directory::{Reach, RunnerId, RunnerRecord, SessionRecord, log_subject, reach};
use crate::log::{LogMessage, Positions, Replica};

pub use watch::FleetWatch;

/// Time in which a server that was started again has the newest messages.
const CATCH_UP: Duration = Duration::from_secs(2);

/// Interval between two readings for messages that a server lacks.
const READ_AGAIN: Duration = Duration::from_millis(100);

/// A session of the fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetSession {
    /// Its id.
    pub id: SessionId,
    /// Its record.
    pub record: SessionRecord,
    /// Display name of its runner.
    pub runner_name: String,
    /// Whether it can be reached.
    pub reach: Reach,
}

impl FleetSession {
    /// Returns what the REST API of the session's runner lists of it, with a member `fleet`: its runner, whether
    /// that can be reached, and how much is copied.
    #[must_use]
    pub fn summary(&self) -> serde_json::Value {
        let (state, since) = match &self.reach {
            Reach::Live { .. } => ("live", None),
            Reach::Silent { since_ms } => ("silent", *since_ms),
        };
        let mut summary = self.record.summary.clone();
        if let Some(summary) = summary.as_object_mut() {
            let fleet = serde_json::json!({
                "runner": self.record.runner,
                "name": self.runner_name,
                "state": state,
                "silent_since_ms": since,
                "generation": self.record.generation,
                "copied": self.record.copied.total(),
                "behind": self.record.ends.past(&self.record.copied),
                "is_durable": self.record.is_durable,
                "claimed_by": self.record.claimed_by,
                "git": self.record.git,
            });
            summary.insert("fleet".to_owned(), fleet);
        }
        summary
    }
}

/// Reads a value of the directory. One that a later version wrote differently is skipped.
fn value<T: serde::de::DeserializeOwned>(entry: &Entry) -> Option<T> {
    serde_json::from_slice(entry.value.as_deref()?).ok()
}

/// The runners of a fleet.
#[derive(Clone, Debug, Default)]
pub struct FleetRunners {
    live: BTreeMap<RunnerId, RunnerRecord>,
    seen: BTreeMap<RunnerId, (RunnerRecord, u64)>,
}

impl FleetRunners {
    /// Reads the runners.
    ///
    /// # Errors
    ///
    /// The broker fails.
    pub async fn read<B: Bus>(bus: &B) -> Result<Self, BusError> {
        let (live, seen) =
            tokio::try_join!(bus.entries(Bucket::Runners), bus.entries(Bucket::Seen))?;
        let live = live.iter().filter_map(value::<RunnerRecord>);
        let seen = seen
            .iter()
            .filter_map(|it| Some((value::<RunnerRecord>(it)?, it.written_ms)));
        Ok(Self {
            live: live.map(|it| (it.runner.clone(), it)).collect(),
            seen: seen.map(|it| (it.0.runner.clone(), it)).collect(),
        })
    }

    /// Reads one runner.
    async fn of<B: Bus>(bus: &B, runner: &RunnerId) -> Result<Self, BusError> {
        let key = runner.as_str();
        let (live, seen) =
            tokio::try_join!(bus.get(Bucket::Runners, key), bus.get(Bucket::Seen, key))?;
        let seen = seen.and_then(|it| Some((value::<RunnerRecord>(&it)?, it.written_ms)));
        let live = live.as_ref().and_then(value::<RunnerRecord>);
        Ok(Self {
            live: live.map(|it| (runner.clone(), it)).into_iter().collect(),
            seen: seen.map(|it| (runner.clone(), it)).into_iter().collect(),
        })
    }

    /// Returns the runners that renew their leases.
    pub fn live(&self) -> impl Iterator<Item = &RunnerRecord> {
        self.live.values()
    }

    /// Returns a session with what is derived of its runner.
    fn place(&self, id: SessionId, record: SessionRecord) -> FleetSession {
        let lease = self.live.get(&record.runner);
        let seen = self.seen.get(&record.runner);
        let name = lease
            .or_else(|| seen.map(|it| &it.0))
            .map(|it| it.name.clone());
        FleetSession {
            id,
            runner_name: name.unwrap_or_else(|| record.runner.to_string()),
            reach: reach(&record, lease, seen.map(|it| it.1)),
            record,
        }
    }
}

/// Returns all sessions of the fleet, by their id.
///
/// # Errors
///
/// The broker fails.
pub async fn fleet_sessions<B: Bus>(bus: &B) -> Result<Vec<FleetSession>, BusError> {
    let (runners, entries) =
        tokio::try_join!(FleetRunners::read(bus), bus.entries(Bucket::Sessions))?;
    let sessions = entries.iter().filter_map(|entry| {
        let id = entry.key.parse().ok()?;
        Some(runners.place(id, value(entry)?))
    });
    let mut sessions: Vec<_> = sessions.collect();
    sessions.sort_by_key(|it| it.id);
    Ok(sessions)
}

/// Returns one session of the fleet; `None` if there is none of this id.
///
/// # Errors
///
/// The broker fails.
pub async fn fleet_session<B: Bus>(
    bus: &B,
    id: SessionId,
) -> Result<Option<FleetSession>, BusError> {
    let entry = bus.get(Bucket::Sessions, &id.to_string()).await?;
    let Some(record) = entry.as_ref().and_then(value::<SessionRecord>) else {
        return Ok(None);
    };
    let runners = FleetRunners::of(bus, &record.runner).await?;
    Ok(Some(runners.place(id, record)))
}

/// Reads the copy of a session's current epoch.
///
/// # Errors
///
/// The broker fails.
pub async fn read_replica<B: Bus>(bus: &B, session: &FleetSession) -> Result<Replica, BusError> {
    let mut replica = Replica::default();
    read_into(bus, session, &mut replica, 0).await?;
    Ok(replica)
}

/// Reads the copy of a session's current epoch from an offset of one stream on, by the index of its record: what the other
/// streams have before that is missing.
///
/// # Errors
///
/// The broker fails.
pub async fn read_replica_from<B: Bus>(
    bus: &B,
    session: &FleetSession,
    stream: StreamId,
    from: u64,
) -> Result<Replica, BusError> {
    let sequence = session.record.index.sequence_for(from);
    if sequence == 0 {
        return read_replica(bus, session).await;
    }
    let mut replica = Replica::starting_at(BTreeMap::from([(stream, from)]).into());
    let begin = read_into(bus, session, &mut replica, sequence).await?;
    // The stream was filled again since the record was written.
    match begin.is_some_and(|it| it.at(stream) <= from) {
        true => Ok(replica),
        false => read_replica(bus, session).await,
    }
}

/// Reads a copy from a sequence on, until it has what its record says is copied: a server that was just started again
/// lacks the newest messages for moments. What does not come within [`CATCH_UP`] is lost. Returns the positions before
/// the first message.
async fn read_into<B: Bus>(
    bus: &B,
    session: &FleetSession,
    replica: &mut Replica,
    mut sequence: u64,
) -> Result<Option<Positions>, BusError> {
    let subject = log_subject(session.id, session.record.epoch);
    let deadline = Instant::now() + CATCH_UP;
    let mut begin = None;
    loop {
        let mut messages = bus.read(&subject, sequence).await?;
        while let Some(message) = messages.recv().await {
            let message = message?;
            let read = LogMessage::decode(&message.body);
            begin = begin.or_else(|| read.ok().map(|it| it.begin));
            replica.take(message.sequence, &message.body);
            sequence = message.sequence + 1;
        }
        if replica.newest().covers(&session.record.copied) || Instant::now() >= deadline {
            replica.finish();
            return Ok(begin);
        }
        sleep(READ_AGAIN).await;
    }
}
