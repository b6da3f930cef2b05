//! Why a server did not start, and why a reply was refused.

use std::io;
use std::path::PathBuf;

use bowline_jsonl::AgentVersion;

/// Why a [`HookServer`](crate::HookServer) did not start or could not produce its settings. Nothing
/// is left running.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HookServerError {
    /// No port of 127.0.0.1 could be bound.
    #[error("listen for hooks on 127.0.0.1; check the limits of open files")]
    Listen(#[source] io::Error),
    /// The system denied this process a port, as the App Sandbox of macOS does without an entitlement.
    #[error(
        "listen for hooks on 127.0.0.1: the system denies it; sign a sandboxed app with the entitlement \
         com.apple.security.network.server"
    )]
    ListenDenied(#[source] io::Error),
    /// The system returned no random bytes.
    #[error("create a hook token: {0}")]
    Random(String),
    /// A name is not valid for an environment variable.
    #[error("{name:?} is not a variable name; use letters, digits and underscores")]
    Variable {
        /// The name.
        name: String,
    },
    /// An interaction id is not valid in a URL path.
    #[error(
        "{id:?} is not an interaction id; use 1 to 128 letters, digits, dashes, dots and underscores"
    )]
    Interaction {
        /// The id.
        id: String,
    },
    /// The default reply of the gate does not fit one of its events.
    #[error("the default of the gate does not fit {kind}")]
    Default {
        /// The event.
        kind: String,
        /// Why it does not fit.
        #[source]
        source: HookReplyError,
    },
    /// The gate has an event that the settings do not make the agent send.
    #[error(
        "hold {kind}: the server does not receive it; add it to the events, and a helper if the \
         agent does not post it over HTTP"
    )]
    NotReceived {
        /// The event.
        kind: String,
    },
    /// The default of the gate refuses an event that the agent does not refuse when the server
    /// cannot be reached.
    #[error(
        "hold {kind}: a failed hook does not refuse it; use a default that lets the agent go on"
    )]
    NotClosable {
        /// The event.
        kind: String,
    },
    /// The configuration names an event that the agent does not know.
    #[error("agent {agent} has no hook {kind}; update it to {added} or later, or omit the event")]
    UnknownEvent {
        /// The event.
        kind: String,
        /// The version of the agent.
        agent: AgentVersion,
        /// A version that has the event.
        added: AgentVersion,
    },
    /// The agent does not post hooks over HTTP, and there is no helper.
    #[error(
        "agent {agent} has no HTTP hooks; update it to {added} or later, or configure a helper"
    )]
    NoHttp {
        /// The version of the agent.
        agent: AgentVersion,
        /// The version that added them.
        added: AgentVersion,
    },
    /// The default of the gate refuses an event, but the agent continues if the server cannot be reached.
    #[error(
        "agent {agent} runs {kind} if its hook fails; update it to {added} or later, or use a default \
         that lets the agent go on"
    )]
    FailsOpen {
        /// The event.
        kind: String,
        /// The version of the agent.
        agent: AgentVersion,
        /// A version that has `onFailure`.
        added: AgentVersion,
    },
    /// The configuration has what only works on the machine of the server.
    #[error("serve hooks at a runner: {what} works on this machine only; omit it")]
    NotAtRunner {
        /// What it has.
        what: &'static str,
    },
    /// The URL, the token or the certificates of the backend are not usable.
    #[error("forward hooks to {url:?}: {reason}")]
    Backend {
        /// The URL.
        url: String,
        /// What is wrong, and the remedy.
        reason: String,
    },
    /// The settings that hooks are merged into do not have the agent's schema.
    #[error("add hooks to the settings: {reason}; pass a JSON object in the agent's schema")]
    Settings {
        /// What is wrong.
        reason: String,
    },
}

impl HookServerError {
    pub(crate) fn listen(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::ListenDenied(error),
            _ => Self::Listen(error),
        }
    }
}

/// Why a reply was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HookReplyError {
    /// The event does not accept this kind of reply.
    #[error("{kind} does not accept a {reply}; see the agent's hooks reference")]
    Unfit {
        /// The event.
        kind: String,
        /// The kind of reply.
        reply: &'static str,
    },
    /// A part of the reply is not a JSON object.
    #[error("the {what} in the reply to {kind} is not a JSON object; pass one")]
    NotAnObject {
        /// The event.
        kind: String,
        /// The part.
        what: &'static str,
    },
    /// A path in the reply is not absolute or not UTF-8.
    #[error("the path {path:?} in the reply to {kind} is not absolute UTF-8; pass one that is")]
    Path {
        /// The event.
        kind: String,
        /// The path.
        path: PathBuf,
    },
    /// The deadline has passed, or the agent has closed the connection.
    #[error("the reply to {kind} is too late; the default was sent or the agent has disconnected")]
    TooLate {
        /// The event.
        kind: String,
    },
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::HookServerError;

    #[test]
    fn denied_port_names_the_entitlement() {
        let denied = HookServerError::listen(io::ErrorKind::PermissionDenied.into());
        let remedy = "the entitlement com.apple.security.network.server";
        assert!(denied.to_string().ends_with(remedy), "{denied}");
        let failed = HookServerError::listen(io::ErrorKind::AddrInUse.into());
        assert!(matches!(failed, HookServerError::Listen(_)), "{failed}");
    }
}
