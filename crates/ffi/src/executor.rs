//! Runs the agent in a terminal that somebody sees.

mod host;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::core;
use bytes::Bytes;

use crate::cancellation::{Cancellation, unless};
use crate::counters::Kind;
use crate::environment::{EnvironmentChanges, TerminalSize};
use crate::error::{BowlineError, Outcome};
use crate::hooks::{
    HookConfiguration, HookQuestionStream, HookReply, HookReport, HookStream, OpenQuestions,
};
use crate::mirror::mirror;
use crate::options::AgentOptions;
use crate::outcome::millis;
use crate::runtime::{Held, call, finish, wait};

pub use host::{HostTerminal, HostTerminalCommand, TerminalOutput};

use host::Bridge;

/// What an executor is made from.
#[derive(Clone, Debug, uniffi::Record)]
pub struct ExecutorConfiguration {
    /// The host's name for the session.
    pub session: String,
    /// The agent: commands of any other program are refused. The engine's when absent.
    #[uniffi(default = None)]
    pub agent: Option<String>,
    /// Changes of the environment that a terminal of our own starts with.
    #[uniffi(default = None)]
    pub environment: Option<EnvironmentChanges>,
    /// The conversation that the session is about, if it has one.
    #[uniffi(default = None)]
    pub conversation: Option<String>,
    /// The hooks. `SessionStart` and `SessionEnd` are always among them.
    #[uniffi(default = None)]
    pub hooks: Option<HookConfiguration>,
    /// How long a command may run, in milliseconds; 0 for ever. A day when absent.
    #[uniffi(default = None)]
    pub longest_run_ms: Option<u64>,
    /// How long the process may take to exit after its session has ended, in milliseconds.
    #[uniffi(default = 10000)]
    pub exit_grace_ms: u64,
    /// How long the news of the session's end may take after the exit, in milliseconds.
    #[uniffi(default = 2000)]
    pub hook_grace_ms: u64,
    /// How long a terminal may take to end a command that is given up, in milliseconds.
    #[uniffi(default = 10000)]
    pub end_grace_ms: u64,
    /// The size of a terminal of our own.
    #[uniffi(default = None)]
    pub size: Option<TerminalSize>,
}

/// One command for the agent.
#[derive(Clone, Debug, uniffi::Record)]
pub struct ExecutorCommand {
    /// The host's name for this interaction: up to 128 letters, digits, dashes, dots, underscores.
    pub interaction: String,
    /// What the agent is asked. It travels in a file without a name, never in an argument.
    #[uniffi(default = None)]
    pub prompt: Option<String>,
    /// The agent, as a name or a path; the configuration's when absent. Empty: there is nothing to
    /// do.
    #[uniffi(default = None)]
    pub program: Option<String>,
    /// The agent prints one answer, in the place of a person sitting in front of it.
    #[uniffi(default = false)]
    pub is_print: bool,
    /// Which conversation it is about; the session's own when absent.
    #[uniffi(default = None)]
    pub conversation: Option<crate::Conversation>,
    /// What the agent is told besides.
    #[uniffi(default = None)]
    pub options: Option<AgentOptions>,
    /// The agent's working directory.
    #[uniffi(default = None)]
    pub cwd: Option<String>,
    /// Variables of the host's own: they may be secrets.
    #[uniffi(default)]
    pub variables: HashMap<String, String>,
}

/// What came of a command.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct CommandOutcome {
    /// What the terminal showed, as lines.
    pub stdout: String,
    /// What was written apart from it.
    pub stderr: String,
    /// The exit code; none where the terminal does not know.
    pub exit_code: Option<i32>,
    /// From the start to the last piece of evidence, in milliseconds.
    pub duration_ms: u64,
    /// What shows that it has ended, and what is missing.
    pub evidence: EvidenceKind,
    /// The reason that the agent gave for the session's end.
    pub session_end: Option<String>,
    /// The conversation to resume.
    pub conversation: Option<String>,
}

