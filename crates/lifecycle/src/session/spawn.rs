//! Spawning an agent on this machine or at a runner.

use std::ffi::OsStr;

#[cfg(feature = "remote")]
use bowline_transport::LogLimits;
use bowline_transport::{OutputReader, SpawnError, TerminalEngine, TerminalSession, default_guard};

use crate::agent::KnownAgent;
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

/// Names the command that installs a known agent whose program is not found.
fn not_installed(program: &OsStr, error: SpawnError) -> StartError {
    let known = KnownAgent::find(program).filter(|it| program == it.name);
    match (error, known) {
        (SpawnError::NotFound { .. }, Some(agent)) => StartError::NotInstalled {
            name: agent.name,
            install: agent.install,
        },
        (error, _) => error.into(),
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
            let program = terminal.program.clone();
            let spawned = TerminalEngine.make_session_with_reader(terminal);
            spawned.map_err(|error| not_installed(&program, error))
        }
        #[cfg(feature = "remote")]
        AgentLocation::Runner(remote) => {
            use bowline_reducer::dialect::DialectName;
            use bowline_transport::SessionRequest;
            use bowline_transport::wire::SessionKind;

            terminal.limits = log_limits();
            let mut request = SessionRequest::new(SessionKind::Dialogue, terminal);
            if configuration.dialect != DialectName::Claude {
                let dialect = configuration.dialect.to_string();
                request
                    .labels
                    .insert(DialectName::LABEL.to_owned(), dialect);
            }
            Ok(TerminalEngine
                .make_remote_with_reader(remote, &request)
                .await?)
        }
    }
}
