//! The link to the machine that the child is on.

use std::fmt;

/// How the link to the child's machine stands. Local kinds are always `Connected`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectionState {
    /// The link is up.
    Connected,
    /// The link is down and being made again.
    Reconnecting {
        /// 1 for the first try.
        attempt: u32,
    },
    /// The link is up again; the streams go on where they stopped.
    Reconnected {
        /// Output offset from which the streams went on.
        from: u64,
        /// Bytes of output that were lost in between; 0 as a rule.
        gap: u64,
    },
    /// The link is given up.
    Failed(ReconnectFailed),
}

/// A lost link could not be made again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("reconnect: {failure}, {detail}")]
pub struct ReconnectFailed {
    /// Why, for programs.
    pub failure: ReconnectFailure,
    /// Why, for people, and what to do next: a lowercase fragment.
    pub detail: String,
}

/// Why a lost link could not be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReconnectFailure {
    /// The far side does not know the session any more: start or resume one.
    Gone,
    /// The far side does not take the token any more: get another one, and retry.
    Auth,
    /// The far side speaks another version.
    Version,
    /// The far side has kept the session for as long as it does, and has ended it.
    Expired,
    /// The far side cannot be reached: retry when the network is back.
    Lost,
    /// Another host has taken the session over: retry to take it back.
    Fenced,
}

/// Why there was no other try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RetryError {
    /// The link is not given up.
    #[error("retry: the link is not given up, wait for what its state says")]
    NotFailed,
    /// No retry mends this.
    #[error("retry: {failure}, start or resume a session instead")]
    Hopeless {
        /// Why the link could not be made again.
        failure: ReconnectFailure,
    },
}

impl ReconnectFailure {
    /// Whether another try can succeed.
    #[must_use]
    pub const fn can_retry(self) -> bool {
        matches!(self, Self::Auth | Self::Lost | Self::Fenced)
    }
}

impl ConnectionState {
    /// Whether bytes can come just now.
    #[must_use]
    pub const fn is_up(&self) -> bool {
        matches!(self, Self::Connected | Self::Reconnected { .. })
    }
}

impl ConnectionState {
    /// Returns whether the link has been given up.
    #[must_use]
    pub const fn is_failed(&self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

impl fmt::Display for ReconnectFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gone => "the session is gone",
            Self::Auth => "the token was refused",
            Self::Version => "the versions do not fit",
            Self::Expired => "the session has expired",
            Self::Lost => "the machine cannot be reached",
            Self::Fenced => "another host has the session",
        })
    }
}
