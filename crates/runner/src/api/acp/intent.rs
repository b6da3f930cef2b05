//! Requests of a connection to the sessions, and the inputs that it receives from them.

use std::path::PathBuf;

use agent_client_protocol_schema::v1::McpServer;
use bowline_jsonl::Prompt;
use bowline_reducer::TranscriptChange;

/// Identifies an intent until its outcome is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(pub(super) u64);

/// Identifies one attachment of a connection to a session. A session that is loaded again has a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attachment(pub(super) u64);

/// An output of [`Server::poll`](super::Server::poll).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Output {
    /// A message for the editor, without the line end.
    Line(String),
    /// Work at the sessions.
    Intent(Intent),
}

/// Work at the sessions.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Intent {
    /// List the sessions; answered by [`Input::Listed`].
    List {
        /// Identifies the outcome.
        ticket: Ticket,
        /// Only those of this directory.
        cwd: Option<PathBuf>,
        /// Where a previous list ended: its `next`.
        cursor: Option<String>,
    },
    /// Start a session; answered by [`Input::Started`].
    Start {
        /// Identifies the outcome.
        ticket: Ticket,
        /// The session.
        start: StartRequest,
    },
    /// Follow a session from its beginning; answered by [`Input::Changes`] with everything that is there, or
    /// by [`Input::AttachFailed`].
    Attach {
        /// Identifies what follows.
        attachment: Attachment,
        /// The runner's id of the session.
        session: String,
    },
    /// Stop following a session.
    Detach {
        /// The attachment, which gets no further input.
        attachment: Attachment,
    },
    /// Send a prompt, which has a uuid; answered by [`Input::PromptEnded`].
    Prompt {
        /// The session's attachment.
        attachment: Attachment,
        /// The prompt.
        prompt: Prompt,
    },
    /// Interrupt the running turn.
    Interrupt {
        /// The session's attachment.
        attachment: Attachment,
    },
    /// Answer a request of the agent.
    Answer {
        /// The session's attachment.
        attachment: Attachment,
        /// The request's id in the transcript.
        request_id: String,
        /// The answer.
        answer: Answer,
    },
    /// Change a setting; answered by [`Input::OptionSet`].
    SetOption {
        /// Identifies the outcome.
        ticket: Ticket,
        /// The session's attachment.
        attachment: Attachment,
        /// Id of the setting; `mode` is the permission mode.
        option: String,
        /// The new value.
        value: String,
    },
}

/// A session that an editor wants to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StartRequest {
    /// Its working directory, an absolute path.
    pub cwd: PathBuf,
    /// MCP servers that the agent should connect to.
    pub mcp_servers: Vec<McpServer>,
}

/// An answer to a request of the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// One of the request's options, by its id.
    Option(String),
    /// Yes, to a request without options.
    Allow,
    /// No, to a request without options.
    Deny,
    /// Pairs of a question's id and its answer.
    Answers(Vec<(String, String)>),
    /// Dismissed: neither an answer nor a denial.
    Cancel,
}

/// An event of a session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Input {
    /// The outcome of [`Intent::List`].
    Listed {
        /// Ticket of the intent.
        ticket: Ticket,
        /// The sessions, the newest first.
        result: Result<SessionPage, Failure>,
    },
    /// The outcome of [`Intent::Start`].
    Started {
        /// Ticket of the intent.
        ticket: Ticket,
        /// The runner's id of the session.
        result: Result<String, Failure>,
    },
    /// The transcript changed. The first changes of an attachment are the whole transcript.
    Changes {
        /// The session's attachment.
        attachment: Attachment,
        /// The changes, in order.
        changes: Vec<TranscriptChange>,
        /// Whether more of the whole transcript follows.
        has_more: bool,
    },
    /// A session cannot be followed.
    AttachFailed {
        /// The attachment, which is over.
        attachment: Attachment,
        /// Why.
        failure: Failure,
    },
    /// A prompt is done. The changes of its turn were input before.
    PromptEnded {
        /// The session's attachment.
        attachment: Attachment,
        /// The prompt's uuid.
        uuid: String,
        /// How it ended.
        end: PromptEnd,
    },
    /// The outcome of [`Intent::SetOption`].
    OptionSet {
        /// Ticket of the intent.
        ticket: Ticket,
        /// Whether the agent accepted it.
        result: Result<(), Failure>,
    },
    /// The session has ended. Its changes were input before.
    Ended {
        /// The attachment, which is over.
        attachment: Attachment,
        /// How it ended, one line.
        reason: String,
    },
}

/// A part of the list of sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionPage {
    /// The sessions, the newest first, those that have ended too.
    pub sessions: Vec<ListedSession>,
    /// Where the next part begins; `None` at the end.
    pub next: Option<String>,
}

/// A row of the list of sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedSession {
    /// The runner's id.
    pub id: String,
    /// The working directory.
    pub cwd: PathBuf,
    /// A title, for people.
    pub title: Option<String>,
    /// When something last happened, as ISO 8601.
    pub updated_at: Option<String>,
}

/// How a prompt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromptEnd {
    /// Its turn ended; the last result of the transcript says how.
    Answered,
    /// It was dropped unanswered.
    Cancelled,
    /// It was refused, or its outcome is not known.
    Failed(Failure),
}

/// Why an intent failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// The remedy, one line.
    pub message: String,
}

/// Class of a failure, by the remedy that an editor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// There is no such session.
    NotFound,
    /// The request is wrong.
    Invalid,
    /// The session has ended. It can be loaded, and takes no prompt.
    Ended,
    /// The user has to log in to the agent.
    AuthRequired,
    /// Anything else.
    Failed,
}

impl Failure {
    /// Creates a failure.
    #[must_use]
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// Creates the failure of a request to a session that has ended for `reason`.
    pub(super) fn ended(reason: &str) -> Self {
        let message = format!("the session has ended ({reason}); start a new one");
        Self::new(FailureKind::Ended, message)
    }
}
