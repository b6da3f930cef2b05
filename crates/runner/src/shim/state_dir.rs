//! Where sessions are found: a folder of the user's own, and one in it for each session.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use bowline_transport::SessionId;
use tokio::net::UnixStream;

use super::SessionInfo;

/// The variable that says where sessions are found.
pub const STATE_VARIABLE: &str = "BOWLINE_STATE_DIR";

/// Bytes of the longest path that a socket may have, its final NUL included (unix(7)). macOS and
/// the BSDs have 104, Linux 108.
const SOCKET_PATH: usize = if cfg!(target_os = "linux") { 108 } else { 104 };

/// A folder that only its user can look into (0700), with one folder for each session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDir {
    path: PathBuf,
}

/// The folder of one session: its socket, what is known of it, its journal, its complaints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionDir {
    id: SessionId,
    path: PathBuf,
}

/// Why there is no place for sessions.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateDirError {
    /// The folder belongs to somebody else, or others may look into it, or it is a link.
    #[error("keep sessions in {path:?}: {reason}, use a folder of your own with mode 0700")]
    Unsafe {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A socket in it would have a longer name than the system takes.
    #[error("keep sessions in {path:?}: sockets would have too long a path, use a shorter one")]
    TooLong {
        /// The folder.
        path: PathBuf,
    },
    /// A session of that name is there, or was.
    #[error("start the session {id}: there is one of that name, choose another or attach to it")]
    Exists {
        /// The name.
        id: SessionId,
    },
    /// Any other failure of the system.
    #[error("use {path:?}: {source}, check the folder")]
    Io {
        /// What was used.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl StateDir {
    /// The folder that [`STATE_VARIABLE`] names, else `bowline` in `XDG_RUNTIME_DIR`, else
    /// `bowline-<uid>` in the system's folder for temporary files. It is made if it is not there.
    ///
    /// # Errors
    ///
    /// As [`at`](Self::at).
    pub fn from_environment() -> Result<Self, StateDirError> {
        let variable = |name| std::env::var_os(name).filter(|it| !it.is_empty());
        let own = || format!("bowline-{}", rustix::process::geteuid().as_raw());
        let path = variable(STATE_VARIABLE).map(PathBuf::from);
        let path =
            path.or_else(|| Some(PathBuf::from(variable("XDG_RUNTIME_DIR")?).join("bowline")));
        Self::at(path.unwrap_or_else(|| std::env::temp_dir().join(own())))
    }

    /// A folder, which is made with mode 0700 if it is not there.
    ///
    /// # Errors
    ///
    /// [`StateDirError::Unsafe`] if it is not ours alone, [`StateDirError::TooLong`], or what the
    /// system said.
    pub fn at(path: impl Into<PathBuf>) -> Result<Self, StateDirError> {
        let path = path.into();
        let path = std::path::absolute(&path).map_err(|source| io_error(&path, source))?;
        let sessions = path.join("sessions");
        make_private(&path)?;
        make_private(&sessions)?;
        let longest = SessionDir::new(&sessions, SessionId::random()).socket();
        if longest.as_os_str().len() >= SOCKET_PATH {
            return Err(StateDirError::TooLong { path });
        }
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of a session, whether or not it is there.
    pub fn session(&self, id: SessionId) -> SessionDir {
        SessionDir::new(&self.sessions_path(), id)
    }

    /// The sessions that have a folder, in no particular order.
    ///
    /// # Errors
    ///
    /// What the system said.
    pub fn sessions(&self) -> Result<Vec<SessionId>, StateDirError> {
        let path = self.sessions_path();
        let entries = fs::read_dir(&path).map_err(|source| io_error(&path, source))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.filter_map(|name| name.parse().ok()).collect())
    }

    /// Makes the folder of a new session.
    pub(super) fn create(&self, id: SessionId) -> Result<SessionDir, StateDirError> {
        let session = self.session(id);
        match DirBuilder::new().mode(0o700).create(&session.path) {
            Ok(()) => Ok(session),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(StateDirError::Exists { id })
            }
            Err(source) => Err(io_error(&session.path, source)),
        }
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

    /// A folder that was handed over.
    pub(super) fn at(id: SessionId, path: PathBuf) -> Self {
        Self { id, path }
    }

    /// The session.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The shim's socket (0600).
    pub fn socket(&self) -> PathBuf {
        self.path.join("sock")
    }

    /// The folder of the journal, for [`Folder`](bowline_transport::journal::Folder).
    pub fn journal(&self) -> PathBuf {
        self.path.join("journal")
    }

    /// What the shim had to complain about, at most 64 KiB of it.
    pub fn complaints(&self) -> PathBuf {
        self.path.join("shim.log")
    }

    /// What is known of the session without asking its shim; `None` if there is none.
    ///
    /// # Errors
    ///
    /// What the system said, or [`io::ErrorKind::InvalidData`].
    pub fn info(&self) -> io::Result<Option<SessionInfo>> {
        match fs::read(self.info_path()) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Connects to the shim, which must be a process of our own user.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::NotFound`] or [`io::ErrorKind::ConnectionRefused`] if there is no shim any
    /// more, [`io::ErrorKind::PermissionDenied`] if it is somebody else's, or what the system said.
    pub async fn connect(&self) -> io::Result<UnixStream> {
        let stream = UnixStream::connect(self.socket()).await?;
        if !is_ours(&stream)? {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(stream)
    }

    /// Removes the folder and everything in it, the journal too.
    ///
    /// # Errors
    ///
    /// What the system said. That it is gone already is none.
    pub fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Writes what is known, so that a reader has the old or the new, never a part.
    pub(super) fn write_info(&self, info: &SessionInfo) -> io::Result<()> {
        self.put_info(info, File::sync_data)
    }

    /// The same, but a power failure may take it until it is [kept](Self::keep_info).
    pub(super) fn write_info_for_now(&self, info: &SessionInfo) -> io::Result<()> {
        self.put_info(info, |_| Ok(()))
    }

    /// Waits until what was written would survive a power failure.
    pub(super) fn keep_info(&self) -> io::Result<()> {
        File::open(self.info_path())?.sync_data()
    }

    fn put_info(
        &self,
        info: &SessionInfo,
        keep: impl FnOnce(&File) -> io::Result<()>,
    ) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(info)?;
        let fresh = self.path.join("info.json.new");
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&fresh)?;
        file.write_all(&text)?;
        keep(&file)?;
        fs::rename(fresh, self.info_path())
    }

    fn info_path(&self) -> PathBuf {
        self.path.join("info.json")
    }
}

/// Whether the other end of a socket is a process of our own user (`SO_PEERCRED`).
pub(crate) fn is_ours(stream: &UnixStream) -> io::Result<bool> {
    Ok(stream.peer_cred()?.uid() == rustix::process::geteuid().as_raw())
}

/// Makes a folder that only we can look into, or makes sure that it is one.
fn make_private(path: &Path) -> Result<(), StateDirError> {
    let made = DirBuilder::new().mode(0o700).recursive(true).create(path);
    made.map_err(|source| io_error(path, source))?;
    let found = fs::symlink_metadata(path).map_err(|source| io_error(path, source))?;
    let reason = if !found.is_dir() {
        "it is not a folder"
    } else if found.uid() != rustix::process::geteuid().as_raw() {
        "it belongs to somebody else"
    } else if found.mode() & 0o077 != 0 {
        "others may look into it"
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
    fn what_is_made_is_for_its_owner_alone() {
        let scratch = scratch();
        let state = StateDir::at(scratch.path().join("a/b")).unwrap();
        let session = state.create(SessionId::random()).unwrap();
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
    fn a_folder_that_others_can_reach_is_refused() {
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
        let deep = scratch.path().join("d".repeat(90));
        assert!(matches!(
            StateDir::at(deep),
            Err(StateDirError::TooLong { .. })
        ));
    }
}
