//! Errors of starting and using a session.

use std::io;
use std::path::PathBuf;

#[cfg(feature = "remote")]
use bowline_transport::RemoteError;
use bowline_transport::{ReconnectFailed, SpawnError};
use serde::{Deserialize, Serialize};

use crate::budget::InvalidBudget;
use crate::command::CommandError;

/// Why a session was not started. Nothing of it is left.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A limit of the budget is no positive number.
    #[error(transparent)]
    Budget(#[from] InvalidBudget),
    /// The agent's process could not be spawned.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The program of a known agent is not in `PATH`.
    #[error("start {name}: it is not installed; run `{install}`, or pass the path of its program")]
    NotInstalled {
        /// The agent.
        name: &'static str,
        /// The command that installs it.
        install: &'static str,
    },
    /// The runner could not be reached, or did not start the agent.
    #[cfg(feature = "remote")]
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The agent's options contradict each other, or name a file that does not exist.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The conversation cannot be resumed.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// The agent was started, and refused the session. It was terminated.
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
    /// The agent's protocol lacks what the configuration asks for.
    #[error("start a {dialect} session: {what} is not supported; omit it")]
    Unsupported {
        /// The protocol.
        dialect: &'static str,
        /// What is not supported.
        what: String,
    },
    /// The file for the recording could not be created.
    #[error("record to {path}")]
    Record {
        /// The file.
        path: String,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
}

/// Why an agent that was started cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The user is not logged in to the agent's service.
    #[error(
        "start the agent: not logged in, {reason}; run it once in a terminal to log in{}",
        ways(.logins)
    )]
    NotLoggedIn {
        /// The agent's reason.
        reason: String,
        /// Names of the ways to log in.
        logins: Vec<String>,
    },
    /// The agent speaks another version of the protocol.
    #[error(
        "start the agent: it speaks version {} of ACP, not version 1; install another version of it",
        .version.map_or_else(|| "?".to_owned(), |it| it.to_string())
    )]
    UnsupportedVersion {
        /// The agent's version of the protocol, if it named one.
        version: Option<u64>,
    },
    /// The agent refused a request of the start.
    #[error("start the agent: it refused {request}, {reason}; check its configuration")]
    Refused {
        /// The request.
        request: String,
        /// The agent's reason.
        reason: String,
        /// The agent's error code, if it gave one.
        code: Option<String>,
    },
    /// The agent did not answer in time.
    #[error(
        "start the agent: no answer to {request} within {seconds} s; check that it speaks this protocol"
    )]
    NoAnswer {
        /// The request.
        request: String,
        /// The timeout, in seconds.
        seconds: u64,
    },
    /// The agent has no conversation to continue.
    #[error("continue: the agent has no conversation of this directory; begin a new one")]
    NothingToContinue,
    /// The agent lacks what the session should begin with.
    #[error("start the agent: it does not support {what}; omit it")]
    Unsupported {
        /// What is not supported.
        what: String,
    },
    /// The agent exited.
    #[error("start the agent: it exited, {reason}; check its version and arguments")]
    Exited {
        /// How.
        reason: String,
    },
}

/// The agent asks the user to log in (`crates/jsonl/PROTOCOL-acp.md`, Errors).
const AUTH_REQUIRED: &str = "-32000";

impl From<DialogueError> for HandshakeError {
    fn from(error: DialogueError) -> Self {
        match error {
            DialogueError::Refused { reason, code, .. }
                if code.as_deref() == Some(AUTH_REQUIRED) =>
            {
                Self::NotLoggedIn {
                    reason,
                    logins: Vec::new(),
                }
            }
            DialogueError::Refused {
                request,
                reason,
                code,
            } => Self::Refused {
                request,
                reason,
                code,
            },
            DialogueError::NoAnswer { request, seconds } => Self::NoAnswer { request, seconds },
            other => Self::Exited {
                reason: other.to_string(),
            },
        }
    }
}

