//! The state directory of a user's sessions, and the directory of each session in it.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use bowline_transport::{SessionId, sync_file};

use super::{SessionInfo, socket_path};

/// Variable with the path of the state directory.
pub const STATE_VARIABLE: &str = "BOWLINE_STATE_DIR";

/// Bytes by which the record of a session grows at its exit, at most.
const EXIT_BYTES: usize = 4 << 10;

/// A directory with mode 0700, with one subdirectory per session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDir {
    path: PathBuf,
    /// The folder of the sockets, if their paths in the sessions' directories would be too long.
    sockets: Option<PathBuf>,
}

/// The directory of one session, with its socket, its record, its journal and its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionDir {
    id: SessionId,
    path: PathBuf,
}

/// Marks a session's directory as in use, until it is dropped.
#[derive(Debug)]
pub(super) struct SessionLock {
    _directory: File,
}

/// Why a state directory cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateDirError {
    /// The directory has another owner, is accessible to others, or is a symbolic link.
    #[error(
        "cannot keep sessions in {path:?}: {reason}; use a directory of your own with mode 0700"
    )]
    Unsafe {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The path of a socket in it would be longer than the system permits.
    #[error(
        "cannot keep sessions in {path:?}: the paths of sockets would be too long; use a shorter path"
    )]
    TooLong {
        /// The directory.
        path: PathBuf,
    },
    /// The session id is in use, or was.
    #[error("session {id} already exists; attach to it or choose another id")]
    Exists {
        /// The session's id.
        id: SessionId,
    },
    /// Any other failure of the system.
    #[error("cannot use {path:?}: {source}; check the directory")]
    Io {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
}

impl StateDir {
    /// Opens the directory that [`STATE_VARIABLE`] names, else `bowline` in `XDG_RUNTIME_DIR`, else
    /// `Bowline` in the user's Application Support on macOS and `bowline-<uid>` in the temporary directory
    /// on other systems. Creates it if it is missing.
    ///
    /// # Errors
    ///
    /// As [`at`](Self::at).
    pub fn from_environment() -> Result<Self, StateDirError> {
        let variable = |name: &str| std::env::var_os(name).filter(|it| !it.is_empty());
        let user = rustix::process::geteuid().as_raw();
        let is_macos = cfg!(target_os = "macos");
        let own = || socket_path::default_state(variable, is_macos, &std::env::temp_dir(), user);
        Self::at(variable(STATE_VARIABLE).map_or_else(own, PathBuf::from))
    }

    /// Opens a state directory, and creates it with mode 0700 if it is missing. If the paths of sockets
    /// in it would be too long, the sockets of its sessions are in `bowline/sockets` of
    /// `XDG_RUNTIME_DIR`, or in `.bowline/sockets` of the home directory.
    ///
    /// # Errors
    ///
    /// [`StateDirError::Unsafe`] if others own it or can access it, [`StateDirError::TooLong`], or
    /// the error of the system.
    pub fn at(path: impl Into<PathBuf>) -> Result<Self, StateDirError> {
        let folders =
            socket_path::folders(|name| std::env::var_os(name).filter(|it| !it.is_empty()));
        Self::with_sockets(path.into(), folders)
    }

    fn with_sockets(path: PathBuf, folders: Vec<PathBuf>) -> Result<Self, StateDirError> {
        let path = std::path::absolute(&path).map_err(|source| io_error(&path, source))?;
        let sessions = path.join("sessions");
        make_private(&path)?;
        make_private(&sessions)?;
        let longest = SessionDir::new(&sessions, SessionId::random()).socket_name();
        if socket_path::fits(&longest, socket_path::MAX_BYTES) {
            let sockets = None;
            return Ok(Self { path, sockets });
        }
        let Some(sockets) = socket_path::first_fit(folders, socket_path::MAX_BYTES) else {
            return Err(StateDirError::TooLong { path });
        };
        make_private(&sockets)?;
        let sockets = Some(sockets);
        Ok(Self { path, sockets })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the directory of a session, which may not exist.
    pub fn session(&self, id: SessionId) -> SessionDir {
        SessionDir::new(&self.sessions_path(), id)
    }

    /// Returns the sessions that have a directory, in no particular order.
    ///
    /// # Errors
    ///
    /// The error of the system.
    pub fn sessions(&self) -> Result<Vec<SessionId>, StateDirError> {
        let path = self.sessions_path();
        let entries = fs::read_dir(&path).map_err(|source| io_error(&path, source))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.filter_map(|name| name.parse().ok()).collect())
    }

