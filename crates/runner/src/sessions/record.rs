//! What is known of one session.

use std::io;
use std::time::UNIX_EPOCH;

use bowline_lifecycle::control::is_driven;
use bowline_transport::{SessionActivity, SessionSummaryState};
use tokio::task::spawn_blocking;
use tracing::warn;

use crate::shim::{SessionDir, SessionInfo, SessionPhase};

/// A session's folder, its metadata, and whether its shim runs.
#[derive(Debug)]
pub(crate) struct SessionRecord {
    pub(crate) session: SessionDir,
    pub(crate) info: SessionInfo,
    pub(crate) shim: ShimStatus,
    /// Why the metadata is unreadable, in which case `info` has only defaults.
    pub(crate) damage: Option<String>,
    /// What the conversation was about, if it has ended and that is kept.
    pub(crate) activity: Option<SessionActivity>,
}

/// What the files of a session say, before it is known whether its shim runs.
#[derive(Debug)]
pub(super) struct SessionFiles {
    info: SessionInfo,
    damage: Option<String>,
    activity: Option<SessionActivity>,
}

/// Whether a session's shim runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShimStatus {
    /// The shim and its child run.
    Running,
    /// The child has exited, and the shim keeps its exit status.
    Exited,
    /// The shim has ended or was killed.
    Gone,
}

impl SessionRecord {
    /// Determines whether the shim runs, by connecting to its socket unless the metadata is final.
    async fn probe(session: &SessionDir, info: SessionInfo) -> (SessionInfo, ShimStatus) {
        let shim = match info.phase {
            SessionPhase::Closed => ShimStatus::Gone,
            phase => match session.connect().await {
                Err(error) if has_no_listener(&error) || is_foreign(&error) => {
                    return (latest(session.clone(), info).await, ShimStatus::Gone);
                }
                // Other errors, such as exhausted descriptors, do not depend on the session.
                _ if phase == SessionPhase::Running => ShimStatus::Running,
                _ => ShimStatus::Exited,
            },
        };
        (info, shim)
    }

    /// Reads the metadata in a session's folder; `None` without any. Damaged or unreadable metadata
    /// concerns only its own session, which can still be ended and removed. Blocks on disk reads.
    ///
    /// # Errors
    ///
    /// Fails if the system lacks descriptors or memory.
    pub(super) fn read(session: &SessionDir) -> io::Result<Option<SessionFiles>> {
        match session.info() {
            Err(error) if !is_exhaustion(&error) => {
                warn!(session.id = %session.id(), %error, "the metadata of a session is damaged");
                Ok(Some(SessionFiles {
                    info: damaged_info(session),
                    damage: Some(error.to_string()),
                    activity: None,
                }))
            }
            info => Ok(info?.map(|info| SessionFiles {
                activity: is_driven(&info.labels)
                    .then(|| session.activity())
                    .flatten(),
                info: info.with(session.host_data()),
                damage: None,
            })),
        }
    }

    /// Determines whether the shim of a session runs, given what [`read`](Self::read) returned.
    pub(super) async fn of(session: SessionDir, files: SessionFiles) -> Self {
        let (info, shim) = Self::probe(&session, files.info).await;
        Self {
            session,
            info,
            shim,
            damage: files.damage,
            activity: files.activity,
        }
    }

    /// Returns the process id of a shim that runs: that of the process that listens on its socket (`SO_PEERCRED` of
    /// unix(7), on macOS `LOCAL_PEERPID` of <sys/un.h>).
    /// If the socket is busy, that in the metadata, which is valid as long as the shim locks its
    /// folder.
    pub(super) async fn shim_pid(&self) -> io::Result<u32> {
        let listener = match self.session.connect().await {
            Ok(stream) => stream.peer_cred()?.pid(),
            Err(error) if has_no_listener(&error) || is_foreign(&error) => return Err(error),
            Err(_) => None,
        };
        let listener = listener.and_then(|pid| u32::try_from(pid).ok());
        let recorded = Some(self.info.shim_pid).filter(|pid| *pid > 0 && self.session.is_locked());
        listener
            .or(recorded)
            .ok_or_else(|| io::Error::other("its process id is not known"))
    }

    /// Returns whether the child has exited or was killed.
    pub(crate) fn has_ended(&self) -> bool {
        self.shim != ShimStatus::Running
    }

    pub(crate) fn state(&self) -> SessionSummaryState {
        match self.shim {
            ShimStatus::Running => SessionSummaryState::Running,
            ShimStatus::Exited => SessionSummaryState::Exited,
            ShimStatus::Gone if self.info.exit.is_some() => SessionSummaryState::Exited,
            ShimStatus::Gone => SessionSummaryState::Lost,
        }
    }
}

/// Reads the metadata again: the shim may have written its final state before it ended.
async fn latest(session: SessionDir, info: SessionInfo) -> SessionInfo {
    let latest = spawn_blocking(move || {
        let latest = session.info().ok().flatten()?;
        Some(latest.with(session.host_data()))
    });
    latest.await.ok().flatten().unwrap_or(info)
}

/// Returns whether processes, descriptors or memory are exhausted: fork(2), socketpair(2), open(2).
pub(super) fn is_exhaustion(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let exhaustion = [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE];
    let error = error.raw_os_error();
    exhaustion
        .iter()
        .any(|errno| error == Some(errno.raw_os_error()))
}

/// Returns what is known of a session from its folder alone.
fn damaged_info(session: &SessionDir) -> SessionInfo {
    let created = std::fs::metadata(session.path()).and_then(|it| it.modified());
    let since = created.map(|at| at.duration_since(UNIX_EPOCH).unwrap_or_default());
    let started_ms = since.map_or(0, |since| since.as_millis() as u64);
    SessionInfo::of_damaged(session.id(), session.journal().is_dir(), started_ms)
}

/// Returns whether a failed connection to a shim means that nothing listens on its socket.
pub(crate) fn has_no_listener(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, NotFound};
    matches!(error.kind(), NotFound | ConnectionRefused)
}

/// Returns whether a process of another user listens on the socket.
fn is_foreign(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}
