//! Past conversations that agents keep on disk.

#[cfg(not(feature = "full"))]
mod absent;
#[cfg(feature = "full")]
mod convert;

use std::sync::Arc;

#[cfg(not(feature = "full"))]
use absent::Reader;
#[cfg(feature = "full")]
use bowline_history::History as Reader;

use crate::error::Result;
use crate::recording::Recording;
use crate::recording_fold::RecordingFold;
use crate::runtime::{abortable, blocking};

/// Where past conversations are read from.
#[derive(Clone, Debug, Default, uniffi::Record)]
pub struct HistoryConfiguration {
    /// Claude Code's folder; by default that of the variable `CLAUDE_CONFIG_DIR`, or `~/.claude`.
    #[uniffi(default = None)]
    pub claude_directory: Option<String>,
    /// Codex' folder; by default that of the variable `CODEX_HOME`, or `~/.codex`.
    #[uniffi(default = None)]
    pub codex_directory: Option<String>,
    /// A folder for an index, so that a list reads only files that changed since; no index when absent.
    #[uniffi(default = None)]
    pub index_directory: Option<String>,
}

/// Which past conversations are listed. By default it is all of them.
#[derive(Clone, Debug, Default, uniffi::Record)]
pub struct HistoryQuery {
    /// Only those of this agent: `claude` or `codex`.
    #[uniffi(default = None)]
    pub agent: Option<String>,
    /// Only those that began in this directory or below it.
    #[uniffi(default = None)]
    pub cwd: Option<String>,
    /// Only those in whose title, prompts or answers this text occurs, in any case. All files are read.
    #[uniffi(default = None)]
    pub search: Option<String>,
    /// The maximum number of conversations, the newest; no limit when absent.
    #[uniffi(default = None)]
    pub limit: Option<u64>,
}

/// A list of past conversations.
#[derive(Clone, Debug, uniffi::Record)]
pub struct HistoryListing {
    /// The conversations, those with the newest activity first.
    pub conversations: Vec<PastConversation>,
    /// The files that were left out.
    pub problems: Vec<HistoryProblem>,
}

/// A past conversation. Absent values are unknown.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct PastConversation {
    /// The agent's id of the conversation, for `History.open` and `Conversation.Resume`.
    pub id: String,
    /// The agent: `claude` or `codex`.
    pub agent: String,
    /// The title that the user or the agent gave it, or the beginning of the first prompt.
    pub title: Option<String>,
    /// The working directory that it began in.
    pub cwd: Option<String>,
    /// The branch of the repository.
    pub branch: Option<String>,
    /// The model of the last answer.
    pub model: Option<String>,
    /// The number of prompts.
    pub turns: u32,
    /// The cost in US dollars.
    pub cost_usd: Option<f64>,
    /// The time of the last activity, in milliseconds since 1970.
    pub last_activity_ms: u64,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The file.
    pub path: String,
}

/// A file that was left out of a list.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct HistoryProblem {
    /// The path of the file or folder.
    pub path: String,
    /// The reason, in one line.
    pub reason: String,
}

/// The conversations that Claude Code and Codex keep on this machine. Their files are never written to.
#[derive(Debug, uniffi::Object)]
pub struct History {
    history: Reader,
}

impl History {
    pub(crate) fn new(configuration: HistoryConfiguration) -> Arc<Self> {
        Arc::new(Self {
            history: configuration.into(),
        })
    }
}

#[uniffi::export]
impl History {
    /// Lists conversations, those with the newest activity first. Reads files, in parallel.
    ///
    /// # Errors
    ///
    /// `NotFound` if the queried agent, or every agent, has no conversations; `Io` if its folder cannot be
    /// read; `Invalid` if there is no such agent.
    #[uniffi::method(default(query = None))]
    pub async fn list(&self, query: Option<HistoryQuery>) -> Result<HistoryListing> {
        let history = self.history.clone();
        abortable(async move {
            let query = query.unwrap_or_default().try_into()?;
            blocking(move || Ok(history.list(&query)?.into())).await
        })
        .await
    }

    /// Reads a conversation, with its sub-agents. `id` is its id, or a beginning that no other id has.
    ///
    /// The result is a transcript that has ended, and whose entries are marked as history.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is no such conversation; `Invalid` if several ids begin with `id`; `Io` if its
    /// file cannot be read.
    pub async fn open(&self, id: String) -> Result<Arc<Recording>> {
        let history = self.history.clone();
        abortable(async move {
            let past = blocking(move || Ok(history.open(&id)?)).await?;
            Ok(Recording::new(RecordingFold::past(past)))
        })
        .await
    }
}
