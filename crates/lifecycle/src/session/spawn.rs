//! Spawning an agent on this machine or at a runner.

#[cfg(feature = "remote")]
use bowline_transport::LogLimits;
use bowline_transport::{OutputReader, TerminalEngine, TerminalSession, default_guard};

use crate::configuration::{AgentLocation, DialogueConfiguration};
use crate::error::StartError;

/// The log keeps no history: output is folded as it arrives, and late readers have the transcript.
#[cfg(feature = "remote")]
pub(super) fn log_limits() -> LogLimits {
    LogLimits {
        history_bytes: 0,
        ..LogLimits::default()
    }
}

/// Spawns the agent's process.
pub(super) async fn spawn(
    configuration: &DialogueConfiguration,
) -> Result<(TerminalSession, OutputReader), StartError> {
    let mut terminal = configuration.terminal()?;
    match &configuration.location {
        AgentLocation::Local => {
            terminal.limits.history_bytes = 0;
            if terminal.guard.is_none() {
                terminal.guard = default_guard().await.map(Into::into);
            }
            Ok(TerminalEngine.make_session_with_reader(terminal)?)
        }
        #[cfg(feature = "remote")]
        AgentLocation::Runner(remote) => {
            use bowline_transport::SessionRequest;
            use bowline_transport::wire::SessionKind;

            terminal.limits = log_limits();
            let request = SessionRequest::new(SessionKind::Dialogue, terminal);
            Ok(TerminalEngine
                .make_remote_with_reader(remote, &request)
                .await?)
        }
    }
}
