//! Runs an agent in a visible terminal and reports how each command ended.

mod command_output;
mod error;
mod evidence;
mod outcome;
mod prepare;
mod pty;
mod terminal;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bowline_transport::{Environment, ExitStatus, TerminalSession};
use parking_lot::Mutex;
use tokio::sync::{OwnedMutexGuard, watch};
use tokio::time::{Instant, timeout};
use tracing::field::{Empty, display};
use tracing::{Instrument as _, Span, debug, info, info_span};

use bowline_hooks::{
    HookConfiguration, HookEvent, HookEventItem, HookKind, HookPayload, HookQuestions, HookReport,
    HookServer, HookSubscription,
};
use bowline_lifecycle::TerminalRegistry;
use bowline_lifecycle::{AgentMode, AgentOptions};
use evidence::EvidenceTimeouts;
use prepare::{AgentHooks, Prepared};
use secrecy::{ExposeSecret as _, SecretString};

pub use error::{ExecutorError, TerminalError};
pub use outcome::{CommandResult, Evidence};
pub use pty::PtyTerminal;
pub use terminal::{TerminalCommand, TerminalFuture, TerminalOutput, TerminalRun, VisibleTerminal};

/// The configuration of a [`TerminalExecutor`].
#[derive(Clone, Debug)]
pub struct ExecutorConfiguration {
    /// The caller's id of the session.
    pub session: String,
    /// The agent; commands of other programs are refused.
    pub agent: OsString,
    /// The environment of a [`PtyTerminal`].
    pub env: Environment,
    /// The conversation to resume, if any.
    pub conversation: Option<String>,
    /// The hooks; `SessionStart` and `SessionEnd` are always included.
    pub hooks: HookConfiguration,
    /// Time limit of a command; `None` for no limit, as when a user continues the session.
    pub longest_run: Option<Duration>,
    /// Time for the process to exit after its session has ended.
    pub exit_grace: Duration,
    /// Time for the `SessionEnd` hook to arrive after the process has exited.
    pub hook_grace: Duration,
    /// Time for the terminal to end a command that is aborted.
    pub end_grace: Duration,
}

impl ExecutorConfiguration {
    /// Creates a configuration for `claude` with the environment of this process. A command may run for
    /// a day, the exit may come 10 s after the hook, the hook 2 s after the exit: hooks run before it.
    pub fn new(session: impl Into<String>) -> Self {
        Self {
            session: session.into(),
            agent: "claude".into(),
            env: Environment::inherited(),
            conversation: None,
            hooks: HookConfiguration::default(),
            longest_run: Some(Duration::from_secs(24 * 60 * 60)),
            exit_grace: Duration::from_secs(10),
            hook_grace: Duration::from_secs(2),
            end_grace: Duration::from_secs(10),
        }
    }
}

/// A command for the agent.
#[derive(Clone, Debug)]
pub struct ExecutorCommand {
    /// The caller's id of this interaction: up to 128 letters, digits, dashes, dots and underscores.
    pub interaction: String,
    /// The agent, as a name or a path. With an empty one, the command succeeds at once.
    pub program: OsString,
    /// The prompt. It is passed in an unlinked file, never in an argument.
    pub prompt: Option<SecretString>,
    /// The agent's options. [`Conversation::New`](bowline_lifecycle::Conversation::New) resumes the
    /// session's conversation, once there is one.
    pub options: AgentOptions,
    /// The agent's working directory.
    pub cwd: Option<PathBuf>,
    /// Additional variables.
    pub variables: BTreeMap<String, SecretString>,
}

impl ExecutorCommand {
    /// Creates a command with a prompt for an interactive agent.
    pub fn new(interaction: impl Into<String>, prompt: impl Into<String>) -> Self {
        Self {
            interaction: interaction.into(),
            program: "claude".into(),
            prompt: Some(SecretString::from(prompt.into())),
            options: AgentOptions {
                mode: AgentMode::Interactive,
                ..AgentOptions::default()
            },
            cwd: None,
            variables: BTreeMap::new(),
        }
    }
}

/// The result of [`TerminalExecutor::cleanup`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExecutorReport {
    /// The hook server's counters.
    pub hooks: HookReport,
}

