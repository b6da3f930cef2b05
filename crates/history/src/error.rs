//! Errors, and what of a history could not be read.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::agent::Agent;

/// Why a history cannot be listed, or a conversation not be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The agent has kept no conversation.
    #[error(
        "no conversations in {}; run {agent} first, or set {} to its folder",
        looked_in.display(),
        agent.variable()
    )]
    NoHistory {
        /// The agent.
        agent: Agent,
        /// The folder that does not exist.
        looked_in: PathBuf,
    },
    /// No conversation has this id.
    #[error("no conversation {id}; list them with bowline history")]
    NotFound {
        /// The id or its beginning.
        id: String,
    },
    /// Several ids begin with the given text.
    #[error("{count} conversations begin with {id}; give more of the id, such as {example}")]
    Ambiguous {
        /// The beginning.
        id: String,
        /// Number of conversations.
        count: usize,
        /// One of the ids.
        example: String,
    },
    /// A file or folder cannot be read.
    #[error("cannot read {}; check its mode", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
}

/// A file that was left out of a list, or an index that could not be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The file or folder.
    pub path: PathBuf,
    /// The reason, in one line.
    pub reason: String,
}

impl Problem {
    pub(crate) fn new(path: impl Into<PathBuf>, reason: impl ToString) -> Self {
        Self {
            path: path.into(),
            reason: reason.to_string(),
        }
    }
}
