//! Starts shims.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use bowline_transport::SessionId;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::handshake::{Answer, Order, SpawnFault, hear, say};
use super::nursery::{Nurseries, Nursery};
use super::{SessionDir, SessionSpec, StateDir, StateDirError};
use crate::wire::Epoch;

/// How long a shim and who starts it may take over each other's words: some milliseconds, on a machine
/// that is not overrun.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// How long a nursery may take to make a copy, before the program is loaded instead.
const NURSING: Duration = Duration::from_secs(3);

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
    start(program, None, state, spec).await
}

/// The same by a nursery, where one is to be had.
pub(crate) async fn spawn_copy(
    program: &ShimProgram,
    nurseries: &Nurseries,
    state: &StateDir,
    spec: SessionSpec,
) -> Result<ShimStarted, ShimError> {
    start(program, Some(nurseries), state, spec).await
}

async fn start(
    program: &ShimProgram,
    nurseries: Option<&Nurseries>,
    state: &StateDir,
    spec: SessionSpec,
) -> Result<ShimStarted, ShimError> {
    let id = spec.id;
    let folder = state.create(id)?;
    let mut starting = Starting {
        folder: Some(folder.clone()),
        shim: None,
    };
    let order = Order {
        spec,
        folder: folder.path().to_owned(),
    };
    let answer = timeout(PATIENCE, starting.run(program, nurseries, &order)).await;
    match answer.map_err(|_| ShimError::Silent)?? {
        Answer::Ready { pid, epoch } => Ok(ShimStarted {
            id,
            folder,
            shim_pid: starting.leave_to_itself(),
            pid,
            epoch,
        }),
        Answer::Failed { fault, reason } => Err(ShimError::Refused { fault, reason }),
    }
}

/// A shim that has not said that it is ready. Dropped, it is killed and its folder removed.
#[derive(Debug)]
struct Starting {
    folder: Option<SessionDir>,
    shim: Option<Shim>,
}

/// The process that is to be a shim.
#[derive(Debug)]
enum Shim {
    Child(Child),
    /// A nursery's, by its process id. The system reaps it.
    Copy(u32),
}

impl Starting {
    async fn run(
        &mut self,
        program: &ShimProgram,
        nurseries: Option<&Nurseries>,
        order: &Order,
    ) -> Result<Answer, ShimError> {
        let mut link = match self.copy(program, nurseries).await {
            Some(link) => link,
            None => self.load(program)?,
        };
        let talk = async {
            say(&mut link, order).await?;
            hear(&mut link).await
        };
        let answer = talk.await;
        if !matches!(answer, Ok(Answer::Ready { .. })) {
            // It ends by itself, and its number may be another's by now.
            self.shim.take_if(|shim| matches!(shim, Shim::Copy(_)));
        }
        answer.map_err(|source| ShimError::BrokeOff {
            path: program.path.clone(),
            source,
        })
    }

    /// Has a nursery make the shim. One that does not is left, and its copy hears no order.
    async fn copy(
        &mut self,
        program: &ShimProgram,
        nurseries: Option<&Nurseries>,
    ) -> Option<UnixStream> {
        let nurseries = nurseries?;
        let nursery = nurseries.get(program).ok()?;
        let copied = timeout(NURSING, born(&nursery)).await;
        match copied {
            Ok(Ok((link, pid))) => {
                self.shim = Some(Shim::Copy(pid));
                Some(link)
            }
            Ok(Err(_)) | Err(_) => {
                nurseries.give_up(&nursery);
                None
            }
        }
    }

    /// Loads the program that is the shim.
    fn load(&mut self, program: &ShimProgram) -> Result<UnixStream, ShimError> {
        let failed = |source| ShimError::Program {
            path: program.path.clone(),
            source,
        };
        let (link, theirs) = pair().map_err(failed)?;
        let child = Command::new(&program.path)
            .args(&program.args)
            .stdin(theirs)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.shim = Some(Shim::Child(child.map_err(failed)?));
        Ok(link)
    }

    /// The shim lives for itself from now on. While this process lives, it is the one to reap it.
    fn leave_to_itself(&mut self) -> Option<u32> {
        self.folder = None;
        match self.shim.take()? {
            Shim::Copy(pid) => Some(pid),
            Shim::Child(mut child) => {
                let pid = child.id();
                tokio::spawn(async move { child.wait().await });
                pid
            }
        }
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        // Somebody else reaps it; its guard ends whatever it had started.
        match &mut self.shim {
            Some(Shim::Child(child)) => drop(child.start_kill()),
            Some(Shim::Copy(pid)) => kill(*pid),
            None => {}
        }
        if let Some(folder) = &self.folder
            && let Err(error) = folder.remove()
        {
            tracing::warn!(%error, folder = ?folder.path(), "a folder could not be removed");
        }
    }
}

/// A copy of a nursery that waits for its order, and its process id.
async fn born(nursery: &Arc<Nursery>) -> io::Result<(UnixStream, u32)> {
    let (mut link, theirs) = pair()?;
    nursery.ask(&theirs)?;
    drop(theirs);
    let pid = link.read_u32_le().await?;
    Ok((link, pid))
}

fn kill(pid: u32) {
    if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
        // It may have gone by itself.
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Both ends of a socket: ours, and the shim's as its standard input.
fn pair() -> io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((UnixStream::from_std(ours)?, theirs.into()))
}
