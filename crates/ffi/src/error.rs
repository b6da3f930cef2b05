//! The one error of this surface.

use std::io;

use crate::core;

/// Why something that was asked for did not happen. The kind is for programs, `reason` for people:
/// a lowercase fragment that reads after "failed to" and says what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, uniffi::Error)]
#[non_exhaustive]
pub enum BowlineError {
    /// The agent, shell or server could not be started. Nothing is left behind.
    #[error("{reason}")]
    Start {
        /// Why, and what to do.
        reason: String,
    },
    /// A configuration contradicts itself or names what is not there.
    #[error("{reason}")]
    Configuration {
        /// Why, and what to do.
        reason: String,
    },
    /// The session is over.
    #[error("{reason}")]
    Ended {
        /// Why, and what to do.
        reason: String,
    },
    /// There is no such session, permission request, task or file.
    #[error("{reason}")]
    NotFound {
        /// Why, and what to do.
        reason: String,
    },
    /// The agent refused.
    #[error("{reason}")]
    Refused {
        /// Why, and what to do.
        reason: String,
    },
    /// There was no answer in time.
    #[error("{reason}")]
    NoAnswer {
        /// Why, and what to do.
        reason: String,
    },
    /// Somebody else was first, or what was answered is not asked any more.
    #[error("{reason}")]
    TooLate {
        /// Why, and what to do.
        reason: String,
    },
    /// An argument cannot be used.
    #[error("{reason}")]
    Invalid {
        /// Why, and what to do.
        reason: String,
    },
    /// Something is in use, or as many sessions run as may.
    #[error("{reason}")]
    Busy {
        /// Why, and what to do.
        reason: String,
    },
    /// A conversation cannot be gone on with. None was begun.
    #[error("{reason}")]
    Resume {
        /// Why, and what to do.
        reason: String,
    },
    /// A file could not be read or written.
    #[error("{reason}")]
    Io {
        /// Why, and what to do.
        reason: String,
    },
    /// The host gave the call up.
    #[error("{reason}")]
    Cancelled {
        /// Why, and what to do.
        reason: String,
    },
    /// A callback of the host failed.
    #[error("{reason}")]
    Host {
        /// Why, and what to do.
        reason: String,
    },
    /// A fault of this library: a panic, in its own words.
    #[error("{reason}")]
    Internal {
        /// Why, and what to do.
        reason: String,
    },
}

/// What exports give.
pub(crate) type Outcome<T> = Result<T, BowlineError>;

impl BowlineError {
    pub(crate) fn invalid(reason: impl Into<String>) -> Self {
        Self::Invalid {
            reason: reason.into(),
        }
    }

    pub(crate) fn io(what: &str, path: &str, error: &io::Error) -> Self {
        let reason = format!("{what} {path}: {error}, check the path and its permissions");
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound { reason },
            _ => Self::Io { reason },
        }
    }
}

impl From<uniffi::UnexpectedUniFFICallbackError> for BowlineError {
    fn from(error: uniffi::UnexpectedUniFFICallbackError) -> Self {
        Self::Host {
            reason: format!("call the host: {}, let callbacks not throw", error.reason),
        }
    }
}

impl From<core::StartError> for BowlineError {
    fn from(error: core::StartError) -> Self {
        let reason = error.to_string();
        match error {
            core::StartError::Command(_) => Self::Configuration { reason },
            core::StartError::Resume(_) => Self::Resume { reason },
            core::StartError::Record { .. } => Self::Io { reason },
            _ => Self::Start { reason },
        }
    }
}

impl From<core::SpawnError> for BowlineError {
    fn from(error: core::SpawnError) -> Self {
        Self::Start {
            reason: error.to_string(),
        }
    }
}

impl From<core::RemoteError> for BowlineError {
    fn from(error: core::RemoteError) -> Self {
        Self::Start {
            reason: error.to_string(),
        }
    }
}

impl From<core::DialogueError> for BowlineError {
    fn from(error: core::DialogueError) -> Self {
        use core::DialogueError as E;
        let reason = error.to_string();
        match error {
            E::Ended => Self::Ended { reason },
            E::Refused { .. } => Self::Refused { reason },
            E::NoAnswer { .. } => Self::NoAnswer { reason },
            E::NoSuchRequest { .. } => Self::NotFound { reason },
            E::TooLate { .. } => Self::TooLate { reason },
            _ => Self::Invalid { reason },
        }
    }
}

impl From<core::ManagerError> for BowlineError {
    fn from(error: core::ManagerError) -> Self {
        use core::ManagerError as E;
        let reason = error.to_string();
        match error {
            E::Start(error) => error.into(),
            E::Dialogue(error) => error.into(),
            E::Resume(_) => Self::Resume { reason },
            E::MaxSessions { .. } | E::StateInUse { .. } => Self::Busy { reason },
            E::ShuttingDown | E::Ended { .. } => Self::Ended { reason },
            E::NotFound { .. } => Self::NotFound { reason },
            E::WrongKind { .. } => Self::Invalid { reason },
            _ => Self::Io { reason },
        }
    }
}

impl From<core::HookServerError> for BowlineError {
    fn from(error: core::HookServerError) -> Self {
        let reason = error.to_string();
        match error {
            core::HookServerError::Listen(_) | core::HookServerError::Random(_) => {
                Self::Start { reason }
            }
            core::HookServerError::Interaction { .. } => Self::Invalid { reason },
            _ => Self::Configuration { reason },
        }
    }
}

impl From<core::HookReplyError> for BowlineError {
    fn from(error: core::HookReplyError) -> Self {
        let reason = error.to_string();
        match error {
            core::HookReplyError::TooLate { .. } => Self::TooLate { reason },
            _ => Self::Invalid { reason },
        }
    }
}

impl From<core::ExecutorError> for BowlineError {
    fn from(error: core::ExecutorError) -> Self {
        use core::ExecutorError as E;
        let reason = error.to_string();
        match error {
            E::NotTheAgent { .. } | E::NoPrompt => Self::Invalid { reason },
            E::CleanedUp => Self::Ended { reason },
            E::Command(_) | E::Settings { .. } => Self::Configuration { reason },
            E::Hooks(error) => error.into(),
            E::File { .. } => Self::Io { reason },
            E::Terminal(core::TerminalError::Host(_)) => Self::Host { reason },
            _ => Self::Start { reason },
        }
    }
}

impl From<core::SignalError> for BowlineError {
    fn from(error: core::SignalError) -> Self {
        Self::Ended {
            reason: error.to_string(),
        }
    }
}

impl From<core::RetryError> for BowlineError {
    fn from(error: core::RetryError) -> Self {
        Self::Invalid {
            reason: error.to_string(),
        }
    }
}

impl From<core::OlderError> for BowlineError {
    fn from(error: core::OlderError) -> Self {
        let reason = error.to_string();
        match error {
            core::OlderError::NoRecording => Self::Invalid { reason },
            _ => Self::Io { reason },
        }
    }
}

impl From<core::NotAnId> for BowlineError {
    fn from(error: core::NotAnId) -> Self {
        Self::Invalid {
            reason: error.to_string(),
        }
    }
}
