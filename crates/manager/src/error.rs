//! The errors of a session manager.

use std::io;
use std::path::PathBuf;
#[cfg(feature = "remote")]
use std::sync::Arc;

use bowline_lifecycle::{DialogueError, InvalidBudget, ResumeError, StartError};
use bowline_shell::ManagedId;
use bowline_transport::SpawnError;
#[cfg(feature = "remote")]
use bowline_transport::{Remote, RemoteError};

use crate::info::SessionKind;

/// Why an operation of a [`SessionManager`](crate::SessionManager) failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// The session limit is reached.
    #[error("create a session: session limit reached ({limit}); end one first")]
    MaxSessions {
        /// The limit.
        limit: usize,
    },
    /// The manager is shutting down.
    #[error("create a session: the host is shutting down")]
    ShuttingDown,
    /// There is no session with this id.
    #[error("find session {id}: not found; list the sessions")]
    NotFound {
        /// The given id.
        id: ManagedId,
    },
    /// The session is of the other kind.
    #[error("use session {id}: it is a {is} session; use the handle of that kind")]
    WrongKind {
        /// The session.
        id: ManagedId,
        /// Its kind.
        is: SessionKind,
    },
    /// The session ended in an earlier run of the host.
    #[error("use session {id}: it has ended; resume it or create another one")]
    Ended {
        /// The session.
        id: ManagedId,
    },
    /// The session runs at a runner, and this host is not attached to it.
    #[error("use session {id}: it is detached; attach to it with reattach")]
    NotAttached {
        /// The session.
        id: ManagedId,
    },
    /// No runner with the URL of the session was given.
    #[cfg(feature = "remote")]
    #[error("attach to a session at {url}: no credentials for this runner; pass the runner")]
    NoRunner {
        /// The URL.
        url: String,
    },
    /// A runner could not be reached, or refused a request.
    #[cfg(feature = "remote")]
    #[error("use the runner at {url}")]
    Runner {
        /// Its URL.
        url: String,
        /// What failed.
        #[source]
        source: Arc<RemoteError>,
    },
    /// The metadata of a session is too large.
    #[error("store metadata: it has {bytes} bytes, of at most {limit}; store less of it")]
    MetadataTooLarge {
        /// Its size, in bytes.
        bytes: usize,
        /// The limit, in bytes.
        limit: usize,
    },
    /// A limit of the manager's budget is no positive number.
    #[error(transparent)]
    Budget(#[from] InvalidBudget),
    /// The session could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The conversation cannot be resumed.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// The session has not ended, is a shell, or has no conversation.
    #[error("resume session {id}: {reason}")]
    NotResumable {
        /// The session.
        id: ManagedId,
        /// Why it cannot be resumed.
        reason: &'static str,
    },
    /// The dialogue refused the operation.
    #[error(transparent)]
    Dialogue(#[from] DialogueError),
    /// Another host has opened the list.
    #[error("open the list in {directory}: it is in use by {holder}; use another directory")]
    StateInUse {
        /// The state directory.
        directory: PathBuf,
        /// The other host, as far as it is known.
        holder: String,
    },
    /// The list or a lease could not be read or written.
    #[error("{operation} {}; check the directory and its permissions", path.display())]
    State {
        /// The operation that failed.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
}

impl ManagerError {
    /// Returns a code of the kind of error that is stable across versions, for protocols.
    pub fn code(&self) -> &'static str {
        match self {
            Self::MaxSessions { .. } => "MAX_SESSIONS",
            Self::ShuttingDown => "SHUTTING_DOWN",
            Self::NotFound { .. } => "NOT_FOUND",
            Self::WrongKind { .. } => "WRONG_KIND",
            Self::Ended { .. } => "ENDED",
            Self::NotAttached { .. } => "NOT_ATTACHED",
            #[cfg(feature = "remote")]
            Self::NoRunner { .. } => "NO_RUNNER",
            #[cfg(feature = "remote")]
            Self::Runner { .. } => "RUNNER",
            Self::MetadataTooLarge { .. } => "METADATA_TOO_LARGE",
            Self::Start(StartError::Spawn(
                SpawnError::CwdMissing { .. }
                | SpawnError::CwdNotADirectory { .. }
                | SpawnError::CwdDenied { .. },
            )) => "BAD_WORKING_DIRECTORY",
            Self::Start(StartError::Resume(error)) => error.code(),
            Self::Start(_) => "START_FAILED",
            Self::Resume(error) => error.code(),
            Self::NotResumable { .. } => "NOT_RESUMABLE",
            Self::Dialogue(_) => "DIALOGUE",
            Self::StateInUse { .. } => "STATE_IN_USE",
            Self::State { .. } => "STATE",
            Self::Budget(_) => "BUDGET",
        }
    }

    #[cfg(feature = "remote")]
    pub(super) fn runner(remote: &Remote) -> impl FnOnce(RemoteError) -> Self {
        let url = remote.url.to_string();
        move |source| Self::Runner {
            url,
            source: Arc::new(source),
        }
    }

    pub(super) fn state(
        operation: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::State {
            operation,
            path,
            source,
        }
    }
}

impl From<SpawnError> for ManagerError {
    fn from(error: SpawnError) -> Self {
        Self::Start(error.into())
    }
}

/// A problem with the list when it was opened. No data was deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateWarning {
    /// The list is not valid. It was renamed, and a new one was begun.
    #[error("the list of sessions is not valid ({reason}); it was renamed to {}", path.display())]
    SetAside {
        /// The new name.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}
