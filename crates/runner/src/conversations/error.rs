//! Why a conversation was not started, attached to or changed.

use bowline_lifecycle::control::DamagedLine;
use bowline_lifecycle::{DialogueError, HandshakeError, StartError};

use crate::sessions::{CreateError, ShimLinkError};

/// Why a conversation was not started, attached to or changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConversationError {
    /// There is no such session.
    #[error("session not found")]
    NotFound,
    /// Another host drives the session.
    #[error("the session is not driven by this runner")]
    NotDriven,
    /// The session has ended.
    #[error("the session has ended")]
    Ended,
    /// The id was used for another intent.
    #[error("the id was used for another request")]
    IdReused,
    /// The session's control stream lacks what the session began with.
    #[error("the control stream of the session has no opening")]
    NoOpening,
    /// What the session began with cannot be read.
    #[error(transparent)]
    Damaged(#[from] DamagedLine),
    /// The session's process refused the intent.
    #[error("{0}")]
    Refused(String),
    /// The session's process cannot be reached.
    #[error(transparent)]
    Link(#[from] ShimLinkError),
    /// The process of the session was not started.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The configuration is invalid, or the session cannot be attached to.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The agent refuses the session, which was ended.
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
    /// The intent was kept, and the session or the agent refused it.
    #[error(transparent)]
    Dialogue(#[from] DialogueError),
    /// The session's metadata cannot be read.
    #[error("the session's metadata is unreadable: {0}")]
    Metadata(#[source] std::io::Error),
    /// The daemon stops.
    #[error("the runner is shutting down")]
    ShuttingDown,
}