mirror! {
    /// What shows that a command has ended, and what is missing.
    EvidenceKind = core::Evidence {
        /// There was nothing to do.
        Nothing,
        /// The process has exited and its session has ended.
        Complete,
        /// The process has exited; the end of its session was not told.
        NoSessionEnd,
        /// The session has ended; the process did not exit in time, and was ended.
        NoExit,
        /// The longest time has passed with neither, and the process was ended.
        Neither,
    }
}

/// Runs the agent in a terminal that somebody sees, for one session.
#[derive(uniffi::Object)]
pub struct TerminalExecutor {
    executor: Held<Arc<core::TerminalExecutor>>,
    agent: String,
    pty: Option<(String, Arc<core::PtyTerminal>)>,
    bridge: Option<Arc<Bridge>>,
    open: OpenQuestions,
}

impl std::fmt::Debug for TerminalExecutor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&**self.executor, f)
    }
}

impl TerminalExecutor {
    pub(crate) async fn start(
        it: ExecutorConfiguration,
        agent: Option<String>,
        terminal: Option<Arc<dyn HostTerminal>>,
    ) -> Outcome<Arc<Self>> {
        let mut configuration = core::ExecutorConfiguration::new(it.session.clone());
        let agent = it.agent.or(agent).unwrap_or_else(|| "claude".to_owned());
        configuration.agent = agent.clone().into();
        configuration.env = it.environment.unwrap_or_default().into();
        configuration.conversation = it.conversation;
        configuration.hooks = match it.hooks {
            Some(hooks) => hooks.try_into()?,
            None => core::HookConfiguration::default(),
        };
        if let Some(longest) = it.longest_run_ms {
            let longest = (longest > 0).then(|| Duration::from_millis(longest));
            configuration.longest_run = longest;
        }
        configuration.exit_grace = Duration::from_millis(it.exit_grace_ms);
        configuration.hook_grace = Duration::from_millis(it.hook_grace_ms);
        configuration.end_grace = Duration::from_millis(it.end_grace_ms);
        let size = it.size.map(Into::into).unwrap_or_default();
        let bridge = terminal.map(Bridge::new);
        let (visible, pty): (Arc<dyn core::VisibleTerminal>, _) = match &bridge {
            Some(bridge) => (Arc::clone(bridge) as _, None),
            None => {
                let pty = Arc::new(core::PtyTerminal::new(size));
                (Arc::clone(&pty) as _, Some((it.session, pty)))
            }
        };
        let executor = core::TerminalExecutor::start(configuration, visible).await?;
        Ok(Arc::new(Self {
            executor: Held::new(Kind::Executor, Arc::new(executor)),
            agent,
            pty,
            bridge,
            open: OpenQuestions::default(),
        }))
    }

    fn command(&self, it: ExecutorCommand) -> Outcome<core::ExecutorCommand> {
        let mut options: core::AgentOptions = it.options.unwrap_or_default().try_into()?;
        options.mode = if it.is_print {
            core::AgentMode::Print(core::PrintFormat::Text)
        } else {
            core::AgentMode::Interactive
        };
        options.conversation = it.conversation.map(Into::into).unwrap_or_default();
        let secret = |(name, value)| (name, core::Secret::new(value));
        Ok(core::ExecutorCommand {
            program: it.program.unwrap_or_else(|| self.agent.clone()).into(),
            prompt: it.prompt.map(core::Secret::new),
            options,
            cwd: it.cwd.map(Into::into),
            variables: it.variables.into_iter().map(secret).collect(),
            ..core::ExecutorCommand::new(it.interaction, "")
        })
    }
}

fn cleaned_up() -> BowlineError {
    BowlineError::Ended {
        reason: "hear of hooks: the executor was cleaned up, start another one".to_owned(),
    }
}

