//! The one error type of the exported API.

use crate::core;

/// The error that every call of the library throws.
///
/// The case is for programs, `reason` is for people. `reason` is a lowercase fragment that reads after
/// "failed to" and ends with what to do next.
///
/// Any call may throw `Internal`. Other cases are listed with the calls that throw them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, uniffi::Error)]
#[non_exhaustive]
pub enum BowlineError {
    /// An agent, shell or server could not be started or reached. No process is left behind.
    #[error("{reason}")]
    Start {
        /// What failed and what to do next.
        reason: String,
    },
    /// A configuration contradicts itself or names something that does not exist.
    #[error("{reason}")]
    Configuration {
        /// What failed and what to do next.
        reason: String,
    },
    /// The connection to the agent's machine is lost and was given up. Nothing was sent.
    #[error("{reason}")]
    Disconnected {
        /// What failed and what to do next.
        reason: String,
    },
    /// The session, server or executor has ended.
    #[error("{reason}")]
    Ended {
        /// What failed and what to do next.
        reason: String,
    },
    /// The named session, permission request, task or file does not exist.
    #[error("{reason}")]
    NotFound {
        /// What failed and what to do next.
        reason: String,
    },
    /// The agent or the runner refused the request.
    #[error("{reason}")]
    Refused {
        /// What failed and what to do next.
        reason: String,
    },
    /// No answer arrived in time.
    #[error("{reason}")]
    NoAnswer {
        /// What failed and what to do next.
        reason: String,
    },
    /// The request was already answered, cancelled or expired.
    #[error("{reason}")]
    TooLate {
        /// What failed and what to do next.
        reason: String,
    },
    /// An argument is not valid.
    #[error("{reason}")]
    Invalid {
        /// What failed and what to do next.
        reason: String,
    },
    /// A resource is in use, or the session limit is reached.
    #[error("{reason}")]
    Busy {
        /// What failed and what to do next.
        reason: String,
    },
    /// A conversation could not be resumed. No new one was started.
    #[error("{reason}")]
    Resume {
        /// What failed and what to do next.
        reason: String,
    },
    /// A file could not be read or written.
    #[error("{reason}")]
    Io {
        /// What failed and what to do next.
        reason: String,
    },
    /// The caller cancelled the call.
    #[error("{reason}")]
    Cancelled {
        /// What failed and what to do next.
        reason: String,
    },
    /// A callback of the host failed.
    #[error("{reason}")]
    Host {
        /// What failed and what to do next.
        reason: String,
    },
    /// The library failed: a panic, with its message.
    #[error("{reason}")]
    Internal {
        /// What failed and what to do next.
        reason: String,
    },
}

/// The result of an exported call.
pub(crate) type Result<T, E = BowlineError> = std::result::Result<T, E>;

impl BowlineError {
    pub(crate) fn invalid(reason: impl Into<String>) -> Self {
        Self::Invalid {
            reason: reason.into(),
        }
    }

    /// Returns the error of a call for which this build lacks the feature `full`.
    #[cfg(not(feature = "full"))]
    pub(crate) fn absent(action: &str) -> Self {
        Self::Configuration {
            reason: format!(
                "{action}: this library was built for local sessions only; build bowline-ffi with its default features"
            ),
        }
    }

    pub(crate) fn cancelled() -> Self {
        Self::Cancelled {
            reason: "complete the call: it was cancelled; call again to continue".to_owned(),
        }
    }

    #[cfg(feature = "full")]
    pub(crate) fn io(action: &str, path: &str, error: &std::io::Error) -> Self {
        let reason = format!("{action} {path}: {error}; check the path and its permissions");
        match error.kind() {
            std::io::ErrorKind::NotFound => Self::NotFound { reason },
            _ => Self::Io { reason },
        }
    }
}

impl From<uniffi::UnexpectedUniFFICallbackError> for BowlineError {
    fn from(error: uniffi::UnexpectedUniFFICallbackError) -> Self {
        Self::Host {
            reason: format!(
                "call the host: the callback threw {}; throw only BowlineError from callbacks",
                error.reason
            ),
        }
    }
}

impl From<core::StartError> for BowlineError {
    fn from(error: core::StartError) -> Self {
        let reason = core::error_chain(&error);
        match error {
            core::StartError::Command(_) => Self::Configuration { reason },
            core::StartError::Resume(_) => Self::Resume { reason },
            core::StartError::Record { .. } => Self::Io { reason },
            _ => Self::Start { reason },
        }
    }
}

