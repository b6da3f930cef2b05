//! The lock of a state folder: one daemon at a time serves its sessions.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tracing::warn;

use super::configuration::ServeError;
use crate::shim::StateDir;

/// File name of the lock in the state folder. It contains the process id of the daemon.
const LOCK_FILE: &str = "runner.lock";

/// How long to wait for a daemon that is just ending.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// How often to try the lock.
const LOCK_RETRY: Duration = Duration::from_millis(20);

/// The lock of a state folder, held until it is dropped (flock(2)). It ends with the process.
#[derive(Debug)]
pub(super) struct StateLock {
    _file: File,
}

impl StateLock {
    /// Locks a state folder.
    ///
    /// # Errors
    ///
    /// Fails if another daemon serves it, or if the lock file cannot be used.
    pub(super) async fn acquire(state: &StateDir) -> Result<Self, ServeError> {
        let failed = |source| ServeError::Lock {
            path: state.path().to_owned(),
            source,
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.mode(0o600).open(state.path().join(LOCK_FILE));
        let mut file = file.map_err(failed)?;
        let deadline = Instant::now() + LOCK_TIMEOUT;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {
                    warn!(%error, "cannot exclude a second runner of the state folder");
                    break;
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    sleep(LOCK_RETRY).await;
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(ServeError::Locked {
                        path: state.path().to_owned(),
                        holder: holder(&mut file),
                    });
                }
            }
        }
        // The process id is informational.
        let _ = file.set_len(0);
        let _ = file.write_all(format!("{}\n", std::process::id()).as_bytes());
        Ok(Self { _file: file })
    }
}

/// Returns whether a daemon serves a state folder, or is about to.
#[must_use]
pub fn is_served(state: &StateDir) -> bool {
    let file = File::open(state.path().join(LOCK_FILE));
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Describes the process that holds the lock.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
    match text.trim().parse::<u32>() {
        Ok(pid) if read.is_ok() => format!("process {pid}"),
        _ => "an unknown process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn folder_is_served_while_a_daemon_has_its_lock() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::at(folder.path().join("state")).unwrap();
        assert!(!is_served(&state));
        let lock = StateLock::acquire(&state).await.unwrap();
        assert!(is_served(&state));
        drop(lock);
        assert!(!is_served(&state));
    }
}