/// Runs an agent in a visible terminal, for one session.
///
/// The executor owns the terminal and a hook server. [`cleanup`](Self::cleanup) ends both and waits for
/// it; dropping the executor ends them, too. The file of a prompt lives as long as its command.
#[derive(Debug)]
pub struct TerminalExecutor {
    configuration: ExecutorConfiguration,
    terminal: Arc<dyn VisibleTerminal>,
    server: Mutex<Option<HookServer>>,
    conversation: Mutex<Option<String>>,
    closing: watch::Sender<bool>,
    /// One command at a time: two agents must not write to one conversation.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl TerminalExecutor {
    /// Starts the hook server. The terminal is opened with the first command.
    ///
    /// # Errors
    ///
    /// The hook server cannot be started; without it the end of a session is not detected.
    pub async fn start(
        mut configuration: ExecutorConfiguration,
        terminal: Arc<dyn VisibleTerminal>,
    ) -> Result<Self, ExecutorError> {
        if let Some(kinds) = &mut configuration.hooks.kinds {
            for kind in [HookKind::SessionStart, HookKind::SessionEnd] {
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
        }
        let server = HookServer::start(configuration.hooks.clone()).await?;
        Ok(Self {
            conversation: Mutex::new(configuration.conversation.clone()),
            configuration,
            terminal,
            server: Mutex::new(Some(server)),
            closing: watch::Sender::new(false),
            turn: Arc::default(),
        })
    }

    /// Returns the id of the latest conversation.
    #[must_use]
    pub fn conversation(&self) -> Option<String> {
        self.conversation.lock().clone()
    }

    /// Returns a reader of the hooks from now on; `None` after the cleanup.
    #[must_use]
    pub fn subscribe(&self) -> Option<HookSubscription> {
        self.server.lock().as_ref().map(HookServer::subscribe)
    }

    /// Takes the questions of the hooks' gate; `None` after the first call.
    #[must_use]
    pub fn questions(&self) -> Option<HookQuestions> {
        self.server.lock().as_mut()?.questions()
    }

    /// Runs a command and waits until its process has exited *and* its session has ended, each for a
    /// bounded time; [`CommandResult::evidence`] names what is missing. The agent is first asked for its
    /// version, once for each program file, to receive the hooks that it knows.
    ///
    /// Commands of one executor run one after another. Dropping the future ends the command.
    ///
    /// # Errors
    ///
    /// The command is for another program or has conflicting options, the hooks need a newer agent, the
    /// terminal failed, or the executor was cleaned up. A command that fails is not an error.
    pub async fn execute(&self, command: ExecutorCommand) -> Result<CommandResult, ExecutorError> {
        if command.program.to_string_lossy().trim().is_empty() {
            return Ok(CommandResult::nothing());
        }
        let span = info_span!(
            "execute_command",
            session.id = self.configuration.session,
            bowline.interaction.id = command.interaction,
            bowline.command.evidence = Empty,
            process.pid = Empty,
            process.exit.code = Empty,
        );
        let mut closing = self.closing.subscribe();
        tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => Err(ExecutorError::CleanedUp),
            result = self.run(command).instrument(span) => result,
        }
    }

    /// Ends the running command, the terminal and the hook server, and waits until they have ended.
    /// Later commands are refused.
    pub async fn cleanup(&self) -> ExecutorReport {
        self.closing.send_replace(true);
        let _turn = self.turn.lock().await;
        self.terminal.cleanup(&self.configuration.session).await;
        let server = self.server.lock().take();
        let hooks = match server {
            Some(server) => server.stop().await,
            None => HookReport::default(),
        };
        debug!(session = self.configuration.session, "cleaned up");
        ExecutorReport { hooks }
    }

    async fn run(&self, command: ExecutorCommand) -> Result<CommandResult, ExecutorError> {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        let start = Instant::now();
        let (prepared, subscription) = self.prepare(&command).await?;
        info!(
            prompt_bytes = command
                .prompt
                .as_ref()
                .map_or(0, |it| it.expose_secret().len()),
            resumed = self.conversation().as_deref().unwrap_or("none"),
            "starting the agent in a terminal"
        );
        // Drop order: the run first, then its files, then the turn.
        let Started {
            _turn,
            prepared,
            mut run,
        } = self.start_run(prepared, turn).await?;
        let session = run.session();
        let span = Span::current();
        span.record(
            "process.pid",
            session.as_ref().and_then(TerminalSession::pid),
        );
        let mut registration = TerminalRegistry::shared().register_command(session.as_ref());
        let ended = self.session_end(subscription, &command.interaction);
        let collected = evidence::collect(run.ended(), ended, self.timeouts()).await;
        let output = match collected.exit {
            Some(output) => output?,
            // A terminal that cannot end a command has no output either.
            None => timeout(self.configuration.end_grace, run.end())
                .await
                .unwrap_or_default(),
        };
        // Removes the files of prompt and settings.
        drop(prepared);
        if let Some(status) = exit_status(session.as_ref(), output.exit_code).await {
            registration.exited(status, true);
        }
        let evidence = Evidence::of(collected.has_exited, collected.end.is_some());
        let result = CommandResult {
            stdout: output.stdout,
            dropped_bytes: output.dropped_bytes,
            stderr: output.stderr,
            exit_code: output.exit_code,
            duration: start.elapsed(),
            evidence,
            session_end: collected.end,
            conversation: self.conversation(),
        };
        span.record("process.exit.code", result.exit_code);
        span.record("bowline.command.evidence", display(evidence));
        info!("agent ended");
        Ok(result)
    }

