//! The sessions of other runners, which this one is a gateway to.

use std::fmt;

use bowline_lifecycle::DialectName;
use bowline_lifecycle::control::{FORK_LABEL, RESUME_LABEL};
use bowline_transport::wire::SessionKind;
use bowline_transport::{Boxed, ByteStream, SessionId, SessionSummary};
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::auth::TokenScope;

/// A session at another runner.
#[derive(Clone, Debug)]
pub struct OtherSession {
    /// Its id.
    pub id: SessionId,
    /// What the REST API of its runner lists of it, with the member `fleet`: `runner`, `name`, `state` (`live` or
    /// `silent`), `silent_since_ms`, `copied`, `is_durable`, `claimed_by`, `git`.
    pub summary: serde_json::Value,
}

/// Why the runner of a session cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OtherRunnerError {
    /// No runner has the session.
    #[error("session not found")]
    Unknown,
    /// Its runner is away.
    #[error("the runner of the session is not connected to the fleet")]
    Away,
    /// A session of another runner writes the conversation.
    #[error("the conversation is written by session {session} at the runner {runner}")]
    Claimed {
        /// The session.
        session: SessionId,
        /// The id of its runner.
        runner: String,
    },
    /// The session runs, and its runner can be reached.
    #[error("the session runs at the runner {runner}")]
    Running {
        /// The name of its runner.
        runner: String,
    },
    /// The fleet's servers fail.
    #[error("{0}")]
    Failed(String),
}

/// A session of another runner that does not run, or whose runner is silent, with what continues it here.
#[derive(Clone, Debug)]
pub struct MovableSession {
    /// What its runner listed of it.
    pub summary: SessionSummary,
    /// The generation with which it is taken over.
    pub generation: u64,
    /// The files of its conversation, as [`pack_conversation`](crate::pack_conversation) packed them; `None` if the
    /// fleet has none.
    pub files: Option<Bytes>,
}

/// A session of this runner that is to write a conversation of its agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationWriter {
    /// The session.
    pub session: SessionId,
    /// The agent's protocol.
    pub dialect: DialectName,
    /// The agent's id of the conversation.
    pub conversation: String,
    /// Whether it takes the conversation over from a session of another runner.
    pub takes_over: bool,
}

/// Returns the conversation that the agent of a session writes, as far as the runner knows it.
#[must_use]
pub fn conversation_of(session: &SessionSummary) -> Option<(DialectName, &str)> {
    let resumed = session.labels.get(RESUME_LABEL);
    let resumed = resumed.filter(|_| !session.labels.contains_key(FORK_LABEL));
    let known = session.activity.conversation.as_ref().or(resumed);
    let known = known.filter(|_| session.kind == SessionKind::Dialogue)?;
    Some((DialectName::of_labels(&session.labels), known.as_str()))
}

/// The sessions of other runners.
pub trait OtherRunners: fmt::Debug + Send + Sync {
    /// Returns all of them.
    fn sessions(&self) -> Boxed<'_, Result<Vec<OtherSession>, OtherRunnerError>>;

    /// Follows them: returns the list at present, then each that differs.
    fn watch(&self) -> Boxed<'_, Result<mpsc::Receiver<Vec<OtherSession>>, OtherRunnerError>>;

    /// Connects to the runner of a session, as a client with at most this scope. The stream is for HTTP.
    fn connect(
        &self,
        session: SessionId,
        scope: TokenScope,
    ) -> Boxed<'_, Result<Box<dyn ByteStream>, OtherRunnerError>>;

    /// Claims a conversation, before its session is started. If the fleet cannot be asked in time, the session starts
    /// without a claim.
    fn claim<'a>(
        &'a self,
        writer: &'a ConversationWriter,
    ) -> Boxed<'a, Result<(), OtherRunnerError>>;

    /// Returns a session that is to be continued at this runner.
    fn movable(&self, session: SessionId) -> Boxed<'_, Result<MovableSession, OtherRunnerError>>;

    /// Gives up the claim of a session that did not start.
    fn release<'a>(&'a self, writer: &'a ConversationWriter) -> Boxed<'a, ()>;
}
