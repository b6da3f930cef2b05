//! Publishes the records and the journals of the runner's sessions.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bowline_process::SessionId;
use bowline_wire::Epoch;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::{LocalRunner, LocalSession, MemberConfiguration};
use crate::bus::{Bucket, Bus, BusError, Entry};
use crate::claims::{ClaimOutcome, claim, release};
use crate::directory::{
    ConversationKey, GitState, OwnershipDecision, RunnerId, SessionRecord, decide_ownership,
    file_name,
};
use crate::replicate::{LocalJournal, ReplicaState, replicate};

/// Interval at which the sessions are listed, and for each of them: listing a session connects to its process.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const LOOK_EVERY_EACH: Duration = Duration::from_millis(10);

/// Interval between two looks at a claim that a session has: servers that lost their newest messages may use the revision
/// of a claim again, so that a late request to give up an older one removes it.
const CHECK_CLAIM_EVERY: Duration = Duration::from_secs(30);

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Publishes the sessions; never returns.
pub(super) async fn publish<B: Bus, L: LocalRunner>(
    bus: B,
    configuration: Arc<MemberConfiguration>,
    local: Arc<L>,
    count: Arc<AtomicU64>,
) {
    let mut published: HashMap<SessionId, Published> = HashMap::new();
    let mut replications = JoinSet::new();
    let mut connects = bus.connects();
    loop {
        let begin = Instant::now();
        // The directory may have lost records while the connection was down.
        if connects.has_changed().unwrap_or(false) {
            connects.mark_unchanged();
            for session in published.values_mut() {
                session.stored = None;
                session.claim = None;
                session.files_at = None;
            }
        }
        while replications.try_join_next().is_some() {}
        let sessions = local.sessions().await;
        let number = sessions.as_ref().map_or(published.len(), Vec::len);
        if let Some(sessions) = sessions {
            let running = sessions.iter().filter(|it| !it.has_ended).count();
            count.store(running as u64, Ordering::Relaxed);
            let ids: Vec<_> = sessions.iter().map(|it| it.id).collect();
            published.retain(|id, _| ids.contains(id));
            for session in sessions {
                let is_same = |it: &Published| it.epoch == session.epoch;
                if !published.get(&session.id).is_some_and(is_same) {
                    let days = configuration.log_days;
                    let fresh = Published::begin(&bus, &session, days, &mut replications);
                    published.insert(session.id, fresh);
                }
                if let Some(published) = published.get_mut(&session.id) {
                    published.keep_files(&bus, &*local, &session).await;
                    published.update(&bus, &configuration, session).await;
                }
            }
        }
        let pause = LOOK_EVERY_EACH.saturating_mul(u32::try_from(number).unwrap_or(u32::MAX));
        sleep_until(begin + pause.max(LOOK_EVERY)).await;
    }
}

/// Returns whether a session ended so long ago that the servers have removed its log by their limit. They would only keep it
/// for as long again.
fn has_expired(session: &LocalSession, log_days: Option<u32>, now: SystemTime) -> bool {
    let ended = session.summary.get("ended_ms").and_then(|it| it.as_u64());
    let Some((ended, days)) = ended.filter(|_| session.has_ended).zip(log_days) else {
        return false;
    };
    let ended = UNIX_EPOCH + Duration::from_millis(ended);
    let age = now.duration_since(ended).unwrap_or_default();
    age > DAY.saturating_mul(days)
}

/// What is published of a session. Dropping it stops the replication.
struct Published {
    epoch: Epoch,
    state: watch::Receiver<ReplicaState>,
    has_ended: watch::Sender<bool>,
    replication: AbortHandle,
    /// The record in the directory, and its revision; `None` if unknown.
    stored: Option<(u64, SessionRecord)>,
    generation: u64,
    is_superseded: bool,
    /// The conversation that the session writes, and whether it has its claim.
    claim: Option<(ConversationKey, ClaimOutcome)>,
    /// When that was last seen.
    claim_checked: Instant,
    /// The length of the log when the files of the conversation were copied.
    files_at: Option<u64>,
    git: Option<GitState>,
}

impl Drop for Published {
    fn drop(&mut self) {
        self.replication.abort();
    }
}

impl Published {
    fn begin<B: Bus>(
        bus: &B,
        session: &LocalSession,
        log_days: Option<u32>,
        replications: &mut JoinSet<()>,
    ) -> Self {
        let (sender, state) = watch::channel(ReplicaState::default());
        let (has_ended, ended) = watch::channel(session.has_ended);
        let journal = LocalJournal {
            session: session.id,
            path: session.journal.clone(),
        };
        let bus = bus.clone();
        let has_expired = has_expired(session, log_days, SystemTime::now());
        let replication = replications.spawn(async move {
            if has_expired {
                return sender.closed().await;
            }
            let mut connects = bus.connects();
            loop {
                connects.mark_unchanged();
                // An unreadable journal is reported by the runner's own API; its session has no copy.
                let _ = replicate(&bus, journal.clone(), &sender, ended.clone()).await;
                // The servers may come back without the copy of a session that has ended.
                let again = tokio::select! {
                    again = connects.changed() => again,
                    () = sender.closed() => return,
                };
                if again.is_err() {
                    return sender.closed().await;
                }
            }
        });
        Self {
            epoch: session.epoch,
            state,
            has_ended,
            replication,
            stored: None,
            generation: session.generation.unwrap_or(1),
            is_superseded: false,
            claim: None,
            claim_checked: Instant::now(),
            files_at: None,
            git: None,
        }
    }

