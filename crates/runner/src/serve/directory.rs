//! The sessions: where they are, what is known of them, how one is made and how one is ended.

mod ending;
mod places;
mod record;

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bowline_transport::SessionId;
use tokio::task::spawn_blocking;
use tracing::warn;

use crate::shim::{
    SessionDir, SessionInfo, SessionSpec, ShimError, ShimProgram, ShimStarted, SpawnFault,
    StateDir, StateDirError, spawn_shim,
};
pub(crate) use ending::{EndError, Ending, kill, watch};
use places::{Place, Places};
pub(crate) use record::{Record, Standing, State};

/// The sessions of one state folder.
#[derive(Debug)]
pub(crate) struct Directory {
    state: StateDir,
    program: ShimProgram,
    places: Places,
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
            Self::State(StateDirError::Exists { .. })
                | Self::Shim(ShimError::State(StateDirError::Exists { .. }))
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
            places: Places::new(most),
            specs: Mutex::default(),
        }
    }

    /// A session's folder, if there is one.
    pub(crate) fn find(&self, id: SessionId) -> Option<SessionDir> {
        let session = self.state.session(id);
        session.path().is_dir().then_some(session)
    }

    /// What is known of a session; `None` if there is none.
    ///
    /// # Errors
    ///
    /// What the system said: there may be one.
    pub(crate) async fn record(&self, id: SessionId) -> io::Result<Option<Record>> {
        let session = self.state.session(id);
        let folder = session.clone();
        let info = spawn_blocking(move || folder.info()).await;
        match info.map_err(io::Error::other)?? {
            Some(info) => Ok(Some(Record::look(session, info).await)),
            None => Ok(None),
        }
    }

    /// The sessions whose folders are as wanted.
    pub(crate) async fn those(
        &self,
        wanted: impl Fn(&SessionDir) -> bool + Send + 'static,
    ) -> Vec<SessionId> {
        let state = self.state.clone();
        let found = spawn_blocking(move || {
            let mut found = state.sessions().unwrap_or_default();
            found.retain(|id| wanted(&state.session(*id)));
            found
        });
        found.await.unwrap_or_default()
    }

    /// Makes sure that sessions can be found.
    pub(crate) async fn check(&self) -> Result<(), StateDirError> {
        let state = self.state.clone();
        let found = spawn_blocking(move || state.sessions().map(|_| ()));
        found.await.unwrap_or(Ok(()))
    }

    /// How many sessions run, and how many there are, those that have ended too.
    pub(crate) async fn count(&self) -> Result<(usize, usize), StateDirError> {
        let (places, state) = (self.places.clone(), self.state.clone());
        let all = spawn_blocking(move || places.count(&state)).await;
        let all = all.unwrap_or(Ok(0))?;
        let mut running = 0;
        for id in self.places.there() {
            running += usize::from(self.standing(id).await == Some(Standing::Running));
        }
        Ok((running, all))
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
        let place = self.place(spec.id).await?;
        let started = spawn_shim(&self.program, &self.state, spec.clone()).await?;
        place.keep();
        let mut specs = self.specs();
        self.places.retain(&mut specs);
        specs.insert(started.id, spec);
        Ok(started)
    }

    /// A place for a session. Where there is none for all that is known, it is looked who has
    /// ended.
    async fn place(&self, id: SessionId) -> Result<Place, CreateError> {
        if let Some(place) = self.take(id).await? {
            return Ok(place);
        }
        for id in self.places.there() {
            self.standing(id).await;
        }
        let place = self.take(id).await?;
        place.ok_or_else(|| CreateError::TooMany(self.places.most()))
    }

    /// Looks for a session; whether it has ended for good is remembered. `None` if nobody can tell.
    async fn standing(&self, id: SessionId) -> Option<Standing> {
        let record = self.record(id).await.ok()?;
        // A folder without a word of its shim is what a start that was killed has left.
        let standing = record.map_or(Standing::Gone, |it| it.standing);
        if standing == Standing::Gone {
            self.places.bury(id);
        }
        Some(standing)
    }

    async fn take(&self, id: SessionId) -> Result<Option<Place>, StateDirError> {
        let (places, state) = (self.places.clone(), self.state.clone());
        let taken = spawn_blocking(move || places.take(id, &state)).await;
        taken.unwrap_or(Ok(None))
    }

    /// What a session was made from, if this daemon made it.
    pub(crate) fn spec(&self, id: SessionId) -> Option<SessionSpec> {
        self.specs().get(&id).cloned()
    }

    /// Nobody is to make a session of the same again.
    pub(crate) fn forget(&self, id: SessionId) {
        self.specs().remove(&id);
    }

    /// Removes everything of a session whose shim is gone.
    pub(crate) async fn remove(&self, id: SessionId) -> io::Result<()> {
        self.forget(id);
        let session = self.state.session(id);
        let removed = spawn_blocking(move || session.remove()).await;
        removed.map_err(io::Error::other)?
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

/// A folder without a word of its shim is one that is just made or just removed, or what a killed
/// start has left.
fn known(state: &StateDir) -> Result<Vec<(SessionDir, SessionInfo)>, StateDirError> {
    let mut known = Vec::new();
    for id in state.sessions()? {
        let session = state.session(id);
        match session.info() {
            Ok(Some(info)) => known.push((session, info)),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                warn!(session = %id, %error, "what is known of a session cannot be read");
            }
            Err(source) => {
                let path = session.path().to_owned();
                return Err(StateDirError::Io { path, source });
            }
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bowline_transport::wire::SessionKind;

    use super::*;

    /// A runner that is full of what sessions left, and whose shims never say that they are ready.
    #[tokio::test]
    async fn a_session_that_does_not_start_keeps_no_other_from_starting() {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let state = StateDir::at(folder.path().join("s")).unwrap();
        let most = 4;
        for _ in 0..most {
            let left = state.session(SessionId::random());
            std::fs::create_dir(left.path()).unwrap();
        }
        let program = ShimProgram {
            path: "sleep".into(),
            args: vec!["1000".into()],
        };
        let directory = Directory::new(state.clone(), program, most);
        let order = || directory.create(SessionSpec::new(SessionKind::Terminal, "sh"));
        let all_begun = async {
            while state.sessions().is_ok_and(|found| found.len() < 2 * most) {
                tokio::task::yield_now().await;
            }
            order().await
        };
        tokio::select! {
            fifth = tokio::time::timeout(Duration::from_secs(60), all_begun) => {
                assert!(matches!(fifth.unwrap(), Err(CreateError::TooMany(4))));
            }
            never = async { tokio::join!(order(), order(), order(), order()) } => panic!("{never:?}"),
        }
    }
}
