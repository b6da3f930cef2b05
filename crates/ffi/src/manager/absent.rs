//! The manager of a build without runners: sessions there stay in the list as they are.

use super::records::{ReattachFailure, ReattachReport};
use crate::core;
use crate::error::{BowlineError, Result};

/// What a manager does at runners.
pub(super) trait AtRunners {
    async fn create_shell_at(
        &self,
        remote: &core::Remote,
        _configuration: core::ShellConfiguration,
        _label: String,
    ) -> Result<core::SessionInfo> {
        match *remote {}
    }

    /// Reports all sessions at runners as detached.
    async fn reattach(
        &self,
        runners: &[core::Remote],
        configuration: core::DialogueConfiguration,
    ) -> ReattachReport;
}

impl AtRunners for core::SessionManager {
    async fn reattach(&self, _: &[core::Remote], _: core::DialogueConfiguration) -> ReattachReport {
        let all = self.list().into_iter();
        let detached = all.filter(|it| it.runner.is_some() && it.end.is_none());
        let failed = detached.map(|it| ReattachFailure {
            id: it.id.to_string(),
            reason: BowlineError::absent("attach to a session at a runner").to_string(),
        });
        ReattachReport {
            attached: Vec::new(),
            ended: Vec::new(),
            failed: failed.collect(),
        }
    }
}
