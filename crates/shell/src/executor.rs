//! Runs the agent in a terminal that somebody sees, and tells what came of it.

mod error;
mod outcome;
mod prepare;
mod pty;
mod terminal;
mod waits;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_transport::{Environment, ExitStatus, TerminalSession};
use tokio::sync::{OwnedMutexGuard, watch};
use tokio::time::{Instant, timeout};
use tracing::{Instrument as _, debug, info};

use bowline_hooks::{
    HookConfiguration, HookEvent, HookEventItem, HookKind, HookPayload, HookQuestions, HookReport,
    HookServer, HookSubscription,
};
use bowline_lifecycle::TerminalRegistry;
use bowline_lifecycle::{AgentMode, AgentOptions};
use prepare::Prepared;
use secrecy::{ExposeSecret as _, SecretString};
use waits::Waits;

pub use error::{ExecutorError, TerminalError};
pub use outcome::{CommandResult, Evidence};
pub use pty::PtyTerminal;
pub use terminal::{TerminalCommand, TerminalFuture, TerminalOutput, TerminalRun, VisibleTerminal};

/// What an executor is made from.
#[derive(Clone, Debug)]
pub struct ExecutorConfiguration {
    /// The host's name for the session.
    pub session: String,
    /// The agent: commands of any other program are refused.
    pub agent: OsString,
    /// The environment that a terminal of our own starts with.
    pub env: Environment,
    /// The conversation that the session is about, if it has one.
    pub conversation: Option<String>,
    /// The hooks. `SessionStart` and `SessionEnd` are always among them.
    pub hooks: HookConfiguration,
    /// How long a command may run; none for ever, since a person may sit in front of it.
    pub longest_run: Option<Duration>,
    /// How long the process may take to exit after its session has ended.
    pub exit_grace: Duration,
    /// How long the news of the session's end may take after the process has exited.
    pub hook_grace: Duration,
    /// How long a terminal may take to end a command that is given up.
    pub end_grace: Duration,
}

