//! Spawning an agent on this machine or at a runner.

use std::ffi::OsStr;

#[cfg(feature = "remote")]
use bowline_transport::Configuration;
use bowline_transport::{
    LogLimits, OutputReader, SpawnError, TerminalEngine, TerminalSession, TerminationPolicy,
    default_guard,
};
use bytes::Bytes;
use tokio::runtime::Handle;

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

/// An agent that nothing drives yet. Dropped, it is terminated, at a runner too: no caller has its session.
pub(super) struct SpawnedAgent {
    terminal: TerminalSession,
    streams: OutputReader,
    guard: TerminationGuard,
    /// The past of the conversation that it resumed, as its runner keeps it.
    pub(super) past: Option<Bytes>,
}

impl SpawnedAgent {
    fn new((terminal, streams): (TerminalSession, OutputReader)) -> Self {
        Self {
            guard: TerminationGuard(Some(terminal.clone())),
            terminal,
            streams,
            past: None,
        }
    }

    /// Returns the agent's terminal and its output, to drive it.
    pub(super) fn release(self) -> (TerminalSession, OutputReader) {
        let mut guard = self.guard;
        guard.0 = None;
        (self.terminal, self.streams)
    }
}

/// Terminates a session when it is dropped.
struct TerminationGuard(Option<TerminalSession>);

impl Drop for TerminationGuard {
    fn drop(&mut self) {
        if let (Some(terminal), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(async move { terminal.terminate(TerminationPolicy::AT_ONCE).await });
        }
    }
}

/// Spawns the agent's process.
pub(super) async fn spawn(
    configuration: &DialogueConfiguration,
) -> Result<SpawnedAgent, StartError> {
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
            let spawned = spawned.map_err(|error| not_installed(&program, error))?;
            Ok(SpawnedAgent::new(spawned))
        }
        #[cfg(feature = "remote")]
        AgentLocation::Runner(remote) => {
            terminal.limits = log_limits(configuration.kept_output);
            spawn_at_runner(configuration, remote, terminal).await
        }
    }
}

/// Spawns the agent's process at a runner, and reads the past that the runner keeps with it.
#[cfg(feature = "remote")]
async fn spawn_at_runner(
    configuration: &DialogueConfiguration,
    remote: &bowline_transport::Remote,
    terminal: Configuration,
) -> Result<SpawnedAgent, StartError> {
    use bowline_reducer::dialect::DialectName;
    use bowline_transport::wire::SessionKind;
    use bowline_transport::{RemoteError, SessionRequest};

    use super::past::{labels, past};
    use crate::control::{FORK_LABEL, RESUME_LABEL};
    use crate::conversations::Conversation;

    let mut request = SessionRequest::new(SessionKind::Dialogue, terminal);
    request.set_name(configuration.name.as_deref(), &configuration.labels)?;
    request.hooks.clone_from(&configuration.hooks);
    let mut label = |name: &str, value| request.labels.insert(name.to_owned(), value);
    if configuration.dialect != DialectName::Claude {
        label(DialectName::LABEL, configuration.dialect.to_string());
    }
    let resumed = configuration.conversation.resumed();
    if let Some(id) = resumed {
        label(RESUME_LABEL, id.to_owned());
    }
    if let Conversation::Resume { fork: true, .. } = configuration.conversation {
        label(FORK_LABEL, "true".to_owned());
    }
    let made = TerminalEngine.make_remote_with_reader(remote, &request);
    let mut spawned = SpawnedAgent::new(made.await?);
    let terminal = &spawned.terminal;
    if configuration.hooks.is_some() && terminal.hooks_at_attach().is_none() {
        terminal.terminate(TerminationPolicy::AT_ONCE).await;
        return Err(RemoteError::NoHooks.into());
    }
    if resumed.is_some() {
        let labels = labels(remote, terminal.id()).await?;
        spawned.past = past(remote, terminal.id(), &labels).await?;
    }
    Ok(spawned)
}
