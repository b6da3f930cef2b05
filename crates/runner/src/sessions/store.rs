//! The sessions of a state folder.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bowline_transport::{SessionId, SessionUpdate};
use parking_lot::Mutex;
use tokio::sync::broadcast;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tracing::warn;

use super::past::with_past;
use super::record::{SessionFiles, SessionRecord, ShimStatus, is_exhaustion};
use super::slots::{SessionSlots, SlotReservation};
use crate::shim::{
    RestoreError, SessionDir, SessionSpec, ShimError, ShimProgram, ShimStarted, SpawnFault,
    StateDir, StateDirError, UpdateError, spawn_shim,
};

/// The sessions of one state folder.
#[derive(Debug)]
pub(crate) struct SessionStore {
    state: StateDir,
    program: ShimProgram,
    slots: SessionSlots,
    /// Locked while the record of a session is changed.
    updates: Arc<Mutex<()>>,
    /// The specs of the sessions that this daemon created, for restarts.
    specs: Mutex<HashMap<SessionId, StoredSpec>>,
    events: broadcast::Sender<StoreEvent>,
}

/// What happened to a session of the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreEvent {
    Created(SessionId),
    Removed(SessionId),
}

/// How often what was removed too long ago is deleted.
const EMPTY_INTERVAL: Duration = Duration::from_secs(60);

/// Maximum number of events that a subscriber has not read.
const MAX_EVENTS: usize = 1024;

/// The spec of a session that this daemon created.
#[derive(Debug)]
enum StoredSpec {
    Available(Box<SessionSpec>),
    /// The session is being restarted, or was.
    Taken,
}

/// Why a session cannot be restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestartError {
    /// This daemon did not create the session.
    Unknown,
    /// The session is being restarted, or was.
    Taken,
}

/// Number of sessions in a state folder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionCounts {
    pub(crate) running: usize,
    /// All sessions, including those that have ended.
    pub(crate) total: usize,
}