impl HandshakeError {
    /// Names the ways to log in.
    pub(crate) fn with_logins(mut self, names: &[String]) -> Self {
        if let Self::NotLoggedIn { logins, .. } = &mut self {
            *logins = names.to_vec();
        }
        self
    }
}

fn ways(logins: &[String]) -> String {
    if logins.is_empty() {
        return String::new();
    }
    format!(" ({})", logins.join(", "))
}

/// Why a conversation cannot be resumed or begun. Nothing was started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// The text is not a valid id.
    #[error("resume {conversation:?}: not a conversation id; pass the agent's UUID")]
    InvalidId {
        /// The text.
        conversation: String,
    },
    /// The agent has no such conversation on disk. It removes old ones.
    #[error("resume {conversation}: not found under {}; begin a new one", looked_in.display())]
    NotThere {
        /// The conversation.
        conversation: String,
        /// The folder that was searched.
        looked_in: PathBuf,
    },
    /// The directory has no conversation.
    #[error(
        "continue in {}: no conversation under {}; begin a new one",
        cwd.display(),
        looked_in.display()
    )]
    NothingToContinue {
        /// The directory.
        cwd: PathBuf,
        /// The folder that was searched.
        looked_in: PathBuf,
    },
    /// The conversation belongs to another directory.
    #[error(
        "resume {conversation}: it belongs to {}, not to {}; use that directory",
        belongs_to.display(),
        given.display()
    )]
    WrongDirectory {
        /// The conversation.
        conversation: String,
        /// Its directory, or the agent's folder for it.
        belongs_to: PathBuf,
        /// The directory of the session.
        given: PathBuf,
    },
    /// Another session uses the conversation. Two agents would write to one file.
    #[error("resume {conversation}: it is in use by {holder}; end that session, or fork")]
    Leased {
        /// The conversation.
        conversation: String,
        /// The other session, as far as it is known.
        holder: String,
    },
    /// The id of a new conversation is in use.
    #[error(
        "begin {conversation}: the agent has a conversation with this id; resume it, or use another id"
    )]
    Exists {
        /// The conversation.
        conversation: String,
    },
}

impl ResumeError {
    /// Returns a code of the kind of error that is stable across versions, for protocols.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::InvalidId { .. } => "INVALID_CONVERSATION",
            Self::NotThere { .. } => "CONVERSATION_NOT_FOUND",
            Self::NothingToContinue { .. } => "NOTHING_TO_CONTINUE",
            Self::WrongDirectory { .. } => "WRONG_DIRECTORY",
            Self::Leased { .. } => "CONVERSATION_IN_USE",
            Self::Exists { .. } => "CONVERSATION_EXISTS",
        }
    }
}

/// Why a session is not recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The file cannot be created, or exists.
    #[error("create the recording {}", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// The session has a recording.
    #[error("record the session: it is recorded in {} since before; read that file", path.display())]
    AlreadyRecorded {
        /// The recording.
        path: PathBuf,
    },
    /// The session has ended.
    #[error("record the session: it has ended; record the next one from its start")]
    Ended,
}

