//! The runners of a build without them: none can be named.

use super::RunnerConfiguration;
use crate::core;
use crate::error::{BowlineError, Result};

fn no_runner() -> BowlineError {
    BowlineError::absent("use a runner")
}

impl TryFrom<RunnerConfiguration> for core::Remote {
    type Error = BowlineError;

    fn try_from(_: RunnerConfiguration) -> Result<Self> {
        Err(no_runner())
    }
}

impl TryFrom<RunnerConfiguration> for core::AgentLocation {
    type Error = BowlineError;

    fn try_from(_: RunnerConfiguration) -> Result<Self> {
        Err(no_runner())
    }
}

/// Dialogues at a runner.
pub(crate) trait AttachDialogue: Sized {
    async fn attach(
        remote: &core::Remote,
        _session: core::SessionId,
        _configuration: core::DialogueConfiguration,
    ) -> Result<Self> {
        match *remote {}
    }

    async fn attach_with_events(
        remote: &core::Remote,
        _session: core::SessionId,
        _configuration: core::DialogueConfiguration,
        _limits: core::EventLimits,
    ) -> Result<(Self, core::DialogueEvents)> {
        match *remote {}
    }
}

impl AttachDialogue for core::DialogueSession {}

/// Shells at a runner.
pub(crate) trait AttachShell: Sized + Sync {
    async fn detach(&self) -> Result<(), core::DialogueError> {
        Err(core::DialogueError::NotDetachable)
    }

    async fn start_at(
        remote: &core::Remote,
        _configuration: core::ShellConfiguration,
    ) -> Result<Self> {
        match *remote {}
    }

    async fn attach(
        remote: &core::Remote,
        _session: core::SessionId,
        _configuration: core::ShellConfiguration,
    ) -> Result<Self> {
        match *remote {}
    }
}

impl AttachShell for core::ShellSession {}