#[uniffi::export]
impl TerminalExecutor {
    /// The newest conversation that the session is about.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn conversation(&self) -> Outcome<Option<String>> {
        call(|| Ok(self.executor.conversation()))
    }

    /// The hooks from now on.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Ended`] after the clean-up.
    pub fn hooks(&self) -> Outcome<Arc<HookStream>> {
        call(|| {
            let hooks = self.executor.subscribe().map(HookStream::of);
            hooks.ok_or_else(cleaned_up)
        })
    }

    /// The questions of the hooks' gate, once: there is one who decides.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Busy`] when they were given before, [`BowlineError::Ended`] after the
    /// clean-up.
    pub fn questions(&self) -> Outcome<Arc<HookQuestionStream>> {
        call(|| {
            if self.executor.subscribe().is_none() {
                return Err(cleaned_up());
            }
            self.open.stream(self.executor.questions())
        })
    }

    /// Answers a question.
    ///
    /// # Errors
    ///
    /// As [`HookServer::answer`](crate::HookServer::answer).
    pub fn answer(&self, question: u64, reply: HookReply) -> Outcome<()> {
        call(|| self.open.answer(question, reply))
    }

    /// Waits until a question does not wait any more, as
    /// [`HookServer::withdrawn`](crate::HookServer::withdrawn).
    ///
    /// # Errors
    ///
    /// [`BowlineError::Cancelled`].
    #[uniffi::method(default(cancellation = None))]
    pub async fn withdrawn(
        &self,
        question: u64,
        cancellation: Option<Arc<Cancellation>>,
    ) -> Outcome<()> {
        self.open.wait(question, cancellation).await
    }

    /// Types bytes into the running command's terminal, if it is one of our own.
    ///
    /// # Errors
    ///
    /// [`BowlineError::NotFound`] when no command runs in one, or it has just ended.
    pub async fn type_text(&self, text: String) -> Outcome<()> {
        let running = self
            .pty
            .as_ref()
            .and_then(|(session, pty)| pty.running(session));
        let terminal = running.ok_or_else(|| BowlineError::NotFound {
            reason: "type: no command runs in a terminal of the library, execute one".to_owned(),
        })?;
        finish(async move {
            terminal
                .write(Bytes::from(text))
                .await
                .map_err(|error| BowlineError::NotFound {
                    reason: error.to_string(),
                })
        })
        .await
    }

    /// Runs a command, and waits until its process has exited *and* its session has ended, each for
    /// a bounded time. Commands run one after another. Giving it up ends the command.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Invalid`], [`BowlineError::Configuration`], [`BowlineError::Start`],
    /// [`BowlineError::Host`], [`BowlineError::Ended`] after the clean-up, and
    /// [`BowlineError::Cancelled`].
    #[uniffi::method(default(cancellation = None))]
    pub async fn execute(
        &self,
        command: ExecutorCommand,
        cancellation: Option<Arc<Cancellation>>,
    ) -> Outcome<CommandOutcome> {
        let (executor, command) = (Arc::clone(&self.executor), self.command(command)?);
        wait(unless(cancellation, async move {
            Ok(executor.execute(command).await?.into())
        }))
        .await
    }

    /// Tells that a command in the host's terminal has ended.
    ///
    /// # Errors
    ///
    /// [`BowlineError::NotFound`] when there is no such run, or it was given up.
    pub fn command_ended(&self, run: u64, output: TerminalOutput) -> Outcome<()> {
        call(|| {
            let told = self.bridge.as_ref().is_some_and(|it| it.ended(run, output));
            told.then_some(()).ok_or_else(|| BowlineError::NotFound {
                reason: format!("end the run {run}: there is none, see what was started"),
            })
        })
    }

    /// Ends what is running, the terminal and the server for hooks, and waits until they are gone.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub async fn cleanup(&self) -> Outcome<HookReport> {
        let executor = Arc::clone(&self.executor);
        self.open.clear();
        finish(async move { Ok(executor.cleanup().await.hooks.into()) }).await
    }
}

impl From<core::CommandResult> for CommandOutcome {
    fn from(it: core::CommandResult) -> Self {
        Self {
            stdout: it.stdout,
            stderr: it.stderr,
            exit_code: it.exit_code,
            duration_ms: millis(it.duration),
            evidence: it.evidence.into(),
            session_end: it.session_end,
            conversation: it.conversation,
        }
    }
}