impl From<core::DialogueError> for BowlineError {
    fn from(error: core::DialogueError) -> Self {
        use core::DialogueError as E;
        let reason = core::error_chain(&error);
        match error {
            E::Ended => Self::Ended { reason },
            E::Disconnected(_) => Self::Disconnected { reason },
            E::Refused { .. } => Self::Refused { reason },
            E::NoAnswer { .. } => Self::NoAnswer { reason },
            E::TooLate { .. } | E::NotQueued { is_sent: true, .. } => Self::TooLate { reason },
            E::NoSuchRequest { .. } | E::NotQueued { .. } => Self::NotFound { reason },
            _ => Self::Invalid { reason },
        }
    }
}

impl From<core::ManagerError> for BowlineError {
    fn from(error: core::ManagerError) -> Self {
        use core::ManagerError as E;
        let reason = core::error_chain(&error);
        match error {
            E::Start(error) => error.into(),
            E::Dialogue(error) => error.into(),
            E::Resume(_) => Self::Resume { reason },
            E::Budget(_) => Self::Invalid { reason },
            E::MaxSessions { .. } | E::StateInUse { .. } => Self::Busy { reason },
            E::ShuttingDown | E::Ended { .. } => Self::Ended { reason },
            E::NotFound { .. } => Self::NotFound { reason },
            E::WrongKind { .. } | E::MetadataTooLarge { .. } => Self::Invalid { reason },
            E::NotAttached { .. } => Self::Disconnected { reason },
            #[cfg(feature = "full")]
            E::Runner { .. } => Self::Refused { reason },
            _ => Self::Io { reason },
        }
    }
}

#[cfg(feature = "full")]
impl From<core::HookServerError> for BowlineError {
    fn from(error: core::HookServerError) -> Self {
        let reason = core::error_chain(&error);
        match error {
            core::HookServerError::Listen(_)
            | core::HookServerError::ListenDenied(_)
            | core::HookServerError::Random(_) => Self::Start { reason },
            core::HookServerError::Interaction { .. } => Self::Invalid { reason },
            _ => Self::Configuration { reason },
        }
    }
}

#[cfg(feature = "full")]
impl From<core::HookReplyError> for BowlineError {
    fn from(error: core::HookReplyError) -> Self {
        let reason = core::error_chain(&error);
        match error {
            core::HookReplyError::TooLate { .. } => Self::TooLate { reason },
            _ => Self::Invalid { reason },
        }
    }
}

#[cfg(feature = "full")]
impl From<core::ExecutorError> for BowlineError {
    fn from(error: core::ExecutorError) -> Self {
        use core::ExecutorError as E;
        let reason = core::error_chain(&error);
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

impl From<core::PageError> for BowlineError {
    fn from(error: core::PageError) -> Self {
        let reason = core::error_chain(&error);
        match error {
            core::PageError::NoRecording => Self::Invalid { reason },
            _ => Self::Io { reason },
        }
    }
}

impl From<core::RecordError> for BowlineError {
    fn from(error: core::RecordError) -> Self {
        let reason = core::error_chain(&error);
        match error {
            core::RecordError::Ended => Self::Ended { reason },
            core::RecordError::AlreadyRecorded { .. } => Self::Invalid { reason },
            _ => Self::Io { reason },
        }
    }
}

/// Maps an error of the core to one case, with its text as the reason.
macro_rules! map_error {
    ($($error:ident => $case:ident),* $(,)?) => {
        $(impl From<core::$error> for BowlineError {
            fn from(error: core::$error) -> Self {
                Self::$case {
                    reason: core::error_chain(&error),
                }
            }
        })*
    };
}

map_error! {
    InvalidBudget => Invalid,
    SpawnError => Start,
    ProbeError => Start,
    SignalError => Ended,
    RetryError => Invalid,
    NotAnId => Invalid,
}

#[cfg(feature = "full")]
map_error! {
    RemoteError => Start,
}

#[cfg(test)]
mod tests {
    use super::BowlineError;
    use crate::core::{SpawnError, StartError};

    #[test]
    fn refusal_of_the_app_sandbox_has_its_remedy() {
        let path = "/usr/local/bin/claude".into();
        let error = StartError::from(SpawnError::Sandboxed { path });
        match BowlineError::from(error) {
            BowlineError::Start { reason } => {
                assert!(reason.ends_with("use a runner outside of it"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
}
