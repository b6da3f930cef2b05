//! Why hooks cannot be had, and why a reply is none.

use std::io;
use std::path::PathBuf;

/// Why the server for hooks was not started. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HookServerError {
    /// No port of 127.0.0.1 could be had.
    #[error("listen for hooks on loopback: {0}, check the system's limits")]
    Listen(#[source] io::Error),
    /// The system has no random bytes.
    #[error("make a token for hooks: {0}, see the system's log")]
    Random(String),
    /// A name that no variable can have.
    #[error("name a variable {name:?}: give letters, digits and underscores")]
    Variable {
        /// The name.
        name: String,
    },
    /// An interaction's id goes into an address, and is longer or wilder than one may be.
    #[error(
        "name an interaction {id:?}: give up to 128 letters, digits, dashes, dots, underscores"
    )]
    Interaction {
        /// The id.
        id: String,
    },
    /// The default of a gate is no answer to one of its events.
    #[error("answer {kind} by default: {source}")]
    Default {
        /// The event.
        kind: String,
        /// Why.
        #[source]
        source: HookReplyError,
    },
    /// The backend's address cannot be used.
    #[error("forward hooks to {url:?}: {reason}")]
    Backend {
        /// The address.
        url: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The settings that hooks are to be added to are not what the agent takes.
    #[error(
        "add hooks to the settings: {reason}, give a JSON object as the agent's settings have it"
    )]
    Settings {
        /// What is wrong.
        reason: String,
    },
}

/// Why an answer is none to the event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HookReplyError {
    /// The event takes no answer of this kind.
    #[error("answer {kind}: it takes no {reply}, see the agent's page on hooks")]
    Unfit {
        /// The event.
        kind: String,
        /// The kind of answer.
        reply: &'static str,
    },
    /// A part of the answer is not a JSON object.
    #[error("answer {kind}: the {what} is not a JSON object, give one")]
    NotAnObject {
        /// The event.
        kind: String,
        /// The part.
        what: &'static str,
    },
    /// A path of the answer is not absolute, or no text.
    #[error("answer {kind}: the agent cannot use {path:?}, give an absolute path in UTF-8")]
    Path {
        /// The event.
        kind: String,
        /// The path.
        path: PathBuf,
    },
    /// The deadline has passed, or the agent has hung up.
    #[error("answer {kind}: too late, the default was given or the agent is gone")]
    TooLate {
        /// The event.
        kind: String,
    },
}
