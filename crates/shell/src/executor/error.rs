//! Why a command was not executed.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use bowline_hooks::HookServerError;
use bowline_lifecycle::CommandError;
use bowline_transport::SpawnError;

/// Why a command was not executed. Nothing is left running.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecutorError {
    /// The command is for another program.
    #[error("{program:?} is not the configured agent; run it in a shell session")]
    NotTheAgent {
        /// The program.
        program: OsString,
    },
    /// The agent is not interactive, and the command has no prompt.
    #[error("the command has no prompt; add one, or choose the interactive mode")]
    NoPrompt,
    /// The executor was cleaned up.
    #[error("the executor was cleaned up; start another one")]
    CleanedUp,
    /// The options conflict.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The hook server failed.
    #[error(transparent)]
    Hooks(#[from] HookServerError),
    /// The prompt or the settings could not be written to a file.
    #[error("cannot write the {what} to a temporary file: {source}; check the temporary directory")]
    File {
        /// `prompt` or `settings`.
        what: &'static str,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The settings to merge hooks into cannot be read.
    #[error("cannot read the settings {}: {reason}", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// The reason.
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
    /// The terminal of the host failed, with this message.
    #[error("the terminal failed: {0}; open another one")]
    Host(String),
}
