//! Why a command was not executed.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use bowline_hooks::HookServerError;
use bowline_lifecycle::CommandError;
use bowline_transport::SpawnError;

/// Why a command was not executed. Nothing of it is left behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecutorError {
    /// The command is for another program.
    #[error("execute {program:?}: it is not the agent, run it in a shell session")]
    NotTheAgent {
        /// The program.
        program: OsString,
    },
    /// An agent that takes one prompt was given none.
    #[error("execute: there is no prompt, say what to ask or choose the interactive mode")]
    NoPrompt,
    /// The executor was cleaned up.
    #[error("execute: the session was cleaned up, start another executor")]
    CleanedUp,
    /// The options contradict each other.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// Hooks cannot be had.
    #[error(transparent)]
    Hooks(#[from] HookServerError),
    /// The prompt or the settings could not be put into a file.
    #[error("write the {what} to a file: {source}, check the folder for temporary files")]
    File {
        /// `prompt` or `settings`.
        what: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The settings that hooks are to be added to cannot be read.
    #[error("read the settings {}: {reason}, check the file", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The terminal failed.
    #[error(transparent)]
    Terminal(#[from] TerminalError),
}

/// Why a terminal did not run a command.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TerminalError {
    /// The process could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// A terminal of the host's failed, in its own words.
    #[error("use the terminal: {0}, open another one")]
    Host(String),
}