/// Why an operation on a running session failed.
///
/// The driver of a session writes what became of an intent to the control stream as JSON. A variant that no
/// driver reports there cannot be serialized.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
#[non_exhaustive]
pub enum DialogueError {
    /// The session has ended.
    #[error("reach the agent: the session has ended; start or resume one")]
    Ended,
    /// The agent is a child of this process, and cannot outlive its session.
    #[serde(skip)]
    #[error("detach: the agent is a child of this process; end the session instead")]
    NotDetachable,
    /// Reconnecting to the agent's machine was given up, for example because another host has taken
    /// over the session. Nothing was sent.
    #[serde(skip)]
    #[error("reach the agent: not connected; retry the connection, or attach again")]
    Disconnected(#[source] ReconnectFailed),
    /// The agent refused a request.
    #[error("{request}: the agent refused, {reason}")]
    Refused {
        /// Subtype of the request.
        request: String,
        /// The agent's reason.
        reason: String,
        /// The agent's error code, if it gave one.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            rename = "agent_code"
        )]
        code: Option<String>,
    },
    /// The agent did not answer a request in time.
    #[error("{request}: no answer from the agent within {seconds} s; retry, or terminate it")]
    NoAnswer {
        /// Subtype of the request.
        request: String,
        /// The timeout, in seconds.
        seconds: u64,
    },
    /// There is no such permission request.
    #[error("answer {request_id}: no such permission request; list the open ones")]
    NoSuchRequest {
        /// The given id.
        request_id: String,
    },
    /// The permission request is closed: another answer came first, or the agent cancelled it.
    #[error("answer {request_id}: too late, it is {state}{}", answered_by(.by.as_deref()))]
    TooLate {
        /// The given id.
        request_id: String,
        /// A description of how the request was closed.
        state: String,
        /// The client that answered first, if it gave a name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The answer does not fit this kind of permission request.
    #[serde(skip)]
    #[error("answer {request_id}: it {why}; answer it with a decision")]
    WrongAnswer {
        /// The given id.
        request_id: String,
        /// Why the answer does not fit.
        #[serde(skip)]
        why: &'static str,
    },
    /// A part of the answer is not JSON of the required type.
    #[serde(skip)]
    #[error("encode {what}: {reason}; pass a JSON {shape}")]
    NotJson {
        /// The part.
        #[serde(skip)]
        what: &'static str,
        /// What is wrong with it.
        reason: String,
        /// `object` or `array`.
        #[serde(skip)]
        shape: &'static str,
    },
    /// The agent's protocol has nothing like it.
    #[serde(skip)]
    #[error("{what}: not supported by the {dialect} protocol; ask the session what is supported")]
    Unsupported {
        /// What is not supported.
        what: String,
        /// The protocol.
        #[serde(skip)]
        dialect: &'static str,
    },
    /// The prompt is empty.
    #[error("send: the prompt is empty; add a text, an image or a document")]
    EmptyPrompt,
    /// The uuid was used before, so the agent would ignore the prompt.
    #[error("send: the uuid {uuid} was used before; omit it, or generate another one")]
    DuplicateUuid {
        /// The uuid.
        uuid: String,
    },
    /// The prompt does not wait in the queue.
    #[error("change the queue: the prompt {uuid} {}", not_queued(*.is_sent))]
    NotQueued {
        /// The uuid.
        uuid: String,
        /// Whether it was sent to the agent.
        is_sent: bool,
    },
    /// The driver of the session refused what the host wants.
    #[error("{reason}")]
    #[serde(untagged)]
    Rejected {
        /// What it refused and why.
        reason: String,
    },
}

impl DialogueError {
    /// Returns the error as a control stream has it: one without a JSON of its own by its message.
    pub(crate) fn recorded(&self) -> Self {
        match self {
            Self::NotDetachable
            | Self::Disconnected(_)
            | Self::WrongAnswer { .. }
            | Self::NotJson { .. }
            | Self::Unsupported { .. } => Self::Rejected {
                reason: error_chain(self),
            },
            other => other.clone(),
        }
    }
}

const fn not_queued(is_sent: bool) -> &'static str {
    if is_sent {
        "was already sent to the agent; interrupt the turn, or send another prompt"
    } else {
        "does not wait there; list the queue"
    }
}

fn answered_by(by: Option<&str>) -> String {
    by.map_or_else(String::new, |by| format!(" by {by}"))
}

/// Returns the message of an error followed by those of its sources, separated by `: `.
///
/// `Display` of the errors of this crate states what failed, and leaves the cause to
/// [`source`](std::error::Error::source). A program prints both, once, where it reports the error.
#[must_use]
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let message = cause.to_string();
        // Some errors repeat their source.
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        source = cause.source();
    }
    text
}
