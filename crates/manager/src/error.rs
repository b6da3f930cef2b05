//! Why something that was asked of the manager did not happen.

use std::io;
use std::path::PathBuf;

use bowline_lifecycle::{DialogueError, ResumeError, StartError};
use bowline_shell::ManagedId;
use bowline_transport::SpawnError;

use crate::SessionKind;

/// Why something that was asked of the manager did not happen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// As many sessions live as may.
    #[error("create a session: {limit} are running, the most allowed; end one first")]
    MaxSessions {
        /// How many may live.
        limit: usize,
    },
    /// The manager is shutting down.
    #[error("create a session: the host is shutting down")]
    ShuttingDown,
    /// No such session.
    #[error("find session {id}: there is none, list the sessions")]
    NotFound {
        /// The name that was asked for.
        id: ManagedId,
    },
    /// The session is of the other kind.
    #[error("use session {id}: it is a {is:?} session, ask for it as one")]
    WrongKind {
        /// The session.
        id: ManagedId,
        /// Its kind.
        is: SessionKind,
    },
    /// The session ended in an earlier run of the host.
    #[error("use session {id}: it has ended, resume it or create another one")]
    Ended {
        /// The session.
        id: ManagedId,
    },
    /// The session could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The conversation cannot be gone on with.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// The session is alive, or a shell, or has had no conversation yet.
    #[error("resume session {id}: {reason}")]
    NotResumable {
        /// The session.
        id: ManagedId,
        /// Why not.
        reason: &'static str,
    },
    /// The dialogue did not do it.
    #[error(transparent)]
    Dialogue(#[from] DialogueError),
    /// Another host has the list.
    #[error("open the list in {folder}: another host ({holder}) has it, use another folder")]
    StateInUse {
        /// The state folder.
        folder: PathBuf,
        /// The other host, as far as it is known.
        holder: String,
    },
    /// The list, or a lease, could not be read or written.
    #[error("{what} {path}: {source}, check the folder and its permissions")]
    State {
        /// What was tried.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl ManagerError {
    /// A name for the kind of error that stays the same over versions, for hosts that answer others.
    pub fn code(&self) -> &'static str {
        match self {
            Self::MaxSessions { .. } => "MAX_SESSIONS",
            Self::ShuttingDown => "SHUTTING_DOWN",
            Self::NotFound { .. } => "NOT_FOUND",
            Self::WrongKind { .. } => "WRONG_KIND",
            Self::Ended { .. } => "ENDED",
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
        }
    }

    pub(super) fn state(
        what: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::State { what, path, source }
    }
}

impl From<SpawnError> for ManagerError {
    fn from(error: SpawnError) -> Self {
        Self::Start(error.into())
    }
}

/// Something was wrong with the list when it was opened. Nothing of it was thrown away.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateWarning {
    /// The list could not be understood; a new one was begun.
    #[error("the list of sessions could not be read ({reason}), it was set aside as {path}")]
    SetAside {
        /// Where it is now.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}
