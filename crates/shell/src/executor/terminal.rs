//! The terminal that a command runs in.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;

use bowline_lifecycle::{AgentCommand, Shell};
use bowline_transport::TerminalSession;
use secrecy::SecretString;

use super::TerminalError;

/// What a terminal answers, later.
pub type TerminalFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A terminal that somebody sees, supplied by the host: a tab of an editor, a pane, a window.
/// [`PtyTerminal`](super::PtyTerminal) is one of our own.
pub trait VisibleTerminal: fmt::Debug + Send + Sync {
    /// Starts a command in the session's terminal.
    fn start(
        &self,
        command: TerminalCommand,
    ) -> TerminalFuture<'_, Result<Box<dyn TerminalRun>, TerminalError>>;

    /// Ends what is left of a session, and waits until it is gone.
    fn cleanup<'a>(&'a self, session: &'a str) -> TerminalFuture<'a, ()>;
}

/// A command that runs in a terminal. Dropped, it is ended.
pub trait TerminalRun: Send {
    /// Waits until the process has exited, and gives what it wrote. May be dropped and asked again.
    fn ended(&mut self) -> TerminalFuture<'_, Result<TerminalOutput, TerminalError>>;

    /// Ends the process now, and gives what it wrote.
    fn end(self: Box<Self>) -> TerminalFuture<'static, TerminalOutput>;

    /// The session that it is, for a terminal of our own. The registry lists what a host supplies
    /// without its process.
    fn session(&self) -> Option<TerminalSession> {
        None
    }
}

/// What a terminal runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TerminalCommand {
    /// The host's name for the session: commands of one session may share a terminal.
    pub session: String,
    /// The host's name for the interaction.
    pub interaction: String,
    /// The agent, its arguments, and the environment that a terminal of our own starts with.
    pub agent: AgentCommand,
    /// The variables to set besides. They hold secrets: set them, do not write them into a line.
    pub variables: BTreeMap<String, SecretString>,
    /// The working directory.
    pub cwd: Option<PathBuf>,
    /// The file that is the agent's standard input. It can be read until the run has ended.
    pub input: Option<PathBuf>,
}

impl TerminalCommand {
    /// The line to type into a terminal: `cat FILE | claude …`. None if a word is not Unicode, or
    /// holds a control character, which a terminal would take for a key.
    #[must_use]
    pub fn line(&self, shell: Shell) -> Option<String> {
        let line = match &self.input {
            Some(file) => self.agent.display_piped(shell, file.as_os_str()),
            None => self.agent.display(shell),
        };
        line.filter(|line| !line.contains(char::is_control))
    }
}

/// What a command wrote, and how its process ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TerminalOutput {
    /// What the terminal showed.
    pub stdout: String,
    /// What was written apart from it.
    pub stderr: String,
    /// The exit code, if the terminal knows it.
    pub exit_code: Option<i32>,
}
