//! The sessions of a fleet, as the directory pushes them.

use std::collections::BTreeMap;
use std::time::Duration;

use bowline_process::SessionId;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::{FleetRunners, FleetSession, value};
use crate::bus::{Bucket, Bus, BusError, Entry};
use crate::directory::{LEASE_AGE, RENEW_EVERY, RunnerId, RunnerRecord, SessionRecord};

/// How long changes wait for others that are reported with them.
const COALESCE: Duration = Duration::from_millis(100);

/// Pause before a lease whose renewal was missed is asked for again, and before a lost watch is opened again.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Follows the sessions of a fleet and the leases of its runners.
#[derive(Debug)]
pub struct FleetWatch<B> {
    bus: B,
    connects: watch::Receiver<u64>,
    feeds: [(Bucket, mpsc::Receiver<Entry>); 3],
    directory: Directory,
    /// What was returned last.
    reported: Vec<FleetSession>,
}

/// What is known of the directory.
#[derive(Debug, Default)]
struct Directory {
    runners: FleetRunners,
    sessions: BTreeMap<SessionId, SessionRecord>,
    /// The revision of each key, so that a feed that begins with an older state changes nothing.
    revisions: BTreeMap<(Bucket, String), u64>,
    /// When to ask for a lease that was not renewed until then.
    due: BTreeMap<RunnerId, Instant>,
}

impl<B: Bus> FleetWatch<B> {
    /// Opens a watch, and returns it with the sessions at present.
    ///
    /// # Errors
    ///
    /// The broker fails.
    pub async fn open(bus: B) -> Result<(Self, Vec<FleetSession>), BusError> {
        let connects = bus.connects();
        let (feeds, directory) = follow(&bus).await?;
        let reported = directory.sessions();
        let watch = Self {
            bus,
            connects,
            feeds,
            directory,
            reported: reported.clone(),
        };
        Ok((watch, reported))
    }

    /// Waits until the list differs from the one that was returned last, and returns it. Cancel safe.
    pub async fn changed(&mut self) -> Vec<FleetSession> {
        loop {
            self.apply_pending();
            let sessions = self.directory.sessions();
            if sessions != self.reported {
                self.reported.clone_from(&sessions);
                return sessions;
            }
            self.next_change().await;
            sleep(COALESCE).await;
        }
    }

    /// Waits for a change, applies it, and opens the watch again if it was lost.
    async fn next_change(&mut self) {
        let [runners, seen, sessions] = &mut self.feeds;
        let due = self.directory.due.values().min().copied();
        let far = Instant::now() + LEASE_AGE;
        let received = tokio::select! {
            entry = runners.1.recv() => entry.map(|it| (Bucket::Runners, it)),
            entry = seen.1.recv() => entry.map(|it| (Bucket::Seen, it)),
            entry = sessions.1.recv() => entry.map(|it| (Bucket::Sessions, it)),
            // Servers that lost their disks begin with other revisions.
            _ = self.connects.changed() => None,
            () = sleep_until(due.unwrap_or(far)) => return self.ask_for_leases().await,
        };
        match received {
            Some((bucket, entry)) => self.directory.apply(bucket, &entry),
            None => self.open_again().await,
        }
    }

    fn apply_pending(&mut self) {
        for (bucket, feed) in &mut self.feeds {
            while let Ok(entry) = feed.try_recv() {
                self.directory.apply(*bucket, &entry);
            }
        }
    }

    async fn open_again(&mut self) {
        loop {
            self.connects.mark_unchanged();
            if let Ok((feeds, directory)) = follow(&self.bus).await {
                (self.feeds, self.directory) = (feeds, directory);
                return;
            }
            sleep(ASK_AGAIN).await;
        }
    }

    /// Asks for the leases that were not renewed in time: a key that expires is not a change.
    async fn ask_for_leases(&mut self) {
        let now = Instant::now();
        let due = self.directory.due.iter().filter(|it| *it.1 <= now);
        for runner in due.map(|it| it.0.clone()).collect::<Vec<_>>() {
            match self.bus.get(Bucket::Runners, runner.as_str()).await {
                Ok(entry) if entry.as_ref().is_none_or(|it| it.value.is_none()) => {
                    self.directory.lapse(&runner);
                }
                _ => drop(self.directory.due.insert(runner, now + ASK_AGAIN)),
            }
        }
    }
}

type Feeds = [(Bucket, mpsc::Receiver<Entry>); 3];

/// Opens the feeds, and reads what is there.
async fn follow<B: Bus>(bus: &B) -> Result<(Feeds, Directory), BusError> {
    let feed = async |bucket| Ok::<_, BusError>((bucket, bus.watch(bucket).await?));
    let feeds = [
        feed(Bucket::Runners).await?,
        feed(Bucket::Seen).await?,
        feed(Bucket::Sessions).await?,
    ];
    let mut directory = Directory::default();
    for bucket in [Bucket::Runners, Bucket::Seen, Bucket::Sessions] {
        for entry in bus.entries(bucket).await? {
            directory.apply(bucket, &entry);
        }
    }
    // How old these leases are is unknown: a runner that is alive renews its own soon.
    let soon = Instant::now() + 2 * RENEW_EVERY;
    directory.due.values_mut().for_each(|it| *it = soon);
    Ok((feeds, directory))
}

impl Directory {
    fn sessions(&self) -> Vec<FleetSession> {
        let sessions = self.sessions.iter();
        let placed = sessions.map(|(id, record)| self.runners.place(*id, record.clone()));
        placed.collect()
    }

    fn apply(&mut self, bucket: Bucket, entry: &Entry) {
        let key = (bucket, entry.key.clone());
        let revision = self.revisions.entry(key).or_default();
        if entry.revision < *revision {
            return;
        }
        *revision = entry.revision;
        match bucket {
            Bucket::Sessions => self.apply_session(entry),
            Bucket::Runners => self.apply_lease(entry),
            Bucket::Seen => {
                let seen = value::<RunnerRecord>(entry).map(|it| (it, entry.written_ms));
                let seen = seen.map(|it| (it.0.runner.clone(), it));
                self.runners.seen.extend(seen);
            }
            Bucket::Claims => {}
        }
    }

    fn apply_session(&mut self, entry: &Entry) {
        let Ok(id) = entry.key.parse() else { return };
        match value(entry) {
            Some(record) => drop(self.sessions.insert(id, record)),
            None => drop(self.sessions.remove(&id)),
        }
    }

    fn apply_lease(&mut self, entry: &Entry) {
        match value::<RunnerRecord>(entry) {
            Some(record) => {
                let lapses_at = Instant::now() + LEASE_AGE;
                self.due.insert(record.runner.clone(), lapses_at);
                self.runners.live.insert(record.runner.clone(), record);
            }
            None => {
                if let Ok(runner) = entry.key.parse() {
                    self.lapse(&runner);
                }
            }
        }
    }

    fn lapse(&mut self, runner: &RunnerId) {
        self.due.remove(runner);
        self.runners.live.remove(runner);
    }
}
