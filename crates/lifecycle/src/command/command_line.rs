//! A checked command of the agent.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use bowline_transport::Environment;

use super::check;
use super::error::CommandError;
use super::flags;
use super::options::AgentOptions;
use super::quote::Shell;

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

impl AgentOptions {
    /// Checks the options and builds the command. Paths are relative to `cwd`, the agent's working
    /// directory, or to the host's own.
    ///
    /// # Errors
    ///
    /// The agent would refuse an option, most often with exit code 1 and no output.
    pub fn command(
        &self,
        program: impl Into<OsString>,
        cwd: Option<&Path>,
        env: Environment,
    ) -> Result<AgentCommand, CommandError> {
        check::check(self, cwd)?;
        Ok(AgentCommand {
            program: program.into(),
            args: flags::args(self)?,
            env,
        })
    }
}
