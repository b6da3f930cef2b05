//! Terminals that the host shows: a tab of an editor, a pane, a window.

use std::collections::HashMap;

use crate::error::BowlineError;

/// A terminal that the host shows. Implement it to run commands in the host's own user interface.
///
/// The library calls the methods from its own threads, where they may block.
#[uniffi::export(foreign)]
pub trait HostTerminal: Send + Sync {
    /// Starts a command and returns without waiting for its end.
    ///
    /// Call `TerminalExecutor.commandEnded` with the command's run number once it has ended.
    ///
    /// # Errors
    ///
    /// Throw if the command cannot be started. `TerminalExecutor.execute` then throws `Host`.
    fn start_command(&self, command: HostTerminalCommand) -> Result<(), BowlineError>;

    /// Ends a command that was cancelled. Reporting its end is optional.
    ///
    /// # Errors
    ///
    /// Throw if the command cannot be ended.
    fn end_command(&self, run: u64) -> Result<(), BowlineError>;

    /// Closes the terminal of a session and ends what still runs in it.
    ///
    /// # Errors
    ///
    /// Throw if this fails. The error is logged.
    fn cleanup(&self, session: String) -> Result<(), BowlineError>;
}

/// A command for a terminal of the host.
#[derive(Clone, Debug, uniffi::Record)]
pub struct HostTerminalCommand {
    /// The number of the run, for `commandEnded`.
    pub run: u64,
    /// The host's name for the session. Commands of one session may share a terminal.
    pub session: String,
    /// The host's name for the interaction.
    pub interaction: String,
    /// The agent's path or name.
    pub program: String,
    /// The arguments.
    pub args: Vec<String>,
    /// The command as a line for a POSIX shell, such as `cat FILE | claude …`; absent if it cannot be
    /// written as one.
    pub line: Option<String>,
    /// The variables to set. They contain secrets: pass them in the environment, not in the line.
    pub variables: HashMap<String, String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The file to use as standard input. It is readable until the run has ended.
    pub input: Option<String>,
}

/// The output and exit code of a command in a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq, uniffi::Record)]
pub struct TerminalOutput {
    /// The terminal's output. It begins at a line.
    #[uniffi(default = "")]
    pub stdout: String,
    /// The bytes of the output before `stdout` that were not kept.
    #[uniffi(default = 0)]
    pub dropped_bytes: u64,
    /// Output that the terminal kept apart.
    #[uniffi(default = "")]
    pub stderr: String,
    /// The exit code, if known.
    #[uniffi(default = None)]
    pub exit_code: Option<i32>,
}
