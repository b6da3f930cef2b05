//! Spawning an agent on this machine or at a runner.

use std::ffi::OsStr;

use bowline_transport::{
    LogLimits, OutputReader, SpawnError, TerminalEngine, TerminalSession, default_guard,
};

use crate::agent::KnownAgent;
use crate::configuration::{AgentLocation, DialogueConfiguration};
use crate::error::StartError;

/// Returns limits by which `kept_output` bytes are kept for late readers, once they are folded.
pub(super) fn log_limits(kept_output: usize) -> LogLimits {
    let limits = LogLimits::default();
    LogLimits {
        output_bytes: limits.output_bytes.max(kept_output),
        history_bytes: kept_output,
        ..limits
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
            terminal.limits = LogLimits {
                output_overflow: terminal.limits.output_overflow,
                ..log_limits(configuration.kept_output)
            };
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
            use bowline_transport::wire::SessionKind;
            use bowline_transport::{RemoteError, SessionRequest, TerminationPolicy};

            terminal.limits = log_limits(configuration.kept_output);
            let mut request = SessionRequest::new(SessionKind::Dialogue, terminal);
            request.set_name(configuration.name.as_deref(), &configuration.labels)?;
            request.hooks.clone_from(&configuration.hooks);
            if configuration.dialect != DialectName::Claude {
                let dialect = configuration.dialect.to_string();
                request
                    .labels
                    .insert(DialectName::LABEL.to_owned(), dialect);
            }
            let made = TerminalEngine.make_remote_with_reader(remote, &request);
            let (terminal, reader) = made.await?;
            if configuration.hooks.is_some() && terminal.hooks_at_attach().is_none() {
                terminal.terminate(TerminationPolicy::AT_ONCE).await;
                return Err(RemoteError::NoHooks.into());
            }
            Ok((terminal, reader))
        }
    }
}
