//! Starting shims.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use bowline_transport::SessionId;
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::handshake::{SpawnFault, StartReply, StartRequest, receive, send};
use super::state_dir::SessionLock;
use super::{SessionDir, SessionSpec, StateDir, StateDirError};
use crate::descriptor_limit;
use crate::wire::Epoch;

/// How long each side of the handshake waits for the other; it takes some milliseconds unless the
/// machine is overloaded.
pub(super) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// The program that acts as a shim when run with these arguments: its `main` calls
/// [`run_guard`](bowline_transport::run_guard) first, and then [`run_shim`](crate::run_shim).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShimProgram {
    /// The executable.
    pub path: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// A started session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShimStarted {
    /// The session's id.
    pub id: SessionId,
    /// Its directory, with the socket.
    pub folder: SessionDir,
    /// Process id of the shim.
    pub shim_pid: Option<u32>,
    /// Process id of the child.
    pub pid: Option<u32>,
    /// The incarnation of the child.
    pub epoch: Epoch,
}

/// Why a session was not started. Nothing of it remains.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShimError {
    /// The session's directory cannot be created.
    #[error(transparent)]
    State(#[from] StateDirError),
    /// The shim's program cannot be executed.
    #[error("cannot run {path:?} as a shim: {source}; check the installation")]
    Program {
        /// The executable.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// The shim could not start the child.
    #[error("{reason}")]
    Refused {
        /// Category of the failure.
        fault: SpawnFault,
        /// What failed and the remedy, as a fragment.
        reason: String,
    },
    /// The shim ended before it replied.
    #[error(
        "the session's process ended during its start ({source}); check that {path:?} calls `run_shim`"
    )]
    EndedEarly {
        /// The executable.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// The shim did not reply in time.
    #[error(
        "the session's process did not reply within {HANDSHAKE_TIMEOUT:?}; check the machine's load"
    )]
    TimedOut,
}

/// Starts a session in a process of its own, which outlives this one.
///
/// Panics outside a tokio runtime with I/O and time enabled. Cancel safe: dropping the future kills
/// the shim and removes its directory.
///
/// # Errors
///
/// A [`ShimError`]; whatever was started has been killed and removed.
pub async fn spawn_shim(
    program: &ShimProgram,
    state: &StateDir,
    mut spec: SessionSpec,
) -> Result<ShimStarted, ShimError> {
    let id = spec.id;
    let (folder, lock) = state.create(id)?;
    let mut starting = Starting {
        folder: Some(folder.clone()),
        child: None,
        _lock: lock,
    };
    if let Some(history) = spec.history.take() {
        folder.write_history(&history)?;
    }
    let request = StartRequest {
        spec,
        folder: folder.path().to_owned(),
    };
    let answer = timeout(HANDSHAKE_TIMEOUT, starting.run(program, &request)).await;
    match answer.map_err(|_| ShimError::TimedOut)?? {
        StartReply::Ready { pid, epoch } => Ok(ShimStarted {
            id,
            folder,
            shim_pid: starting.detach(),
            pid,
            epoch,
        }),
        StartReply::Failed { fault, reason } => Err(ShimError::Refused { fault, reason }),
    }
}

/// A shim that has not replied yet. Dropped, it is killed and its directory is removed.
#[derive(Debug)]
struct Starting {
    folder: Option<SessionDir>,
    child: Option<Child>,
    _lock: SessionLock,
}

impl Starting {
    async fn run(
        &mut self,
        program: &ShimProgram,
        request: &StartRequest,
    ) -> Result<StartReply, ShimError> {
        let path = || program.path.clone();
        let failed = |source| ShimError::Program {
            path: path(),
            source,
        };
        let (mut link, theirs) = pair().map_err(failed)?;
        let child = Command::new(&program.path)
            .args(&program.args)
            .stdin(theirs)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let child = self.child.insert(child.map_err(failed)?);
        if let Some(pid) = child.id() {
            // Before the request, so that the session's program inherits it.
            descriptor_limit::restore_for(pid);
        }
        let exchange = async {
            send(&mut link, request).await?;
            receive(&mut link).await
        };
        exchange.await.map_err(|source| ShimError::EndedEarly {
            path: path(),
            source,
        })
    }

    /// Lets the shim outlive this process, which reaps it until it ends itself.
    fn detach(&mut self) -> Option<u32> {
        self.folder = None;
        let mut child = self.child.take()?;
        let pid = child.id();
        tokio::spawn(async move { child.wait().await });
        pid
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // The runtime reaps it; the shim's guard kills whatever it has started.
            let _ = child.start_kill();
        }
        if let Some(folder) = &self.folder
            && let Err(error) = folder.remove()
        {
            tracing::warn!(%error, folder = ?folder.path(), "cannot remove the directory of a session that did not start");
        }
    }
}

/// Returns a pair of connected sockets: ours, and the shim's standard input.
fn pair() -> io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((UnixStream::from_std(ours)?, theirs.into()))
}
