//! What a session begins with, for a protocol that has a handshake.

use crate::conversations::Conversation;

/// What a session begins with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Opening {
    /// The working directory, absolute.
    pub(crate) cwd: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) mode: Option<String>,
    pub(crate) effort: Option<String>,
    pub(crate) conversation: Conversation,
    /// Whether the transcript has the past of the conversation already.
    pub(crate) has_past: bool,
    /// Whether another host began the handshake.
    pub(crate) is_resumed: bool,
    /// Whether the host answers permission requests; otherwise they are rejected.
    pub(crate) asks_permissions: bool,
}

/// How far a handshake is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// The agent has not opened the session.
    #[default]
    Opening,
    Ready,
    Failed,
}
