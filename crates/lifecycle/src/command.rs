//! The agent's command line: typed options in, checked arguments and environment out.

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

/// A checked command: what the system is asked to run.
#[derive(Clone, Debug)]
pub struct AgentCommand {
    /// The agent: a name that is looked up in `PATH`, or a path.
    pub program: OsString,
    /// Its arguments. Every user of the machine can read them: no option puts a secret here.
    pub args: Vec<OsString>,
    /// Its environment.
    pub env: Environment,
}

impl AgentCommand {
    /// The command as a line for a shell, or none if a word is not Unicode or holds a NUL.
    #[must_use]
    pub fn display(&self, shell: Shell) -> Option<String> {
        let args: Option<Vec<&str>> = self.args.iter().map(|arg| word(arg)).collect();
        Some(shell.line(word(&self.program)?, args?))
    }

    /// The same with a file as the agent's standard input: `cat FILE | claude …`.
    #[must_use]
    pub fn display_piped(&self, shell: Shell, file: &OsStr) -> Option<String> {
        let args: Option<Vec<&str>> = self.args.iter().map(|arg| word(arg)).collect();
        Some(shell.piped(word(file)?, word(&self.program)?, args?))
    }
}

fn word(word: &OsStr) -> Option<&str> {
    word.to_str().filter(|word| !word.contains('\0'))
}
