//! Why something that was asked of a session did not happen.

use std::path::PathBuf;

use bowline_transport::{RemoteError, SpawnError};

use crate::command::CommandError;

/// Why a session could not be started. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The agent's process could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The runner could not be reached, or did not start the agent.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// What the agent was to be told contradicts itself, or names what is not there.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The conversation cannot be gone on with.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// The file for the recording could not be made.
    #[error("record to {path}: {source}, name a new file in a folder that exists")]
    Record {
        /// The file.
        path: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// Why a conversation cannot be gone on with. Nothing was started, and no new one begun.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// The text cannot be an id of the agent.
    #[error("resume {conversation:?}: it is no conversation id, give the agent's UUID")]
    InvalidId {
        /// What was given.
        conversation: String,
    },
    /// The agent has no such conversation on disk (it removes old ones).
    #[error("resume {conversation}: it is not under {looked_in}, begin a new conversation")]
    NotThere {
        /// The conversation.
        conversation: String,
        /// Where it was looked for.
        looked_in: PathBuf,
    },
    /// The directory has had no conversation yet.
    #[error("continue in {cwd}: it has no conversation under {looked_in}, begin a new one")]
    NothingToContinue {
        /// The directory.
        cwd: PathBuf,
        /// Where one was looked for.
        looked_in: PathBuf,
    },
    /// The conversation belongs to another directory.
    #[error(
        "resume {conversation}: it belongs to {belongs_to} and not to {given}, use that directory"
    )]
    WrongDirectory {
        /// The conversation.
        conversation: String,
        /// Its directory, or the agent's name for it.
        belongs_to: PathBuf,
        /// The directory that was asked for.
        given: PathBuf,
    },
    /// Somebody has the conversation open. Two agents would write into one file.
    #[error("resume {conversation}: it is in use by {holder}, end that one first or fork")]
    Leased {
        /// The conversation.
        conversation: String,
        /// Who, as far as known.
        holder: String,
    },
    /// The id for a new conversation is taken.
    #[error(
        "begin {conversation}: the agent has a conversation of that id, resume it or take another id"
    )]
    Exists {
        /// The conversation.
        conversation: String,
    },
}

impl ResumeError {
    /// A name for the kind of error that stays the same over versions, for hosts that answer others.
    pub fn code(&self) -> &'static str {
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

/// Why something that was asked of a running session did not happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DialogueError {
    /// The session is over.
    #[error("reach the agent: the session has ended, start or resume one")]
    Ended,
    /// The agent is a child of this process.
    #[error("detach: the agent is a child of this process and nobody else's, end the session")]
    NotKept,
    /// The agent refused.
    #[error("{request}: the agent refused, {reason}")]
    Refused {
        /// What was asked.
        request: String,
        /// What the agent said.
        reason: String,
        /// The agent's code for it, if it gave one.
        code: Option<String>,
    },
    /// The agent did not answer in time.
    #[error("{request}: the agent gave no answer within {seconds} s, try again or terminate")]
    NoAnswer {
        /// What was asked.
        request: String,
        /// How long it was waited for, in seconds.
        seconds: u64,
    },
    /// No such permission request.
    #[error("answer {request_id}: no such permission request, list the open ones")]
    NoSuchRequest {
        /// The id that was given.
        request_id: String,
    },
    /// Somebody else answered first, or the agent took the question back.
    #[error("answer {request_id}: too late, it is {state}{}", named(.by.as_deref()))]
    TooLate {
        /// The id that was given.
        request_id: String,
        /// What became of the request, in words: answered, withdrawn, expired or orphaned.
        state: &'static str,
        /// Who answered first, if he gave a name.
        by: Option<String>,
    },
    /// The answer is for a request of another kind.
    #[error("answer {request_id}: it {why}, answer it with a decision")]
    WrongAnswer {
        /// The id that was given.
        request_id: String,
        /// What the request is not.
        why: &'static str,
    },
    /// A part of the answer is not JSON of the shape that is needed.
    #[error("encode {what}: {reason}, give a JSON {shape}")]
    NotJson {
        /// What was given.
        what: &'static str,
        /// Why it is not.
        reason: String,
        /// `object` or `array`.
        shape: &'static str,
    },
    /// The prompt is empty.
    #[error("send: the prompt is empty, give it a text, an image or a document")]
    EmptyPrompt,
    /// The same uuid was sent before: the agent would ignore the prompt.
    #[error("send: the uuid {uuid} was used before, leave it out or make a fresh one")]
    DuplicateUuid {
        /// The uuid.
        uuid: String,
    },
}

fn named(by: Option<&str>) -> String {
    by.map_or_else(String::new, |by| format!(" by {by}"))
}
