//! Conversions from and into the past conversations of the core.

use bowline_history::{Agent, AgentFolders, HistoryError, Query};

use super::{HistoryConfiguration, HistoryListing, HistoryProblem, HistoryQuery, PastConversation};
use crate::core;
use crate::error::{BowlineError, Result};
use crate::limits::size;
use crate::runtime::blocking;

impl HistoryConfiguration {
    /// Sets the past that the transcript of a resumed conversation begins with. One that cannot be read is
    /// left out: the agent reports a conversation that it does not find.
    pub(crate) async fn add_past(
        self,
        configuration: &mut core::DialogueConfiguration,
    ) -> Result<()> {
        let core::Conversation::Resume { id, .. } = &configuration.conversation else {
            return Ok(());
        };
        let id = id.clone();
        let past = move || {
            let past = bowline_history::History::from(self).open(&id).ok();
            Ok(past.filter(|it| it.conversation.id == id))
        };
        configuration.history = blocking(past).await?.map(|past| past.stream);
        Ok(())
    }
}

impl From<HistoryConfiguration> for bowline_history::History {
    fn from(it: HistoryConfiguration) -> Self {
        let mut folders = AgentFolders::from_environment(|name| std::env::var_os(name));
        if let Some(claude) = it.claude_directory {
            folders.claude = claude.into();
        }
        if let Some(codex) = it.codex_directory {
            folders.codex = codex.into();
        }
        let history = Self::new(folders);
        match it.index_directory {
            Some(folder) => history.with_index(folder),
            None => history,
        }
    }
}

impl TryFrom<HistoryQuery> for Query {
    type Error = BowlineError;

    fn try_from(it: HistoryQuery) -> Result<Self> {
        let agent = |name: String| {
            let found = Agent::ALL.into_iter().find(|agent| agent.name() == name);
            found.ok_or_else(|| {
                BowlineError::invalid(format!(
                    "list conversations of {name:?}: no such agent; pass claude or codex"
                ))
            })
        };
        Ok(Self {
            agent: it.agent.map(agent).transpose()?,
            cwd: it.cwd.map(Into::into),
            search: it.search,
            limit: it.limit.map(size),
        })
    }
}

impl From<bowline_history::Listing> for HistoryListing {
    fn from(it: bowline_history::Listing) -> Self {
        let problem = |it: bowline_history::Problem| HistoryProblem {
            path: it.path.to_string_lossy().into_owned(),
            reason: it.reason,
        };
        Self {
            conversations: it.conversations.into_iter().map(Into::into).collect(),
            problems: it.problems.into_iter().map(problem).collect(),
        }
    }
}

impl From<bowline_history::Conversation> for PastConversation {
    fn from(it: bowline_history::Conversation) -> Self {
        Self {
            id: it.id,
            agent: it.agent.to_string(),
            title: it.title,
            cwd: it.cwd.map(|cwd| cwd.to_string_lossy().into_owned()),
            branch: it.branch,
            model: it.model,
            turns: it.turns,
            cost_usd: it.cost_usd,
            last_activity_ms: it.last_activity_ms,
            bytes: it.bytes,
            path: it.path.to_string_lossy().into_owned(),
        }
    }
}

impl From<HistoryError> for BowlineError {
    fn from(error: HistoryError) -> Self {
        let reason = core::error_chain(&error);
        match error {
            HistoryError::NoHistory { .. } | HistoryError::NotFound { .. } => {
                Self::NotFound { reason }
            }
            HistoryError::Ambiguous { .. } => Self::Invalid { reason },
            _ => Self::Io { reason },
        }
    }
}
