//! What a shell session is made from.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bowline_transport::{
    Configuration, Containment, Environment, Ladder, LoginShell, PtyMode, Stdio, WindowSize,
};

use crate::line_buffer::LineLimits;

/// The terminal that shell sessions say they are (seed 004).
const TERM: &str = "xterm-256color";

/// Where a shell is looked for when the user's own is not there: the shells of macOS, of most Linux
/// systems, and of all.
const SHELLS: [&str; 3] = ["/bin/zsh", "/bin/bash", "/bin/sh"];

/// Becomes the user's login shell.
const LOGIN_THERE: &str = "exec \"${SHELL:-/bin/sh}\" -l";

/// What a shell session is made from.
#[derive(Clone, Debug)]
pub struct ShellConfiguration {
    /// What is run.
    pub program: ShellProgram,
    /// The program's environment. `TERM` is set to `xterm-256color` over it.
    pub env: Environment,
    /// The program's working directory; it must exist.
    pub cwd: PathBuf,
    /// The terminal's size: 24 rows of 80 columns unless said otherwise.
    pub size: WindowSize,
    /// How long the output must be quiet for the session to be idle.
    pub idle_after: Duration,
    /// Longest line that is handed over, in characters.
    pub max_line: usize,
    /// Lines that are kept for subscribers.
    pub history_lines: usize,
    /// Bytes of lines that are kept for subscribers. One line is kept whatever its length.
    pub history_bytes: usize,
    /// How hard the session is ended.
    pub ladder: Ladder,
    /// The tightest hold to be used on the session's processes; `None` is the tightest that there
    /// is.
    pub containment: Option<Containment>,
    /// A program that ends the session's processes if the host is killed, as
    /// [`Configuration::guard`] has it.
    pub guard: Option<PathBuf>,
}

/// What a shell session runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ShellProgram {
    /// The login shell of the user (`SHELL` of the host, else of the user database), with `-l`. On a terminal it is interactive
    /// too, so that it reads every file that a terminal window would.
    #[default]
    Login,
    /// A shell of the host's choice, with `-l`.
    LoginWith(PathBuf),
    /// A program and its arguments.
    Command(OsString, Vec<OsString>),
}

impl ShellConfiguration {
    /// The user's login shell in a directory.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self {
            program: ShellProgram::Login,
            env: Environment::inherited(),
            cwd: cwd.into(),
            size: WindowSize::default(),
            idle_after: Duration::from_secs(1),
            max_line: LineLimits::default().max_line,
            history_lines: 1_000,
            history_bytes: 256 << 10,
            ladder: Ladder::default(),
            containment: None,
            guard: None,
        }
    }

    /// Takes the environment that a login shell makes, in place of this process's own: for programs
    /// of a host that was not started from a shell. A login shell reads its files by itself. The
    /// shell is asked once for all sessions, as [`LoginShell::environment`] has it; one that gives
    /// no answer leaves this process's own.
    pub async fn with_login_environment(mut self, shell: &LoginShell) -> Self {
        self.env = shell.environment().await.environment();
        self
    }

    pub(super) fn terminal(&self) -> Configuration {
        self.terminal_with(|| (login_shell(), vec!["-l".into()]))
    }

    /// The same for a machine whose login shell is not known here: a shell there asks for it.
    pub(super) fn remote_terminal(&self) -> Configuration {
        self.terminal_with(|| ("/bin/sh".into(), vec!["-c".into(), LOGIN_THERE.into()]))
    }

    fn terminal_with(&self, login: impl FnOnce() -> (OsString, Vec<OsString>)) -> Configuration {
        let (program, args) = match &self.program {
            ShellProgram::Login => login(),
            ShellProgram::LoginWith(shell) => (shell.into(), vec!["-l".into()]),
            ShellProgram::Command(program, args) => (program.clone(), args.clone()),
        };
        let mut configuration = Configuration::new(program);
        configuration.args = args;
        configuration.env = self.env.clone();
        configuration.env.set("TERM", TERM);
        configuration.cwd = Some(self.cwd.clone());
        configuration.stdio = Stdio::Pty {
            size: self.size,
            mode: PtyMode::Cooked,
        };
        configuration.containment = self.containment;
        configuration.guard.clone_from(&self.guard);
        configuration
    }

    pub(super) fn line_limits(&self) -> LineLimits {
        LineLimits {
            max_line: self.max_line,
            columns: Some(self.size.cols),
        }
    }
}

fn login_shell() -> OsString {
    let own = LoginShell::of_user().shell;
    if own.is_file() {
        return own.into();
    }
    let found = SHELLS.iter().find(|shell| Path::new(shell).is_file());
    found.unwrap_or(&"/bin/sh").into()
}
