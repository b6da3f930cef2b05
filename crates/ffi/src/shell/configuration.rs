//! The configuration of a shell session.

use std::collections::HashMap;

use crate::core;
use crate::environment::{ContainmentLevel, EnvironmentChanges, TerminalSize, TerminationPolicy};
use crate::error::{BowlineError, Result};
use crate::limits::{duration, positive_size, size};
use crate::remote::RunnerConfiguration;

/// The configuration of a shell session.
#[derive(Clone, Debug, uniffi::Record)]
pub struct ShellConfiguration {
    /// The program's working directory, which must exist.
    pub cwd: String,
    /// The runner to start the program at; a child process of the host when absent. At a runner the
    /// program outlives the host, and paths and variables are those of the runner's machine.
    #[uniffi(default = None)]
    pub runner: Option<RunnerConfiguration>,
    /// The display name of a session at a runner, as its list shows it. A manager's label when absent.
    #[uniffi(default = None)]
    pub name: Option<String>,
    /// Labels of a session at a runner, to find it by. Names that begin with `bowline.` are reserved.
    #[uniffi(default)]
    pub labels: HashMap<String, String>,
    /// The program; the user's login shell when absent.
    #[uniffi(default = None)]
    pub program: Option<ShellProgram>,
    /// Changes to the inherited environment.
    #[uniffi(default = None)]
    pub environment: Option<EnvironmentChanges>,
    /// The terminal's size; 24 rows of 80 columns when absent.
    #[uniffi(default = None)]
    pub size: Option<TerminalSize>,
    /// How long the program must write nothing for the session to be idle, in milliseconds.
    #[uniffi(default = 1000)]
    pub idle_after_ms: u64,
    /// The maximum length of a line, in characters. Longer ones are split. 0 is refused.
    #[uniffi(default = 65536)]
    pub max_line: u64,
    /// The maximum number of lines that are kept for readers.
    #[uniffi(default = 1000)]
    pub history_lines: u64,
    /// The maximum size of the lines that are kept for readers, in bytes.
    #[uniffi(default = 262144)]
    pub history_bytes: u64,
    /// How the program is terminated.
    #[uniffi(default = None)]
    pub termination: Option<TerminationPolicy>,
    /// The strongest process containment to use; the strongest that is available when absent.
    #[uniffi(default = None)]
    pub containment: Option<ContainmentLevel>,
    /// The path of `bowline`, run as a guard that terminates the program if the host is killed; the
    /// engine's when absent.
    #[uniffi(default = None)]
    pub guard: Option<String>,
}

/// The program of a shell session.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ShellProgram {
    /// The user's login shell, with `-l`.
    Login,
    /// A given shell, with `-l`.
    LoginWith {
        /// The shell's path.
        shell: String,
    },
    /// A given command.
    Command {
        /// The program's path or name.
        program: String,
        /// The arguments.
        args: Vec<String>,
    },
}

impl TryFrom<ShellConfiguration> for core::ShellConfiguration {
    type Error = BowlineError;

    fn try_from(it: ShellConfiguration) -> Result<Self> {
        let program = match it.program {
            None | Some(ShellProgram::Login) => core::ShellProgram::Login,
            Some(ShellProgram::LoginWith { shell }) => core::ShellProgram::LoginWith(shell.into()),
            Some(ShellProgram::Command { program, args }) => core::ShellProgram::Command(
                program.into(),
                args.into_iter().map(Into::into).collect(),
            ),
        };
        Ok(Self {
            program,
            name: it.name,
            labels: it.labels.into_iter().collect(),
            env: it.environment.unwrap_or_default().into(),
            size: it.size.map(Into::into).unwrap_or_default(),
            idle_after: duration(it.idle_after_ms),
            max_line: positive_size("maxLine", it.max_line)?,
            history_lines: size(it.history_lines),
            history_bytes: size(it.history_bytes),
            termination: it.termination.map(Into::into).unwrap_or_default(),
            containment: it.containment.map(Into::into),
            guard: it.guard.map(Into::into),
            ..Self::new(it.cwd)
        })
    }
}