/// Why a session was not created.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CreateError {
    /// The maximum number of sessions runs already.
    #[error("session limit reached ({0})")]
    LimitReached(usize),
    /// The shim could not be started.
    #[error(transparent)]
    Shim(#[from] ShimError),
    /// The sessions in the state folder cannot be counted.
    #[error(transparent)]
    State(#[from] StateDirError),
}

impl CreateError {
    /// Returns whether a session with the same id exists.
    pub(crate) const fn is_duplicate(&self) -> bool {
        matches!(
            self,
            Self::State(StateDirError::Exists { .. })
                | Self::Shim(ShimError::State(StateDirError::Exists { .. }))
        )
    }

    /// Returns which part of the request or the system prevented the start, if known.
    pub(crate) fn fault(&self) -> Option<SpawnFault> {
        match self {
            Self::Shim(ShimError::Refused { fault, .. }) => Some(*fault),
            Self::Shim(ShimError::Program { source, .. }) if is_exhaustion(source) => {
                Some(SpawnFault::Resources)
            }
            _ => None,
        }
    }
}

impl SessionStore {
    /// The sessions of a folder, of which at most `limit` may run at the same time.
    pub(crate) fn new(state: StateDir, program: ShimProgram, limit: usize) -> Self {
        Self {
            state,
            program,
            slots: SessionSlots::new(limit),
            updates: Arc::default(),
            specs: Mutex::default(),
            events: broadcast::channel(MAX_EVENTS).0,
        }
    }

    /// Returns the path of the state folder.
    pub(crate) fn state_path(&self) -> &Path {
        self.state.path()
    }

    /// Returns what happens to the sessions from now on.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<StoreEvent> {
        self.events.subscribe()
    }

    /// Changes the name, the labels or the metadata of a session that exists.
    pub(crate) async fn update(
        &self,
        id: SessionId,
        change: SessionUpdate,
    ) -> Result<(), UpdateError> {
        let (session, updates) = (self.state.session(id), Arc::clone(&self.updates));
        let updated = spawn_blocking(move || {
            let _one = updates.lock();
            session.update(change)
        });
        updated.await.map_err(io::Error::other)?
    }

    /// Returns a session's folder, if it exists.
    pub(crate) fn find(&self, id: SessionId) -> Option<SessionDir> {
        let session = self.state.session(id);
        session.path().is_dir().then_some(session)
    }

    /// Reads a session's record; `None` if there is no such session.
    ///
    /// # Errors
    ///
    /// Fails if the record cannot be read, in which case the session may exist or not.
    pub(crate) async fn record(&self, id: SessionId) -> io::Result<Option<SessionRecord>> {
        let session = self.state.session(id);
        let folder = session.clone();
        let read = spawn_blocking(move || SessionRecord::read(&folder)).await;
        match read.map_err(io::Error::other)?? {
            Some(read) => Ok(Some(SessionRecord::of(session, read).await)),
            None => Ok(None),
        }
    }

    /// Returns the sessions whose folders match a predicate.
    pub(crate) async fn matching(
        &self,
        predicate: impl Fn(&SessionDir) -> bool + Send + 'static,
    ) -> Vec<SessionId> {
        let state = self.state.clone();
        let found = spawn_blocking(move || {
            let mut found = state.sessions().unwrap_or_default();
            found.retain(|id| predicate(&state.session(*id)));
            found
        });
        found.await.unwrap_or_default()
    }

    /// Checks that the state folder can be listed.
    pub(crate) async fn check(&self) -> Result<(), StateDirError> {
        let state = self.state.clone();
        let found = spawn_blocking(move || state.sessions().map(|_| ()));
        found.await.unwrap_or(Ok(()))
    }

    /// Counts the sessions.
    pub(crate) async fn count(&self) -> Result<SessionCounts, StateDirError> {
        let (slots, state) = (self.slots.clone(), self.state.clone());
        let total = spawn_blocking(move || slots.count(&state)).await;
        let total = total.unwrap_or(Ok(0))?;
        let mut running = 0;
        for id in self.slots.not_known_to_have_ended() {
            running += usize::from(self.shim_status(id).await == Some(ShimStatus::Running));
        }
        Ok(SessionCounts { running, total })
    }

    /// Reads the records of all sessions, oldest first.
    pub(crate) async fn records(&self) -> Result<Vec<SessionRecord>, StateDirError> {
        let state = self.state.clone();
        let found = spawn_blocking(move || read_all(&state));
        let found = found.await.unwrap_or_else(|_| Ok(Vec::new()))?;
        let mut records = Vec::with_capacity(found.len());
        for (session, read) in found {
            records.push(SessionRecord::of(session, read).await);
        }
        records.sort_by_key(|record| (record.info.started_ms, record.info.id));
        Ok(records)
    }

    /// Creates a session and starts its shim. A session that resumes a conversation begins with its past.
    pub(crate) async fn create(&self, spec: SessionSpec) -> Result<ShimStarted, CreateError> {
        let slot = self.reserve_slot(spec.id).await?;
        let spec = with_past(spec).await;
        let started = spawn_shim(&self.program, &self.state, spec.clone()).await?;
        slot.occupy();
        let mut specs = self.specs.lock();
        self.slots.retain_existing(&mut specs);
        let spec = SessionSpec {
            history: None,
            ..spec
        };
        specs.insert(started.id, StoredSpec::Available(Box::new(spec)));
        drop(specs);
        // An error means that nothing subscribes.
        let _ = self.events.send(StoreEvent::Created(started.id));
        Ok(started)
    }

    /// Reserves a slot. If none is free, first checks which sessions have ended.
    async fn reserve_slot(&self, id: SessionId) -> Result<SlotReservation, CreateError> {
        if let Some(slot) = self.try_reserve_slot(id).await? {
            return Ok(slot);
        }
        for id in self.slots.not_known_to_have_ended() {
            self.shim_status(id).await;
        }
        let slot = self.try_reserve_slot(id).await?;
        slot.ok_or_else(|| CreateError::LimitReached(self.slots.limit()))
    }

    /// Checks a session's shim and frees the slot if it is gone. `None` if the record cannot be
    /// read.
    async fn shim_status(&self, id: SessionId) -> Option<ShimStatus> {
        let record = self.record(id).await.ok()?;
        // A folder without a record is left over from a start that was killed.
        let status = record.map_or(ShimStatus::Gone, |it| it.shim);
        if status == ShimStatus::Gone {
            self.slots.free(id);
        }
        Some(status)
    }

    async fn try_reserve_slot(
        &self,
        id: SessionId,
    ) -> Result<Option<SlotReservation>, StateDirError> {
        let (slots, state) = (self.slots.clone(), self.state.clone());
        let reserved = spawn_blocking(move || slots.reserve(id, &state)).await;
        reserved.unwrap_or(Ok(None))
    }

    /// Takes the spec of a session for a restart, so that it is restarted once.
    pub(crate) fn take_spec(&self, id: SessionId) -> Result<SessionSpec, RestartError> {
        let mut specs = self.specs.lock();
        let stored = specs.get_mut(&id).ok_or(RestartError::Unknown)?;
        match std::mem::replace(stored, StoredSpec::Taken) {
            StoredSpec::Available(spec) => Ok(*spec),
            StoredSpec::Taken => Err(RestartError::Taken),
        }
    }

    /// Stores the spec of a session whose restart has failed.
    pub(crate) fn return_spec(&self, spec: SessionSpec) {
        let id = spec.id;
        if let Some(stored) = self.specs.lock().get_mut(&id) {
            *stored = StoredSpec::Available(Box::new(spec));
        }
    }

    /// Moves the folder of a session whose shim is gone to the trash, including its log.
    pub(crate) async fn remove(&self, id: SessionId) -> io::Result<()> {
        self.specs.lock().remove(&id);
        let session = self.state.session(id);
        let state = self.state.clone();
        let removed = spawn_blocking(move || state.discard(&session, SystemTime::now())).await;
        removed.map_err(io::Error::other)??;
        let _ = self.events.send(StoreEvent::Removed(id));
        Ok(())
    }

    /// Moves the folder of a removed session back.
    pub(crate) async fn restore(&self, id: SessionId) -> Result<(), RestoreError> {
        let (session, state) = (self.state.session(id), self.state.clone());
        let restored = spawn_blocking(move || state.restore(&session)).await;
        restored.map_err(io::Error::other)??;
        let _ = self.events.send(StoreEvent::Created(id));
        Ok(())
    }

    /// Deletes what is in the trash for too long, now and from time to time. Never returns.
    pub(crate) async fn keep_emptying_trash(&self) {
        loop {
            let state = self.state.clone();
            let emptied = spawn_blocking(move || state.empty_trash(SystemTime::now())).await;
            if let Ok(Err(error)) = emptied {
                warn!(%error, "cannot delete removed sessions; they are deleted later");
            }
            sleep(EMPTY_INTERVAL).await;
        }
    }
}

