//! The sessions: where they are, what is known of them, how one is made and how one is ended.

mod ending;
mod record;

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bowline_transport::SessionId;
use tokio::sync::RwLock;
use tokio::task::spawn_blocking;

use crate::shim::{
    SessionDir, SessionInfo, SessionSpec, ShimError, ShimProgram, ShimStarted, SpawnFault,
    StateDir, StateDirError, spawn_shim,
};
pub(crate) use ending::{EndError, Ending, kill, watch};
pub(crate) use record::{Record, Standing, State};

/// The sessions of one state folder.
#[derive(Debug)]
pub(crate) struct Directory {
    state: StateDir,
    program: ShimProgram,
    most: usize,
    /// Shared by those who make a session while there is room for sure; held alone by who must
    /// count.
    making: RwLock<()>,
    /// Sessions that are being made.
    under_way: AtomicUsize,
    /// What the sessions of this daemon were made from, to make them again.
    specs: Mutex<HashMap<SessionId, SessionSpec>>,
}

/// Why no session was made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CreateError {
    /// There are as many as there may be.
    #[error("there are {0} sessions, as many as may be")]
    TooMany(usize),
    /// It could not be started.
    #[error(transparent)]
    Shim(#[from] ShimError),
    /// The sessions that there are cannot be counted.
    #[error(transparent)]
    State(#[from] StateDirError),
}

impl CreateError {
    /// Whether there is a session of that name.
    pub(crate) const fn is_taken(&self) -> bool {
        matches!(
            self,
            Self::Shim(ShimError::State(StateDirError::Exists { .. }))
        )
    }

    /// What kind of thing in the request kept the session from being started.
    pub(crate) fn fault(&self) -> Option<SpawnFault> {
        match self {
            Self::Shim(ShimError::Refused { fault, .. }) => Some(*fault),
            Self::Shim(ShimError::Program { source, .. }) if is_want(source) => {
                Some(SpawnFault::Resources)
            }
            _ => None,
        }
    }
}

impl Directory {
    pub(super) fn new(state: StateDir, program: ShimProgram, most: usize) -> Self {
        Self {
            state,
            program,
            most,
            making: RwLock::default(),
            under_way: AtomicUsize::new(0),
            specs: Mutex::default(),
        }
    }

    /// A session's folder, if there is one.
    pub(crate) fn find(&self, id: SessionId) -> Option<SessionDir> {
        let session = self.state.session(id);
        session.path().is_dir().then_some(session)
    }

    /// What is known of a session.
    pub(crate) async fn record(&self, id: SessionId) -> Option<Record> {
        let session = self.find(id)?;
        let info = session.info().ok()??;
        Some(Record::look(session, info).await)
    }

    /// Everything that is known of all sessions, the oldest first.
    pub(crate) async fn records(&self) -> Result<Vec<Record>, StateDirError> {
        let state = self.state.clone();
        let found = spawn_blocking(move || known(&state));
        let found = found.await.unwrap_or_else(|_| Ok(Vec::new()))?;
        let mut records = Vec::with_capacity(found.len());
        for (session, info) in found {
            records.push(Record::look(session, info).await);
        }
        records.sort_by_key(|record| (record.info.started_ms, record.info.id));
        Ok(records)
    }

    /// Starts a session.
    pub(crate) async fn create(&self, spec: SessionSpec) -> Result<ShimStarted, CreateError> {
        let started = match self.create_with_room(&spec).await? {
            Some(started) => started,
            None => self.create_alone(&spec).await?,
        };
        self.specs().insert(started.id, spec);
        Ok(started)
    }

    /// Starts a session beside others, where there are clearly fewer than there may be: folders are
    /// counted, those of sessions that have ended too, and sessions that are being made.
    async fn create_with_room(
        &self,
        spec: &SessionSpec,
    ) -> Result<Option<ShimStarted>, CreateError> {
        let _beside = self.making.read().await;
        let under_way = UnderWay::new(&self.under_way);
        if self.state.sessions()?.len() + under_way.count() > self.most {
            return Ok(None);
        }
        Ok(Some(self.spawn(spec).await?))
    }

    /// Starts a session while no other one is made, so that no two take the last place.
    async fn create_alone(&self, spec: &SessionSpec) -> Result<ShimStarted, CreateError> {
        let _alone = self.making.write().await;
        let records = self.records().await?;
        let live = records.iter().filter(|it| it.standing != Standing::Gone);
        if live.count() >= self.most {
            return Err(CreateError::TooMany(self.most));
        }
        self.spawn(spec).await
    }

    async fn spawn(&self, spec: &SessionSpec) -> Result<ShimStarted, CreateError> {
        Ok(spawn_shim(&self.program, &self.state, spec.clone()).await?)
    }

    /// What a session was made from, if this daemon made it.
    pub(crate) fn spec(&self, id: SessionId) -> Option<SessionSpec> {
        self.specs().get(&id).cloned()
    }

    /// Removes everything of a session whose shim is gone.
    pub(crate) fn remove(&self, id: SessionId) -> io::Result<()> {
        self.specs().remove(&id);
        self.state.session(id).remove()
    }

    fn specs(&self) -> MutexGuard<'_, HashMap<SessionId, SessionSpec>> {
        self.specs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether there are no processes, descriptors or memory left: fork(2), socketpair(2).
fn is_want(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let wants = [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE];
    let error = error.raw_os_error();
    wants.iter().any(|want| error == Some(want.raw_os_error()))
}

/// A folder that cannot be read is one that is just made or just removed.
fn known(state: &StateDir) -> Result<Vec<(SessionDir, SessionInfo)>, StateDirError> {
    let sessions = state.sessions()?.into_iter().map(|id| state.session(id));
    let known = sessions.filter_map(|session| {
        let info = session.info().ok()??;
        Some((session, info))
    });
    Ok(known.collect())
}

/// A session that is being made.
struct UnderWay<'a>(&'a AtomicUsize);

impl<'a> UnderWay<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
