//! A record of the session list.

use std::fmt;
use std::path::PathBuf;

use bowline_shell::{ManagedId, SessionExit, SessionState};
use bowline_transport::SessionId;
use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// A session of a manager, as it was at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionInfo {
    /// Id of the session.
    pub id: ManagedId,
    /// Its kind.
    pub kind: SessionKind,
    /// Label, chosen by the host.
    pub label: String,
    /// Its working directory, without symbolic links.
    pub cwd: PathBuf,
    /// When it was created.
    pub created_at: Timestamp,
    /// Its state.
    pub state: SessionState,
    /// Process id of its program, while it runs.
    pub pid: Option<u32>,
    /// The agent's ids for its conversations, oldest first.
    pub conversations: Vec<String>,
    /// Where it runs, if that is a runner; a child process of the host otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<RunnerLocation>,
    /// How it ended, if it has.
    pub end: Option<SessionEnd>,
}

/// The place of a session that outlives its hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunnerLocation {
    /// The URL of the runner. It never has a token.
    pub url: String,
    /// The session's id there.
    pub session: SessionId,
}

/// The kind of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionKind {
    /// A program on a terminal, read as lines.
    Shell,
    /// An agent with a structured protocol, read as a transcript.
    Dialogue,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionEnd {
    /// When the end was observed; for [`EndReason::HostLost`], when the next host opened the list.
    pub at: Timestamp,
    /// How its program exited.
    pub exit: SessionExit,
    /// Why it ended.
    pub reason: EndReason,
}

/// Why a session ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EndReason {
    /// Its program exited by itself.
    Exited,
    /// The host killed it.
    Killed,
    /// The host shut down.
    Shutdown,
    /// The host exited without a shutdown, so the end was not observed. The guard has ended the processes of a
    /// guarded session.
    HostLost,
    /// The runner does not have the session any more, or its process there was killed.
    Lost,
    /// The agent continued in another conversation or directory than requested, or in one that another
    /// session uses, and was terminated. Holds a description.
    NotResumed(String),
}

impl fmt::Display for SessionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shell => "shell",
            Self::Dialogue => "dialogue",
        })
    }
}

impl SessionInfo {
    /// Returns whether the session has ended and has a conversation to resume.
    pub fn is_resumable(&self) -> bool {
        self.kind == SessionKind::Dialogue && self.end.is_some() && !self.conversations.is_empty()
    }
}
