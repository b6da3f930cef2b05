//! Builds the agent's command line from typed options.

mod check;
mod environment;
mod error;
mod flags;
mod options;
mod quote;
mod value;

use std::ffi::{OsStr, OsString};

use bowline_transport::Environment;

pub use environment::AgentEnvironment;
pub use error::CommandError;
pub use options::AgentOptions;
pub use quote::Shell;
pub use value::{
    AgentDocument, AgentMode, AgentText, Effort, PermissionPrompts, PrintFormat, SettingSource,
    SkipPermissions, Thinking,
};

/// A checked command.
#[derive(Clone, Debug)]
pub struct AgentCommand {
    /// The program: a name that is looked up in `PATH`, or a path.
    pub program: OsString,
    /// Its arguments. They are readable for every user of the machine, and contain no secret.
    pub args: Vec<OsString>,
    /// Its environment.
    pub env: Environment,
}

impl AgentCommand {
    /// Returns the command as a line for a shell, or `None` if a word is not UTF-8 or contains a NUL.
    #[must_use]
    pub fn display(&self, shell: Shell) -> Option<String> {
        let args: Option<Vec<&str>> = self.args.iter().map(|arg| word(arg)).collect();
        Some(shell.line(word(&self.program)?, args?))
    }

    /// Like [`display`](Self::display), with a file as standard input: `cat FILE | claude …`.
    #[must_use]
    pub fn display_piped(&self, shell: Shell, file: &OsStr) -> Option<String> {
        let args: Option<Vec<&str>> = self.args.iter().map(|arg| word(arg)).collect();
        Some(shell.piped(word(file)?, word(&self.program)?, args?))
    }
}

fn word(word: &OsStr) -> Option<&str> {
    word.to_str().filter(|word| !word.contains('\0'))
}
