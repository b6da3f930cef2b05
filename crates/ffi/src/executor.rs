//! Runs agent commands in a visible terminal.

#[cfg(not(feature = "full"))]
mod absent;
#[cfg(feature = "full")]
mod bridge;
#[cfg(feature = "full")]
mod convert;
mod host_terminal;

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::cancellation::{Cancellation, cancellable};
use crate::configuration::Conversation;
use crate::core;
use crate::environment::{EnvironmentChanges, TerminalSize};
use crate::error::{BowlineError, Result};
use crate::hooks::{
    HookConfiguration, HookQuestionStream, HookReply, HookReport, HookStream, OpenQuestions,
};
use crate::mirror::mirror;
use crate::options::AgentOptions;
use crate::raw_output::RawStream;
use crate::runtime::{Tracked, abortable, call, uncancelled};

pub use host_terminal::{HostTerminal, HostTerminalCommand, TerminalOutput};

#[cfg(not(feature = "full"))]
use absent::HostTerminalBridge;
#[cfg(feature = "full")]
use bridge::HostTerminalBridge;

/// The configuration of a terminal executor.
#[derive(Clone, Debug, uniffi::Record)]
pub struct ExecutorConfiguration {
    /// The host's name for the session.
    pub session: String,
    /// The agent; commands with another program are refused. The engine's when absent.
    #[uniffi(default = None)]
    pub agent: Option<String>,
    /// Changes to the inherited environment, for a terminal of the library.
    #[uniffi(default = None)]
    pub environment: Option<EnvironmentChanges>,
    /// The id of the conversation to continue.
    #[uniffi(default = None)]
    pub conversation: Option<String>,
    /// The hooks. `SessionStart` and `SessionEnd` are always included.
    #[uniffi(default = None)]
    pub hooks: Option<HookConfiguration>,
    /// How long a command may run, in milliseconds; 0 for no limit, a day when absent.
    #[uniffi(default = None)]
    pub max_run_ms: Option<u64>,
    /// How long the process may take to exit after its session ended, in milliseconds.
    #[uniffi(default = 10000)]
    pub exit_grace_ms: u64,
    /// How long the `SessionEnd` hook may take after the exit, in milliseconds.
    #[uniffi(default = 2000)]
    pub hook_grace_ms: u64,
    /// How long a terminal may take to end a cancelled command, in milliseconds.
    #[uniffi(default = 10000)]
    pub end_grace_ms: u64,
    /// The size of a terminal of the library.
    #[uniffi(default = None)]
    pub size: Option<TerminalSize>,
}

/// A command of the agent.
#[derive(Clone, Debug, uniffi::Record)]
pub struct ExecutorCommand {
    /// The host's name for the interaction: up to 128 letters, digits, `-`, `.` and `_`.
    pub interaction: String,
    /// The prompt. It is passed in an unlinked file, never in an argument.
    #[uniffi(default = None)]
    pub prompt: Option<String>,
    /// The agent's path or name; the configuration's when absent. An empty string runs nothing.
    #[uniffi(default = None)]
    pub program: Option<String>,
    /// Whether the agent prints one answer and exits, instead of running interactively.
    #[uniffi(default = false)]
    pub is_print: bool,
    /// The conversation to open; the session's when absent.
    #[uniffi(default = None)]
    pub conversation: Option<Conversation>,
    /// Further options of the agent.
    #[uniffi(default = None)]
    pub options: Option<AgentOptions>,
    /// The agent's working directory.
    #[uniffi(default = None)]
    pub cwd: Option<String>,
    /// Further variables to set. They may be secrets.
    #[uniffi(default)]
    pub variables: HashMap<String, String>,
}

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct CommandOutcome {
    /// The terminal's output as lines.
    pub stdout: String,
    /// The bytes of the output before `stdout` that were not kept. `stdout` begins at a line all the same.
    pub dropped_bytes: u64,
    /// Output that the terminal kept apart.
    pub stderr: String,
    /// The exit code; absent if the terminal does not know it.
    pub exit_code: Option<i32>,
    /// The time from the start to the last evidence of the end, in milliseconds.
    pub duration_ms: u64,
    /// What shows that the command ended.
    pub evidence: EvidenceKind,
    /// The agent's reason for the end of its session.
    pub session_end: Option<String>,
    /// The id of the conversation to resume.
    pub conversation: Option<String>,
}

mirror! {
    /// What shows that a command ended.
    EvidenceKind = core::Evidence, in "full" {
        /// Nothing was run.
        Nothing,
        /// The process exited and the `SessionEnd` hook arrived.
        Complete,
        /// The process exited; no `SessionEnd` hook arrived in time.
        NoSessionEnd,
        /// The `SessionEnd` hook arrived; the process did not exit in time and was killed.
        NoExit,
        /// The maximum run time passed and the process was killed.
        Neither,
    }
}

/// Runs commands of an agent, one after another, in a terminal that the user can see.
#[derive(uniffi::Object)]
pub struct TerminalExecutor {
    executor: Tracked<Arc<core::TerminalExecutor>>,
    agent: String,
    /// The library's terminal, with the session's name.
    pty: Option<(String, Arc<core::PtyTerminal>)>,
    bridge: Option<Arc<HostTerminalBridge>>,
    questions: OpenQuestions,
}

impl std::fmt::Debug for TerminalExecutor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&**self.executor, f)
    }
}

impl TerminalExecutor {
    /// Returns the terminal of the library, with the session's name.
    fn own_terminal(&self, what: &str) -> Result<(&str, &core::PtyTerminal)> {
        let (session, pty) = self.pty.as_ref().ok_or_else(|| {
            BowlineError::invalid(format!(
                "{what}: the commands run in a terminal of the host; ask that terminal"
            ))
        })?;
        if self.executor.subscribe().is_none() {
            return Err(BowlineError::Ended {
                reason: format!("{what}: the executor was cleaned up; start another one"),
            });
        }
        Ok((session, pty))
    }
}