    /// Claims the conversation of a session that runs, and gives up the claim of one that has ended. A claim that
    /// another session has is requested again with the next listing. The session never waits for it.
    async fn keep_claim<B: Bus>(&mut self, bus: &B, runner: &RunnerId, session: &LocalSession) {
        let is_writer = !session.has_ended && !self.is_superseded;
        let wanted = session.conversation.as_ref().filter(|_| is_writer);
        if let Some((old, _)) = self.claim.take_if(|it| Some(&it.0) != wanted) {
            // A claim that stays is free once the session's record says that it has ended.
            let _ = release(bus, &old, runner, session.id).await;
        }
        let Some(wanted) = wanted else { return };
        if let Some((_, ClaimOutcome::Held(_))) = &self.claim
            && self.claim_checked.elapsed() < CHECK_CLAIM_EVERY
        {
            return;
        }
        let asked = claim(bus, wanted, runner, session.id, false).await;
        let is_owner = session.generation.is_some() && self.stored.is_some();
        let outcome = match asked {
            // That of the runner from which the session was taken over: the claim was not to be had then.
            Ok(ClaimOutcome::Refused(by)) if is_owner && by.session == session.id => {
                claim(bus, wanted, runner, session.id, true).await
            }
            asked => asked,
        };
        if let Ok(outcome) = outcome {
            self.claim = Some((wanted.clone(), outcome));
            self.claim_checked = Instant::now();
        }
    }

    /// Copies the files of the conversation at the end of each turn: once the session is idle or has ended, if its log
    /// has grown since. A failed copy is repeated with the next listing.
    async fn keep_files<B: Bus, L: LocalRunner>(
        &mut self,
        bus: &B,
        local: &L,
        session: &LocalSession,
    ) {
        let phase = session.summary.get("phase");
        let is_between_turns = phase.is_some_and(|it| it == "idle" || it == "ended");
        let length = self.state.borrow().ends.total();
        let is_old = self.files_at != Some(length);
        if self.is_superseded
            || session.conversation.is_none()
            || !(is_between_turns && is_old && length > 0)
        {
            return;
        }
        let Some(files) = local.files(session).await else {
            self.files_at = Some(length);
            return;
        };
        let name = file_name(session.id, session.epoch);
        if bus.put_file(&name, files.archive).await.is_ok() {
            self.files_at = Some(length);
            self.git = files.git;
        }
    }

    /// Writes the record if it has changed. A failed write is repeated with the next listing.
    async fn update<B: Bus>(
        &mut self,
        bus: &B,
        configuration: &MemberConfiguration,
        session: LocalSession,
    ) {
        self.has_ended
            .send_if_modified(|it| std::mem::replace(it, session.has_ended) != session.has_ended);
        self.keep_claim(bus, &configuration.runner, &session).await;
        if self.is_superseded {
            return;
        }
        let key = session.id.to_string();
        if self.stored.is_none() {
            let Ok(found) = bus.get(Bucket::Sessions, &key).await else {
                return;
            };
            let own = self.record(configuration, session, None);
            return self.decide(bus, &key, found, own).await;
        }
        let own = self.record(configuration, session, self.stored.as_ref().map(|it| &it.1));
        if self.stored.as_ref().is_some_and(|it| it.1 == own) {
            return;
        }
        let revision = self.stored.as_ref().map_or(0, |it| it.0);
        self.put(bus, &key, revision, own).await;
    }

    /// Returns the record of the session; `stored` is the one that it continues.
    fn record(
        &self,
        configuration: &MemberConfiguration,
        session: LocalSession,
        stored: Option<&SessionRecord>,
    ) -> SessionRecord {
        let state = self.state.borrow();
        SessionRecord {
            runner: configuration.runner.clone(),
            generation: self.generation,
            epoch: session.epoch,
            summary: session.summary,
            ends: state.ends.clone(),
            copied: state.copied.clone(),
            is_durable: *configuration.is_durable.borrow(),
            index: state.index.clone(),
            earlier: stored.map(|it| it.earlier.clone()).unwrap_or_default(),
            claimed_by: match &self.claim {
                Some((_, ClaimOutcome::Refused(by))) => Some(by.clone()),
                _ => None,
            },
            git: self
                .git
                .clone()
                .or_else(|| stored.and_then(|it| it.git.clone())),
        }
    }

    async fn decide<B: Bus>(
        &mut self,
        bus: &B,
        key: &str,
        found: Option<Entry>,
        own: SessionRecord,
    ) {
        let revision = found.as_ref().map_or(0, |it| it.revision);
        let stored = found.and_then(|it| it.value);
        let stored = stored.and_then(|it| serde_json::from_slice::<SessionRecord>(&it).ok());
        match decide_ownership(stored.as_ref(), own) {
            OwnershipDecision::Put(mut record) => {
                // After a restart, the earlier index is continued.
                if let Some(stored) = stored.filter(|it| it.epoch == record.epoch)
                    && record.index.is_empty()
                {
                    record.index = stored.index;
                }
                self.generation = record.generation;
                self.put(bus, key, revision, *record).await;
            }
            OwnershipDecision::Superseded { .. } => self.is_superseded = true,
        }
    }

    async fn put<B: Bus>(&mut self, bus: &B, key: &str, revision: u64, record: SessionRecord) {
        let Ok(value) = serde_json::to_vec(&record) else {
            return;
        };
        match bus.cas(Bucket::Sessions, key, revision, value.into()).await {
            Ok(revision) => self.stored = Some((revision, record)),
            // It is read and decided again with the next listing.
            Err(BusError::WrongLast) => self.stored = None,
            Err(_) => {}
        }
    }
}