    /// Starts a command in a task of its own, so that a cancelled caller does not interrupt the
    /// terminal: its files stay until the start has finished, and the run is ended after it.
    async fn start_run(
        &self,
        prepared: Prepared,
        turn: OwnedMutexGuard<()>,
    ) -> Result<Started, ExecutorError> {
        let terminal = Arc::clone(&self.terminal);
        let starting = async move {
            let run = terminal.start(prepared.command.clone()).await?;
            Ok(Started {
                run,
                prepared,
                _turn: turn,
            })
        };
        match tokio::spawn(starting.in_current_span()).await {
            Ok(started) => started,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is shutting down.
                Err(_) => Err(ExecutorError::CleanedUp),
            },
        }
    }

    async fn prepare(
        &self,
        command: &ExecutorCommand,
    ) -> Result<(Prepared, HookSubscription), ExecutorError> {
        prepare::check(&self.configuration, command)?;
        let agent = prepare::agent_version(&self.configuration, command).await;
        let conversation = self.conversation();
        let server = self.server.lock();
        let server = server.as_ref().ok_or(ExecutorError::CleanedUp)?;
        let hooks = match agent {
            Some(agent) => server.settings_for(&command.interaction, agent)?,
            None => server.settings(&command.interaction)?,
        };
        let variables = server.environment(&command.interaction)?;
        let hooks = AgentHooks {
            agent,
            settings: hooks,
            variables,
        };
        let prepared = prepare::prepare(&self.configuration, conversation, hooks, command)?;
        Ok((prepared, server.subscribe()))
    }

    fn timeouts(&self) -> EvidenceTimeouts {
        EvidenceTimeouts {
            run: self.configuration.longest_run,
            exit: self.configuration.exit_grace,
            hook: self.configuration.hook_grace,
        }
    }

    /// Waits for the `SessionEnd` hook and returns its reason. Updates the conversation meanwhile.
    async fn session_end(&self, mut subscription: HookSubscription, interaction: &str) -> String {
        while let Some(item) = subscription.next().await {
            let HookEventItem::Event(event) = item else {
                continue;
            };
            if &*event.interaction == interaction
                && let Some(reason) = self.on_event(&event)
            {
                debug!(interaction, reason, "session end reported by the agent");
                return reason;
            }
        }
        // The hook server has stopped; only the exit can still be observed.
        std::future::pending().await
    }

    fn on_event(&self, event: &HookEvent) -> Option<String> {
        match &event.payload {
            HookPayload::SessionStart { .. } => {
                event.session_id.clone_into(&mut self.conversation.lock());
                None
            }
            // The session continues under another id.
            HookPayload::SessionEnd { reason, .. } if is_change(reason) => None,
            HookPayload::SessionEnd { reason, .. } => {
                // Without a `SessionStart`, the end names the conversation.
                if event.session_id.is_some() {
                    event.session_id.clone_into(&mut self.conversation.lock());
                }
                Some(reason.clone())
            }
            _ => None,
        }
    }
}

/// A running command. Dropping it ends the run, then removes its files.
struct Started {
    run: Box<dyn TerminalRun>,
    prepared: Prepared,
    _turn: OwnedMutexGuard<()>,
}

/// Returns how the process ended, if the terminal knows.
async fn exit_status(session: Option<&TerminalSession>, code: Option<i32>) -> Option<ExitStatus> {
    match session {
        // It has exited by now, unless it could not be killed.
        Some(session) => {
            let exited = timeout(Duration::ZERO, session.exited()).await;
            exited.ok().map(|exit| exit.status)
        }
        None => code.map(ExitStatus::Code),
    }
}

/// Whether the session only switches to another conversation (`crates/jsonl/PROTOCOL.md`, Hooks).
fn is_change(reason: &str) -> bool {
    matches!(reason, "clear" | "resume")
}