    /// Creates the directory of a new session, and locks it. Replaces one that is left over from a
    /// start that was killed.
    pub(super) fn create(&self, id: SessionId) -> Result<(SessionDir, SessionLock), StateDirError> {
        let session = self.session(id);
        session.remove_if_abandoned();
        loop {
            match DirBuilder::new().mode(0o700).create(&session.path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    return Err(StateDirError::Exists { id });
                }
                Err(source) => return Err(io_error(&session.path, source)),
            }
            match session.lock() {
                Ok(lock) => {
                    self.place_socket(&session)?;
                    return Ok((session, lock));
                }
                // Another process took it for abandoned before it was locked.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(io_error(&session.path, source)),
            }
        }
    }

    /// Creates the directory of a session that no process owns.
    pub(crate) fn create_unlocked(&self, id: SessionId) -> io::Result<SessionDir> {
        let (session, _lock) = self.create(id).map_err(io::Error::other)?;
        Ok(session)
    }

    /// Links the name of the socket to a shorter path, if it is too long.
    fn place_socket(&self, session: &SessionDir) -> Result<(), StateDirError> {
        let Some(sockets) = &self.sockets else {
            return Ok(());
        };
        let name = session.socket_name();
        symlink(sockets.join(session.id.to_string()), &name)
            .map_err(|source| io_error(&name, source))
    }

    fn sessions_path(&self) -> PathBuf {
        self.path.join("sessions")
    }
}

impl SessionDir {
    fn new(sessions: &Path, id: SessionId) -> Self {
        let path = sessions.join(id.to_string());
        Self { id, path }
    }

    /// Returns a directory that was created by another process.
    pub(super) fn at(id: SessionId, path: PathBuf) -> Self {
        Self { id, path }
    }

    /// Returns the session's id.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the shim's socket (mode 0600). It is in this directory, or a link in this
    /// directory names it.
    pub fn socket(&self) -> PathBuf {
        let name = self.socket_name();
        fs::read_link(&name).unwrap_or(name)
    }

    fn socket_name(&self) -> PathBuf {
        self.path.join("sock")
    }

    /// Returns the directory of the journal, for [`Folder`](bowline_transport::journal::Folder).
    pub fn journal(&self) -> PathBuf {
        self.path.join("journal")
    }

    /// Returns the path of the shim's log, which has at most 64 KiB.
    pub fn log_path(&self) -> PathBuf {
        self.path.join("shim.log")
    }

