//! The interface of a visible terminal.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;

use bowline_lifecycle::{AgentCommand, Shell};
use bowline_transport::TerminalSession;
use secrecy::SecretString;

use super::TerminalError;

/// The future of a terminal operation.
pub type TerminalFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A terminal that the user sees, such as a tab, pane or window of the host.
/// [`PtyTerminal`](super::PtyTerminal) implements it with a PTY.
pub trait VisibleTerminal: fmt::Debug + Send + Sync {
    /// Starts a command in the session's terminal.
    fn start(
        &self,
        command: TerminalCommand,
    ) -> TerminalFuture<'_, Result<Box<dyn TerminalRun>, TerminalError>>;

    /// Ends all commands of a session and waits until they have ended.
    fn cleanup<'a>(&'a self, session: &'a str) -> TerminalFuture<'a, ()>;
}

/// A command running in a terminal. Dropping it ends the command.
pub trait TerminalRun: Send {
    /// Waits until the process has exited, and returns its output. Must be cancel safe.
    fn ended(&mut self) -> TerminalFuture<'_, Result<TerminalOutput, TerminalError>>;

    /// Ends the process now, and returns its output.
    fn end(self: Box<Self>) -> TerminalFuture<'static, TerminalOutput>;

    /// Returns the underlying session, if there is one. Without it the registry lists the command
    /// without its process.
    fn session(&self) -> Option<TerminalSession> {
        None
    }
}

/// A command for a [`VisibleTerminal`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TerminalCommand {
    /// The caller's id of the session; commands of one session may share a terminal.
    pub session: String,
    /// The caller's id of the interaction.
    pub interaction: String,
    /// The agent, its arguments, and the environment of a [`PtyTerminal`](super::PtyTerminal).
    pub agent: AgentCommand,
    /// Additional variables. They hold secrets and must not be written into a command line.
    pub variables: BTreeMap<String, SecretString>,
    /// The working directory.
    pub cwd: Option<PathBuf>,
    /// The file for the agent's standard input, readable until the run has ended.
    pub input: Option<PathBuf>,
}

impl TerminalCommand {
    /// Returns the command line to type into a shell: `cat FILE | claude …`. `None` if a word is not
    /// Unicode or has a control character, which a terminal would execute.
    #[must_use]
    pub fn line(&self, shell: Shell) -> Option<String> {
        let line = match &self.input {
            Some(file) => self.agent.display_piped(shell, file.as_os_str()),
            None => self.agent.display(shell),
        };
        line.filter(|line| !line.contains(char::is_control))
    }
}

/// The output and the exit code of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TerminalOutput {
    /// The output in the terminal, which begins at a line.
    pub stdout: String,
    /// Bytes of the output before `stdout` that were not kept.
    pub dropped_bytes: u64,
    /// Standard error, where it is separate.
    pub stderr: String,
    /// The exit code, if the terminal knows it.
    pub exit_code: Option<i32>,
}
