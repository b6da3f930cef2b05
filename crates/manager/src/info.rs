//! What is known of one session, as it is listed and kept.

use std::path::PathBuf;

use bowline_shell::{ManagedId, SessionExit, SessionState};
use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// What is known of one session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionInfo {
    /// Its name.
    pub id: ManagedId,
    /// What kind it is.
    pub kind: SessionKind,
    /// The host's word for it.
    pub label: String,
    /// Its working directory, without links.
    pub cwd: PathBuf,
    /// When it was made.
    pub created_at: Timestamp,
    /// What it is doing.
    pub state: SessionState,
    /// The process id of its program, while it lives.
    pub pid: Option<u32>,
    /// The agent's ids for its conversations, oldest first.
    pub conversations: Vec<String>,
    /// How it ended, if it has.
    pub end: Option<SessionEnd>,
}

/// What kind a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionKind {
    /// A program on a terminal, told as lines.
    Shell,
    /// An agent that speaks its protocol, told as a transcript.
    Dialogue,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionEnd {
    /// When it was seen. For [`EndReason::HostLost`], when the next host started.
    pub at: Timestamp,
    /// What its program left.
    pub exit: SessionExit,
    /// Why.
    pub reason: EndReason,
}

/// Why a session ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EndReason {
    /// Its program ended by itself, well or badly.
    Exited,
    /// The host killed it.
    Killed,
    /// The host shut down.
    Shutdown,
    /// The host died without shutting down; nobody saw the end.
    HostLost,
    /// The agent went on in another conversation, directory or company than it was asked to, and was
    /// terminated for it. In words.
    NotResumed(String),
}

impl SessionInfo {
    /// Whether the session has ended and has a conversation to go on with.
    pub fn is_resumable(&self) -> bool {
        self.kind == SessionKind::Dialogue && self.end.is_some() && !self.conversations.is_empty()
    }
}