impl ExecutorConfiguration {
    /// A session of `claude`, with the environment of this process. A command may run for a day; a
    /// missing exit is waited for 10 s, and a missing hook 2 s: hooks run before the exit.
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

/// One command for the agent.
#[derive(Clone, Debug)]
pub struct ExecutorCommand {
    /// The host's name for this interaction: up to 128 letters, digits, dashes, dots, underscores.
    pub interaction: String,
    /// The agent, as a name or a path. Empty: there is nothing to do.
    pub program: OsString,
    /// What the agent is asked. It travels in a file without a name, never in an argument.
    pub prompt: Option<SecretString>,
    /// What the agent is told besides. A new conversation becomes the session's own, resumed.
    pub options: AgentOptions,
    /// The agent's working directory.
    pub cwd: Option<PathBuf>,
    /// Variables of the host's own.
    pub variables: BTreeMap<String, SecretString>,
}

impl ExecutorCommand {
    /// A prompt for an agent that a person may talk to afterwards.
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

/// What an executor leaves behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExecutorReport {
    /// What the hooks brought.
    pub hooks: HookReport,
}

/// Runs the agent in a terminal that somebody sees, for one session.
///
/// It holds three things: the terminal, the server for hooks, and a prompt in a file. The file has
/// no name and goes with its command; [`cleanup`](Self::cleanup) ends the other two and waits for
/// that, and dropping the executor ends them as well.
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
    /// Starts the server for hooks. A terminal is opened with the first command.
    ///
    /// # Errors
    ///
    /// The server cannot be started: without it nobody would know when the session has ended.
    pub async fn start(
        mut configuration: ExecutorConfiguration,
        terminal: Arc<dyn VisibleTerminal>,
    ) -> Result<Self, ExecutorError> {
        let kinds = &mut configuration.hooks.kinds;
        for kind in [HookKind::SessionStart, HookKind::SessionEnd] {
            if !kinds.contains(&kind) {
                kinds.push(kind);
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

    /// The newest conversation that the session is about.
    #[must_use]
    pub fn conversation(&self) -> Option<String> {
        locked(&self.conversation).clone()
    }

    /// A reader of the hooks from now on; none after the clean-up.
    #[must_use]
    pub fn subscribe(&self) -> Option<HookSubscription> {
        locked(&self.server).as_ref().map(HookServer::subscribe)
    }

    /// The questions of the hooks' gate, once.
    #[must_use]
    pub fn questions(&self) -> Option<HookQuestions> {
        locked(&self.server).as_mut()?.questions()
    }

    /// Runs a command, and waits until its process has exited *and* its session has ended, each
    /// for a bounded time: the result names what is missing. An empty command succeeds at once.
    ///
    /// Commands of one session run one after another. Dropping the future ends the command.
    ///
    /// # Errors
    ///
    /// The command is not for the agent or contradicts itself, the terminal has failed, or the
    /// executor was cleaned up. A command that fails is a result.
    pub async fn execute(&self, command: ExecutorCommand) -> Result<CommandResult, ExecutorError> {
        if command.program.to_string_lossy().trim().is_empty() {
            return Ok(CommandResult::nothing());
        }
        let mut closing = self.closing.subscribe();
        tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => Err(ExecutorError::CleanedUp),
            result = self.run(command) => result,
        }
    }

    /// Ends what is running, the terminal and the server for hooks, and waits until they are gone.
    /// Later commands are refused.
    pub async fn cleanup(&self) -> ExecutorReport {
        self.closing.send_replace(true);
        let _turn = self.turn.lock().await;
        self.terminal.cleanup(&self.configuration.session).await;
        let server = locked(&self.server).take();
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
        let (prepared, news) = self.prepare(&command)?;
        info!(
            session = self.configuration.session,
            interaction = command.interaction,
            prompt_bytes = command
                .prompt
                .as_ref()
                .map_or(0, |it| it.expose_secret().len()),
            resumed = self.conversation().as_deref().unwrap_or("none"),
            "the agent is started in a terminal"
        );
        // Bound from the last to go to the first.
        let Started {
            _turn,
            prepared,
            mut run,
        } = self.start_run(prepared, turn).await?;
        let session = run.session();
        let mut registration = TerminalRegistry::shared().register_command(session.as_ref());
        let ended = self.session_end(news, &command.interaction);
        let seen = waits::both(run.ended(), ended, self.waits()).await;
        let output = match seen.exit {
            Some(output) => output?,
            // A terminal that cannot end a command has no output of it either.
            None => timeout(self.configuration.end_grace, run.end())
                .await
                .unwrap_or_default(),
        };
        // The files of prompt and settings are gone from here on.
        drop(prepared);
        if let Some(status) = exit_status(session.as_ref(), output.exit_code).await {
            registration.exited(status, true);
        }
        let evidence = Evidence::of(seen.has_exited, seen.end.is_some());
        let result = CommandResult {
            stdout: output.stdout,
            stderr: output.stderr,
            exit_code: output.exit_code,
            duration: start.elapsed(),
            evidence,
            session_end: seen.end,
            conversation: self.conversation(),
        };
        info!(
            session = self.configuration.session,
            interaction = command.interaction,
            exit_code = result.exit_code,
            %evidence,
            "the agent has ended"
        );
        Ok(result)
    }

    /// Starts a command in a task of its own. A terminal may be in the middle of it when the command
    /// is given up: what it needs stays until then, and what it has started is ended behind that.
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
                // The runtime goes, and the executor with it.
                Err(_) => Err(ExecutorError::CleanedUp),
            },
        }
    }

    fn prepare(
        &self,
        command: &ExecutorCommand,
    ) -> Result<(Prepared, HookSubscription), ExecutorError> {
        let conversation = self.conversation();
        let server = locked(&self.server);
        let server = server.as_ref().ok_or(ExecutorError::CleanedUp)?;
        let prepared = prepare::prepare(&self.configuration, conversation, server, command)?;
        Ok((prepared, server.subscribe()))
    }

    fn waits(&self) -> Waits {
        Waits {
            run: self.configuration.longest_run,
            exit: self.configuration.exit_grace,
            hook: self.configuration.hook_grace,
        }
    }

    /// Waits for the news that the session has ended, and gives the reason. Keeps the conversation
    /// up to date on the way.
    async fn session_end(&self, mut news: HookSubscription, interaction: &str) -> String {
        while let Some(news) = news.next().await {
            let HookEventItem::Event(event) = news else {
                continue;
            };
            if &*event.interaction == interaction
                && let Some(reason) = self.heard(&event)
            {
                debug!(
                    interaction,
                    reason, "the agent has told the end of its session"
                );
                return reason;
            }
        }
        // The server is gone: the process's exit is all that can be waited for.
        std::future::pending().await
    }

    fn heard(&self, event: &HookEvent) -> Option<String> {
        match &event.payload {
            HookPayload::SessionStart { .. } => {
                event.session_id.clone_into(&mut locked(&self.conversation));
                None
            }
            // The session goes on under another id.
            HookPayload::SessionEnd { reason, .. } if is_change(reason) => None,
            HookPayload::SessionEnd { reason, .. } => {
                // Where the session's start was not told, its end names the conversation as well.
                if event.session_id.is_some() {
                    event.session_id.clone_into(&mut locked(&self.conversation));
                }
                Some(reason.clone())
            }
            _ => None,
        }
    }
}

/// A command that runs. Dropped, it is ended first, and then its files go.
struct Started {
    run: Box<dyn TerminalRun>,
    prepared: Prepared,
    _turn: OwnedMutexGuard<()>,
}

/// How the process ended, as far as the terminal knows.
async fn exit_status(session: Option<&TerminalSession>, code: Option<i32>) -> Option<ExitStatus> {
    match session {
        // It has ended by now, unless it cannot be ended.
        Some(session) => {
            let exited = timeout(Duration::ZERO, session.exited()).await;
            exited.ok().map(|exit| exit.status)
        }
        None => code.map(ExitStatus::Code),
    }
}

/// Whether a session's end is only its change to another conversation (protocol, section D.3).
fn is_change(reason: &str) -> bool {
    matches!(reason, "clear" | "resume")
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
