//! No session runs at a runner.

use bowline_lifecycle::AgentLocation;
use bowline_shell::ShellSession;
use bowline_transport::SessionId;

use crate::error::ManagerError;
use crate::info::RunnerLocation;

/// A runner, of which this build has none.
#[derive(Clone, Debug)]
pub(crate) enum Remote {}

pub(crate) async fn detach_shell(_shell: &ShellSession) {}

pub(crate) fn is_shell_detached(_shell: &ShellSession) -> bool {
    false
}

pub(crate) fn runner(_location: &AgentLocation) -> Option<Remote> {
    None
}

pub(crate) fn location(remote: Option<&Remote>, _session: SessionId) -> Option<RunnerLocation> {
    remote.map(|remote| match *remote {})
}

pub(crate) async fn store_metadata(
    remote: &Remote,
    _session: SessionId,
    _metadata: Option<String>,
) -> Result<(), ManagerError> {
    match *remote {}
}
