//! Starts shims.

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

use super::handshake::{Answer, Order, SpawnFault, hear, say};
use super::{SessionDir, SessionSpec, StateDir, StateDirError};
use crate::wire::Epoch;

/// How long a shim and who starts it may take over each other's words: some milliseconds, on a machine
/// that is not overrun.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// The program that is a shim when it is run with these arguments: it calls
/// [`run_guard`](bowline_transport::run_guard) first of all, and then [`run_shim`](crate::run_shim).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShimProgram {
    /// The program's file.
    pub path: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// A shim that was started, and its child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShimStarted {
    /// The session.
    pub id: SessionId,
    /// Its folder, with the socket.
    pub folder: SessionDir,
    /// The shim's process.
    pub shim_pid: Option<u32>,
    /// The child's process.
    pub pid: Option<u32>,
    /// This incarnation of the child.
    pub epoch: Epoch,
}

/// Why a session was not started. Nothing of it is left.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShimError {
    /// There is no place for it.
    #[error(transparent)]
    State(#[from] StateDirError),
    /// The program that was to be the shim did not start.
    #[error("run {path:?} as a shim: {source}, check the installation")]
    Program {
        /// Its file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The shim could not start what it was told to.
    #[error("{reason}")]
    Refused {
        /// What kind of thing is wrong.
        fault: SpawnFault,
        /// What is wrong and what to do next, as a fragment.
        reason: String,
    },
    /// The shim ended without a word.
    #[error("start a session: its shim broke off ({source}), check that {path:?} calls `run_shim`")]
    BrokeOff {
        /// The shim's file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The shim took too long.
    #[error("start a session: its shim said nothing for {PATIENCE:?}, look at the machine's load")]
    Silent,
}

/// Starts a session in a process of its own, which outlives this one. To be called in a tokio
/// runtime with I/O and time enabled. Dropping the future leaves nothing behind.
///
/// # Errors
///
/// A [`ShimError`]: what was begun has been ended and removed.
pub async fn spawn_shim(
    program: &ShimProgram,
    state: &StateDir,
    spec: SessionSpec,
) -> Result<ShimStarted, ShimError> {
    let id = spec.id;
    let folder = state.create(id)?;
    let mut starting = Starting {
        folder: Some(folder.clone()),
        child: None,
    };
    let order = Order {
        spec,
        folder: folder.path().to_owned(),
    };
    let answer = timeout(PATIENCE, starting.run(program, &order)).await;
    match answer.map_err(|_| ShimError::Silent)?? {
        Answer::Ready { pid, epoch } => Ok(ShimStarted {
            id,
            folder,
            shim_pid: starting.detach(),
            pid,
            epoch,
        }),
        Answer::Failed { fault, reason } => Err(ShimError::Refused { fault, reason }),
    }
}

/// A shim that has not reported that it is ready. Dropped, it is killed and its folder is removed.
#[derive(Debug)]
struct Starting {
    folder: Option<SessionDir>,
    child: Option<Child>,
}

impl Starting {
    async fn run(&mut self, program: &ShimProgram, order: &Order) -> Result<Answer, ShimError> {
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
        self.child = Some(child.map_err(failed)?);
        let talk = async {
            say(&mut link, order).await?;
            hear(&mut link).await
        };
        talk.await.map_err(|source| ShimError::BrokeOff {
            path: path(),
            source,
        })
    }

    /// Lets the shim outlive this process, which reaps it as long as it runs itself.
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
            tracing::warn!(%error, folder = ?folder.path(), "a folder could not be removed");
        }
    }
}

/// Both ends of a socket: ours, and the shim's as its standard input.
fn pair() -> io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((UnixStream::from_std(ours)?, theirs.into()))
}
