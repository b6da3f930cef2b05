//! What a session begins with, for a protocol that has a handshake.

use bowline_jsonl::Decision;

use super::{Link, Signal};
use crate::conversations::Conversation;
use crate::error::HandshakeError;
use crate::mcp::McpServer;
use crate::permission::PermissionAnswer;

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
    pub(crate) mcp_servers: Vec<McpServer>,
}

impl Opening {
    /// Returns the answer to a permission request that the host is not asked.
    pub(super) fn rejection(&self) -> Option<PermissionAnswer> {
        (!self.asks_permissions).then(|| Decision::deny("").into())
    }
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

impl Stage {
    /// Ends the handshake: the agent cannot be used.
    pub(super) fn fail(&mut self, error: HandshakeError, link: &mut Link<'_>) {
        *self = Self::Failed;
        link.signal(Signal::StartFailed(error));
    }

    /// Ends the handshake: the agent has nothing like what the session is to begin with.
    pub(super) fn unsupported(&mut self, what: impl Into<String>, link: &mut Link<'_>) {
        let what = what.into();
        self.fail(HandshakeError::Unsupported { what }, link);
    }
}
