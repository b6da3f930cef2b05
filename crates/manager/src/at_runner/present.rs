//! Where sessions run, and what of them is at a runner.

use bowline_lifecycle::AgentLocation;
use bowline_shell::ShellSession;
pub(crate) use bowline_transport::Remote;
use bowline_transport::{SessionId, SessionUpdate};

use crate::error::ManagerError;
use crate::info::RunnerLocation;

/// Detaches from a shell at a runner.
pub(crate) async fn detach_shell(shell: &ShellSession) {
    // Fails if the session has ended.
    drop(shell.detach().await);
}

/// Returns whether the session has ended here and continues at its runner.
pub(crate) fn is_shell_detached(shell: &ShellSession) -> bool {
    shell.is_detached()
}

/// Returns the runner that a dialogue is to run at.
pub(crate) fn runner(location: &AgentLocation) -> Option<Remote> {
    match location {
        AgentLocation::Runner(remote) => Some(remote.clone()),
        _ => None,
    }
}

pub(crate) fn location(remote: Option<&Remote>, session: SessionId) -> Option<RunnerLocation> {
    remote.map(|remote| RunnerLocation {
        url: remote.url.to_string(),
        session,
    })
}

/// Stores the host's text with a session at its runner.
pub(crate) async fn store_metadata(
    remote: &Remote,
    session: SessionId,
    metadata: Option<String>,
) -> Result<(), ManagerError> {
    let update = SessionUpdate {
        metadata: Some(metadata),
        ..SessionUpdate::default()
    };
    let updated = remote.update_session(session, &update).await;
    updated.map(drop).map_err(ManagerError::runner(remote))
}
