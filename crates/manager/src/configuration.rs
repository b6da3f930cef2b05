//! The configuration of a session manager.

use std::path::PathBuf;

use bowline_lifecycle::{Budget, agent_directory};
use bowline_transport::Environment;

/// Default of the limit of running sessions.
const MAX_SESSIONS: usize = 64;

/// Default of the number of ended sessions that stay in the list.
const KEEP_ENDED: usize = 200;

/// The configuration of a [`SessionManager`](crate::SessionManager).
#[derive(Clone, Debug)]
pub struct ManagerConfiguration {
    /// Maximum number of running sessions; 64 by default.
    pub max_sessions: usize,
    /// Number of ended sessions that stay in the list; those that ended first are removed. 200 by
    /// default.
    pub keep_ended: usize,
    /// The directory of the list, `state.json`. One host at a time can use it. Created with mode
    /// 0700.
    pub state_directory: PathBuf,
    /// The directory of the leases of conversations, one file for each in use. Hosts that may resume
    /// the same conversations share it. `leases` in the state directory when absent.
    pub lease_directory: Option<PathBuf>,
    /// The agent's own directory, which has its conversations under `projects`. The host's
    /// `CLAUDE_CONFIG_DIR`, else `.claude` in its `HOME`, when absent.
    pub agent_directory: Option<PathBuf>,
    /// What the dialogues of this run may use together before each of them pauses and asks, those that are
    /// [reattached](crate::SessionManager::reattach) included. The time is that since the list was opened.
    pub budget: Budget,
}

impl ManagerConfiguration {
    /// Returns the default configuration with the list in this directory.
    pub fn new(state_directory: impl Into<PathBuf>) -> Self {
        Self {
            max_sessions: MAX_SESSIONS,
            keep_ended: KEEP_ENDED,
            state_directory: state_directory.into(),
            lease_directory: None,
            agent_directory: None,
            budget: Budget::default(),
        }
    }

    pub(super) fn lease_directory(&self) -> PathBuf {
        let default = || self.state_directory.join("leases");
        self.lease_directory.clone().unwrap_or_else(default)
    }

    pub(super) fn agent_directory(&self) -> PathBuf {
        let found = || agent_directory(&Environment::inherited());
        self.agent_directory.clone().unwrap_or_else(found)
    }
}
