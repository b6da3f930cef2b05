//! What a shell is made from.

use std::time::Duration;

use crate::core;

use crate::configuration::size;
use crate::environment::{ContainmentLevel, EndLadder, EnvironmentChanges, TerminalSize};
use crate::remote::RunnerConfiguration;

/// What a shell session is made from.
#[derive(Clone, Debug, uniffi::Record)]
pub struct ShellConfiguration {
    /// The program's working directory; it must exist.
    pub cwd: String,
    /// The runner that the program runs at; this machine when absent. At a runner it outlives this
    /// host, and what is said here of directories, environment and shells is about its machine.
    #[uniffi(default = None)]
    pub runner: Option<RunnerConfiguration>,
    /// What is run; the user's login shell when absent.
    #[uniffi(default = None)]
    pub program: Option<ShellProgram>,
    /// Changes of the host's environment for the program.
    #[uniffi(default = None)]
    pub environment: Option<EnvironmentChanges>,
    /// The terminal's size; 24 rows of 80 columns when absent.
    #[uniffi(default = None)]
    pub size: Option<TerminalSize>,
    /// How long the output must be quiet for the session to be idle, in milliseconds.
    #[uniffi(default = 1000)]
    pub idle_after_ms: u64,
    /// Longest line that is handed over, in characters.
    #[uniffi(default = 65536)]
    pub max_line: u64,
    /// Lines that are kept for readers.
    #[uniffi(default = 1000)]
    pub history_lines: u64,
    /// Bytes of lines that are kept for readers.
    #[uniffi(default = 262144)]
    pub history_bytes: u64,
    /// How hard the session is ended.
    #[uniffi(default = None)]
    pub ladder: Option<EndLadder>,
    /// The tightest hold to be used on the session's processes; the tightest that there is when
    /// absent.
    #[uniffi(default = None)]
    pub containment: Option<ContainmentLevel>,
    /// A program that ends the session's processes if the host is killed: `bowline`, as a path. The
    /// engine's when absent.
    #[uniffi(default = None)]
    pub guard: Option<String>,
}

/// What a shell session runs.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ShellProgram {
    /// The login shell of the user, with `-l`.
    Login,
    /// A shell of the host's choice, with `-l`.
    LoginWith {
        /// Its path.
        shell: String,
    },
    /// A program and its arguments.
    Command {
        /// The program.
        program: String,
        /// Its arguments.
        args: Vec<String>,
    },
}

impl From<ShellConfiguration> for core::ShellConfiguration {
    fn from(it: ShellConfiguration) -> Self {
        let program = match it.program {
            None | Some(ShellProgram::Login) => core::ShellProgram::Login,
            Some(ShellProgram::LoginWith { shell }) => core::ShellProgram::LoginWith(shell.into()),
            Some(ShellProgram::Command { program, args }) => core::ShellProgram::Command(
                program.into(),
                args.into_iter().map(Into::into).collect(),
            ),
        };
        Self {
            program,
            env: it.environment.unwrap_or_default().into(),
            size: it.size.map(Into::into).unwrap_or_default(),
            idle_after: Duration::from_millis(it.idle_after_ms),
            max_line: size(it.max_line),
            history_lines: size(it.history_lines),
            history_bytes: size(it.history_bytes),
            ladder: it.ladder.map(Into::into).unwrap_or_default(),
            containment: it.containment.map(Into::into),
            guard: it.guard.map(Into::into),
            ..Self::new(it.cwd)
        }
    }
}