/// What [`SessionRecord::read`] returned of a session.
type ReadSession = (SessionDir, SessionFiles);

/// Reads the metadata of all sessions. Folders without any are being created or removed, or are left
/// over from a start that was killed; these are removed.
fn read_all(state: &StateDir) -> Result<Vec<ReadSession>, StateDirError> {
    let mut found = Vec::new();
    for id in state.sessions()? {
        let session = state.session(id);
        match SessionRecord::read(&session) {
            Ok(Some(read)) => found.push((session, read)),
            Ok(None) => {
                session.remove_if_abandoned();
            }
            Err(source) => {
                let path = session.path().to_owned();
                return Err(StateDirError::Io { path, source });
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bowline_transport::wire::SessionKind;

    use super::*;

    #[tokio::test]
    async fn hanging_start_does_not_block_limit_check() {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let state = StateDir::at(folder.path().join("s")).unwrap();
        let limit = 4;
        // Ended sessions do not count against the limit.
        for _ in 0..limit {
            let ended = state.session(SessionId::random());
            std::fs::create_dir(ended.path()).unwrap();
        }
        // A shim that never reports that it is ready.
        let program = ShimProgram {
            path: "sleep".into(),
            args: vec!["1000".into()],
        };
        let sessions = SessionStore::new(state.clone(), program, limit);
        let create = || sessions.create(SessionSpec::new(SessionKind::Terminal, "sh"));
        let fifth_after_four = async {
            while state.sessions().is_ok_and(|found| found.len() < 2 * limit) {
                tokio::task::yield_now().await;
            }
            create().await
        };
        tokio::select! {
            fifth = tokio::time::timeout(Duration::from_secs(60), fifth_after_four) => {
                assert!(matches!(fifth.unwrap(), Err(CreateError::LimitReached(4))));
            }
            started = async { tokio::join!(create(), create(), create(), create()) } => {
                panic!("{started:?}")
            }
        }
    }
}
