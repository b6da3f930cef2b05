//! The state of the link to the child's machine.

use std::fmt;

/// The state of the link to the child's machine. Always `Connected` for local sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionState {
    /// The link is up.
    Connected,
    /// The link is down, and reconnecting is in progress.
    Reconnecting {
        /// Number of the attempt, from 1 for the first since the link was last up for 2 s.
        attempt: u32,
    },
    /// The link is up again; the streams continue where they stopped.
    Reconnected {
        /// Output offset at which the stream continued.
        from: u64,
        /// Number of output bytes that were lost; usually 0.
        gap: u64,
    },
    /// Reconnecting was given up.
    Failed(ReconnectFailed),
}

/// Reconnecting failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("reconnecting failed: {failure}; {detail}")]
pub struct ReconnectFailed {
    /// The cause.
    pub failure: ReconnectFailure,
    /// A description with the next step, as a lowercase fragment.
    pub detail: String,
}

/// Causes for a failed reconnect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReconnectFailure {
    /// The runner does not know the session: start or resume one.
    Gone,
    /// The runner refused the token: get another one, then retry.
    Auth,
    /// The runner speaks another protocol version.
    Version,
    /// The runner ended the session when its retention time expired.
    Expired,
    /// The runner cannot be reached: retry when the network is back.
    Lost,
    /// Another host has taken over the session: retry to take it back.
    Fenced,
    /// The URL, the certificate or the runner's host names must be changed first. A link that was up is
    /// retried all the same, since a network may answer in the runner's place for a while.
    Misconfigured,
    /// A process of another user listens at the runner's address on this machine. Nothing was sent to it.
    ForeignPeer,
}

/// Why a retry was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RetryError {
    /// The link has not failed.
    #[error("nothing to retry: the link has not failed")]
    NotFailed,
    /// A retry cannot resolve the failure.
    #[error("cannot retry: {failure}; start or resume a session instead")]
    Hopeless {
        /// Why reconnecting failed.
        failure: ReconnectFailure,
    },
}

impl ReconnectFailure {
    /// Returns whether a retry can succeed.
    #[must_use]
    pub const fn can_retry(self) -> bool {
        matches!(
            self,
            Self::Auth | Self::Lost | Self::Fenced | Self::Misconfigured | Self::ForeignPeer
        )
    }
}

impl ConnectionState {
    /// Returns whether the link is up.
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
            Self::Version => "the protocol versions differ",
            Self::Expired => "the session has expired",
            Self::Lost => "the runner cannot be reached",
            Self::Fenced => "another host has taken over the session",
            Self::Misconfigured => "the connection is misconfigured",
            Self::ForeignPeer => "another user listens at its address",
        })
    }
}
