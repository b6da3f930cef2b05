//! What a session manager is made from.

use std::path::PathBuf;

use bowline_lifecycle::agent_folder;
use bowline_transport::Environment;

/// Living sessions at once: what the remote side of the design grants one host.
const MAX_SESSIONS: usize = 64;

/// Ended sessions that stay in the list.
const KEEP_ENDED: usize = 200;

/// What a session manager is made from.
#[derive(Clone, Debug)]
pub struct ManagerConfiguration {
    /// Most living sessions at once; 64 unless said otherwise.
    pub max_sessions: usize,
    /// Ended sessions that stay in the list; the oldest leave first. 200 unless said otherwise.
    pub keep_ended: usize,
    /// Where the list is kept, as `state.json`. One host at a time. Made with mode 0700.
    pub state_folder: PathBuf,
    /// Where the leases of conversations are kept, one file for each in use. Hosts that may meet on
    /// one conversation share it. `leases` in the state folder when absent.
    pub lease_folder: Option<PathBuf>,
    /// The agent's own folder, which has its conversations under `projects`. The host's
    /// `CLAUDE_CONFIG_DIR`, else `.claude` in its `HOME`, when absent.
    pub agent_folder: Option<PathBuf>,
}

impl ManagerConfiguration {
    /// The defaults, with a list in this folder.
    pub fn new(state_folder: impl Into<PathBuf>) -> Self {
        Self {
            max_sessions: MAX_SESSIONS,
            keep_ended: KEEP_ENDED,
            state_folder: state_folder.into(),
            lease_folder: None,
            agent_folder: None,
        }
    }

    pub(super) fn lease_folder(&self) -> PathBuf {
        let own = || self.state_folder.join("leases");
        self.lease_folder.clone().unwrap_or_else(own)
    }

    pub(super) fn agent_folder(&self) -> PathBuf {
        let found = || agent_folder(&Environment::inherited());
        self.agent_folder.clone().unwrap_or_else(found)
    }
}
