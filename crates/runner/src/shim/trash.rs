//! The directories of removed sessions, kept for a time so that a removal can be undone.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{SessionDir, StateDir};

/// How long a removed session can be restored.
pub(crate) const TRASH_RETENTION: Duration = Duration::from_secs(60 * 60);

/// Why a session was not restored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RestoreError {
    /// The session was not removed, or longer ago than the trash is kept.
    #[error("the session is not in the trash")]
    NotFound,
    /// Another session has the same id by now.
    #[error("a session with the same id exists")]
    Exists,
    /// The error of the system.
    #[error("the session cannot be restored: {0}")]
    Io(#[from] io::Error),
}

impl StateDir {
    /// Moves the directory of a session to the trash, and removes its socket. Does nothing if it is missing.
    pub(crate) fn discard(&self, session: &SessionDir, now: SystemTime) -> io::Result<()> {
        // The shim removes it at its end, unless it was killed.
        let _ = fs::remove_file(session.socket());
        let directory = match File::open(session.path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        let trash = self.trash();
        DirBuilder::new()
            .mode(0o700)
            .recursive(true)
            .create(&trash)?;
        let place = trash.join(session.id().to_string());
        remove_all(&place)?;
        directory.set_modified(now)?;
        fs::rename(session.path(), place)
    }

    /// Moves the directory of a removed session back.
    pub(crate) fn restore(&self, session: &SessionDir) -> Result<(), RestoreError> {
        let place = self.trash().join(session.id().to_string());
        if !place.is_dir() {
            return Err(RestoreError::NotFound);
        }
        // An empty directory would be replaced (rename(2)).
        if session.path().exists() {
            return Err(RestoreError::Exists);
        }
        Ok(fs::rename(place, session.path())?)
    }

    /// Deletes what was moved to the trash at least [`TRASH_RETENTION`] ago.
    pub(crate) fn empty_trash(&self, now: SystemTime) -> io::Result<()> {
        let entries = match fs::read_dir(self.trash()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let age = now.duration_since(entry.metadata()?.modified()?);
            if age.is_ok_and(|age| age >= TRASH_RETENTION) {
                remove_all(&entry.path())?;
            }
        }
        Ok(())
    }

    fn trash(&self) -> PathBuf {
        self.path().join("trash")
    }
}

/// Deletes a directory. A missing one is no error.
fn remove_all(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use bowline_transport::SessionId;

    use super::*;

    fn discarded(state: &StateDir, now: SystemTime) -> SessionDir {
        let session = state.create_unlocked(SessionId::random()).unwrap();
        fs::write(session.log_path(), "log").unwrap();
        state.discard(&session, now).unwrap();
        session
    }

    #[test]
    fn discarded_session_is_restored_whole() {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let state = StateDir::at(folder.path().join("s")).unwrap();
        let session = discarded(&state, SystemTime::now());
        assert_eq!(state.sessions().unwrap(), []);
        state.restore(&session).unwrap();
        assert_eq!(state.sessions().unwrap(), [session.id()]);
        assert_eq!(fs::read(session.log_path()).unwrap(), b"log");
        let again = state.restore(&session);
        assert!(matches!(again, Err(RestoreError::NotFound)));
    }

    #[test]
    fn restoring_replaces_no_session() {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let state = StateDir::at(folder.path().join("s")).unwrap();
        let session = discarded(&state, SystemTime::now());
        state.create_unlocked(session.id()).unwrap();
        let refused = state.restore(&session);
        assert!(matches!(refused, Err(RestoreError::Exists)));
    }

    #[test]
    fn trash_is_emptied_after_the_retention() {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let state = StateDir::at(folder.path().join("s")).unwrap();
        state.empty_trash(SystemTime::now()).unwrap();
        let now = SystemTime::now();
        let old = discarded(&state, now);
        let recent = discarded(&state, now + Duration::from_secs(1));
        state.empty_trash(now + TRASH_RETENTION).unwrap();
        assert!(matches!(state.restore(&old), Err(RestoreError::NotFound)));
        state.restore(&recent).unwrap();
    }
}