    /// Reads the record of the session; `None` if there is none.
    ///
    /// # Errors
    ///
    /// The error of the system, or [`io::ErrorKind::InvalidData`] if the record is damaged.
    pub fn info(&self) -> io::Result<Option<SessionInfo>> {
        match fs::read(self.info_path()) {
            // A truncated record is damaged too: serde_json calls it an unexpected end of file.
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes the directory with all its contents, the journal included, and the socket.
    ///
    /// # Errors
    ///
    /// The error of the system. A missing directory is no error.
    pub fn remove(&self) -> io::Result<()> {
        // The shim removes it at its end, unless it was killed.
        let _ = fs::remove_file(self.socket());
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Marks the directory as in use, by the process that starts the session or by its shim. The
    /// lock ends with the process.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::NotFound`] if the directory was removed, or the error of the system.
    pub(super) fn lock(&self) -> io::Result<SessionLock> {
        let directory = File::open(&self.path)?;
        match directory.lock_shared() {
            // A directory that is left over is not found then, and stays.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
            locked => locked?,
        }
        // It may have been removed, and created again, before the lock was taken.
        if fs::metadata(&self.path)?.ino() != directory.metadata()?.ino() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(SessionLock {
            _directory: directory,
        })
    }

    /// Returns whether a process locks the directory.
    pub(crate) fn is_locked(&self) -> bool {
        File::open(&self.path)
            .is_ok_and(|directory| matches!(directory.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Removes the directory if it is left over from a start that was killed: it has no record, and
    /// no process locks it. Returns whether it was removed.
    pub(crate) fn remove_if_abandoned(&self) -> bool {
        let Ok(directory) = File::open(&self.path) else {
            return false;
        };
        let is_abandoned = directory.try_lock().is_ok() && !self.info_path().exists();
        is_abandoned && self.remove().is_ok()
    }

    /// Replaces the record atomically: it is synced before it gets its name (rename(2)), and the name
    /// is synced too.
    pub(crate) fn write_info(&self, info: &SessionInfo) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(info)?;
        let mut file = self.open_next_info()?;
        file.write_all(&text)?;
        file.set_len(text.len() as u64)?;
        sync_file(&file)?;
        fs::rename(self.next_info_path(), self.info_path())?;
        // The session continues without a reserve.
        let _ = self.reserve_next_info(text.len());
        sync_file(&File::open(&self.path)?)
    }

    /// Stores the past of the conversation that the session resumes.
    pub(super) fn write_history(&self, history: &[u8]) -> Result<(), StateDirError> {
        let path = self.history_path();
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let written = options.open(&path).and_then(|mut file| {
            file.write_all(history)?;
            sync_file(&file)
        });
        written.map_err(|source| io_error(&path, source))
    }

    /// Reads the past of the conversation that the session resumes; `None` without any. Blocks.
    pub(crate) fn history(&self) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.history_path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
    }

    fn history_path(&self) -> PathBuf {
        self.path.join("history.jsonl")
    }

    /// Removes the record, after which the session is not listed.
    pub(super) fn remove_info(&self) -> io::Result<()> {
        fs::remove_file(self.info_path())
    }

    /// Reserves the space of the next record, so that the exit can be recorded on a full disk.
    fn reserve_next_info(&self, length: usize) -> io::Result<()> {
        let zeros = vec![0; length + EXIT_BYTES];
        self.open_next_info()?.write_all(&zeros)
    }

    /// Opens the file that becomes the next record, with the space that is reserved for it.
    fn open_next_info(&self) -> io::Result<File> {
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(self.next_info_path())
    }

    fn next_info_path(&self) -> PathBuf {
        self.path.join("info.json.new")
    }

    fn info_path(&self) -> PathBuf {
        self.path.join("info.json")
    }
}

/// Creates a directory with mode 0700, or checks that an existing one is private.
fn make_private(path: &Path) -> Result<(), StateDirError> {
    let made = DirBuilder::new().mode(0o700).recursive(true).create(path);
    made.map_err(|source| io_error(path, source))?;
    let found = fs::symlink_metadata(path).map_err(|source| io_error(path, source))?;
    let reason = if !found.is_dir() {
        "it is not a directory"
    } else if found.uid() != rustix::process::geteuid().as_raw() {
        "it has another owner"
    } else if found.mode() & 0o077 != 0 {
        "it is accessible to other users"
    } else {
        return Ok(());
    };
    let path = path.into();
    Err(StateDirError::Unsafe { path, reason })
}

fn io_error(path: &Path, source: io::Error) -> StateDirError {
    let path = path.into();
    StateDirError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn scratch() -> tempfile::TempDir {
        tempfile::tempdir_in("/tmp").unwrap()
    }

    #[test]
    fn directories_are_private() {
        let scratch = scratch();
        let state = StateDir::at(scratch.path().join("a/b")).unwrap();
        let (session, _lock) = state.create(SessionId::random()).unwrap();
        for path in [state.path(), &state.sessions_path(), session.path()] {
            let mode = fs::metadata(path).unwrap().mode();
            assert_eq!(mode & 0o777, 0o700, "{path:?}");
        }
        assert_eq!(state.sessions().unwrap(), [session.id()]);
        let again = state.create(session.id());
        assert!(matches!(again, Err(StateDirError::Exists { .. })));
        session.remove().unwrap();
        session.remove().unwrap();
        assert_eq!(state.sessions().unwrap(), []);
    }

    #[test]
    fn directory_of_a_killed_start_is_created_again() {
        let scratch = scratch();
        let state = StateDir::at(scratch.path().join("a")).unwrap();
        let (session, lock) = state.create(SessionId::random()).unwrap();
        let shim = session.lock().unwrap();
        fs::write(session.log_path(), "starting").unwrap();
        drop(lock);
        assert!(!session.remove_if_abandoned(), "its shim is starting");
        assert!(state.create(session.id()).is_err());
        drop(shim);
        let (again, _lock) = state.create(session.id()).unwrap();
        assert!(!again.log_path().exists());
    }

    #[test]
    fn truncated_record_is_invalid_data() {
        let scratch = scratch();
        let state = StateDir::at(scratch.path().join("a")).unwrap();
        let (session, lock) = state.create(SessionId::random()).unwrap();
        drop(lock);
        for text in ["", "{", "{\"id\": 1}", "\0\0"] {
            fs::write(session.info_path(), text).unwrap();
            let error = session.info().unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{text:?}");
            assert!(!session.remove_if_abandoned(), "it has a record");
        }
    }

    #[test]
    fn accessible_directory_is_refused() {
        let scratch = scratch();
        let open = scratch.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(
            StateDir::at(&open),
            Err(StateDirError::Unsafe { .. })
        ));
        let link = scratch.path().join("link");
        let target = scratch.path().join("target");
        fs::create_dir(&target).unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o700)).unwrap();
        symlink(&target, &link).unwrap();
        assert!(matches!(
            StateDir::at(&link),
            Err(StateDirError::Unsafe { .. })
        ));
    }

    #[test]
    fn socket_of_a_deep_directory_has_a_short_path() {
        let scratch = scratch();
        let deep = scratch.path().join("d".repeat(90));
        let refused = StateDir::with_sockets(deep.clone(), Vec::new());
        assert!(matches!(refused, Err(StateDirError::TooLong { .. })));
        let short = scratch.path().join("s/sockets");
        let state = StateDir::with_sockets(deep, vec![short.clone()]).unwrap();
        assert_eq!(fs::metadata(&short).unwrap().mode() & 0o777, 0o700);
        let (session, _lock) = state.create(SessionId::random()).unwrap();
        let listener = std::os::unix::net::UnixListener::bind(session.socket());
        listener.expect("the path is short enough");
        let other = state.session(session.id());
        assert_eq!(other.socket(), short.join(session.id().to_string()));
        other.remove().unwrap();
        assert_eq!(fs::read_dir(&short).unwrap().count(), 0);
    }
}