fn cleaned_up() -> BowlineError {
    BowlineError::Ended {
        reason: "receive hooks: the executor was cleaned up; start another one".to_owned(),
    }
}

#[uniffi::export]
impl TerminalExecutor {
    /// Returns the id of the session's current conversation.
    pub fn conversation(&self) -> Result<Option<String>> {
        call(|| Ok(self.executor.conversation()))
    }

    /// Returns a stream of the hook events from now on.
    ///
    /// # Errors
    ///
    /// `Ended` after `cleanup`.
    pub fn hook_stream(&self) -> Result<Arc<HookStream>> {
        call(|| {
            let hooks = self.executor.subscribe().map(HookStream::new);
            hooks.ok_or_else(cleaned_up)
        })
    }

    /// Returns the stream of the hooks that wait for a decision of the host. It can be taken once.
    ///
    /// # Errors
    ///
    /// `Busy` if the stream was taken before; `Ended` after `cleanup`.
    pub fn question_stream(&self) -> Result<Arc<HookQuestionStream>> {
        call(|| {
            if self.executor.subscribe().is_none() {
                return Err(cleaned_up());
            }
            self.questions.stream(self.executor.questions())
        })
    }

    /// Answers a hook question.
    ///
    /// # Errors
    ///
    /// As `HookServer.answer`.
    pub fn answer(&self, question: u64, reply: HookReply) -> Result<()> {
        call(|| self.questions.answer(question, reply))
    }

    /// Waits until a hook question is closed, like `HookServer.waitForWithdrawal`.
    ///
    /// # Errors
    ///
    /// `Cancelled` if `cancellation` is cancelled.
    #[uniffi::method(default(cancellation = None))]
    pub async fn wait_for_withdrawal(
        &self,
        question: u64,
        cancellation: Option<Arc<Cancellation>>,
    ) -> Result<()> {
        self.questions.wait(question, cancellation).await
    }

    /// Types text into the running command's terminal, if it is a terminal of the library.
    ///
    /// # Errors
    ///
    /// `NotFound` if no command is running in such a terminal.
    pub async fn type_text(&self, text: String) -> Result<()> {
        self.type_bytes(text.into_bytes()).await
    }

    /// Types bytes, such as those of a terminal view, into the running command's terminal.
    ///
    /// # Errors
    ///
    /// As `typeText`.
    pub async fn type_bytes(&self, bytes: Vec<u8>) -> Result<()> {
        let running = self
            .pty
            .as_ref()
            .and_then(|(session, pty)| pty.running(session));
        let terminal = running.ok_or_else(|| BowlineError::NotFound {
            reason: "type text: no command is running in a terminal of the library; call execute \
                     first"
                .to_owned(),
        })?;
        uncancelled(async move {
            let written = terminal.write(Bytes::from(bytes)).await;
            written.map_err(|error| BowlineError::NotFound {
                reason: error.to_string(),
            })
        })
        .await
    }

    /// Returns a stream of the bytes of all commands, one after another, for a terminal view. The newest
    /// megabyte is kept; earlier bytes are a gap. The stream ends with `cleanup`.
    ///
    /// # Errors
    ///
    /// `Invalid` if the commands run in a terminal of the host; `Ended` after `cleanup`.
    pub fn raw_stream(&self) -> Result<Arc<RawStream>> {
        call(|| {
            let (session, pty) = self.own_terminal("read the output")?;
            Ok(RawStream::new(pty.raw_output(session, 0)))
        })
    }

    /// Changes the size of the terminal, also for later commands.
    ///
    /// # Errors
    ///
    /// As `rawStream`.
    pub fn resize(&self, size: TerminalSize) -> Result<()> {
        call(|| {
            let (session, pty) = self.own_terminal("resize the terminal")?;
            pty.resize(session, size.into());
            Ok(())
        })
    }

    /// Runs a command and waits until its process has exited *and* its session has ended, each for a
    /// bounded time.
    ///
    /// Commands run one at a time, in the order of the calls. Cancelling the call ends the command.
    ///
    /// # Errors
    ///
    /// `Invalid` or `Configuration` if the command is not valid; `Start` if it cannot be started;
    /// `Host` if the host's terminal fails; `Ended` after `cleanup`; `Cancelled` if `cancellation` is
    /// cancelled.
    #[uniffi::method(default(cancellation = None))]
    pub async fn execute(
        &self,
        command: ExecutorCommand,
        cancellation: Option<Arc<Cancellation>>,
    ) -> Result<CommandOutcome> {
        let (executor, command) = (Arc::clone(&self.executor), self.command(command)?);
        abortable(cancellable(cancellation, async move {
            Ok(executor.execute(command).await?.into())
        }))
        .await
    }

    /// Reports that a command in the host's terminal has ended.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is no such run, or it was cancelled.
    pub fn command_ended(&self, run: u64, output: TerminalOutput) -> Result<()> {
        call(|| {
            let bridge = self.bridge.as_ref();
            let is_known = bridge.is_some_and(|it| it.command_ended(run, output));
            is_known
                .then_some(())
                .ok_or_else(|| BowlineError::NotFound {
                    reason: format!("report the end of run {run}: no such run is open"),
                })
        })
    }

    /// Ends the running command, the terminal and the hook server, and waits until they are gone.
    pub async fn cleanup(&self) -> Result<HookReport> {
        let executor = Arc::clone(&self.executor);
        self.questions.clear();
        uncancelled(async move { Ok(executor.cleanup().await.hooks.into()) }).await
    }
}
