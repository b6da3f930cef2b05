//! The configuration of a shell session.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bowline_transport::{
    Configuration, Containment, Environment, LoginShell, PtyBackend, PtyMode, Stdio,
    TerminationPolicy, WindowSize, default_guard,
};

use crate::line_buffer::LineLimits;

/// The value of `TERM`.
const TERM: &str = "xterm-256color";

/// Fallbacks when the user's login shell does not exist: the default of macOS, of most Linux systems,
/// and POSIX.
const SHELLS: [&str; 3] = ["/bin/zsh", "/bin/bash", "/bin/sh"];

/// Executes the login shell of a runner's user.
#[cfg(feature = "remote")]
const LOGIN_THERE: &str = "exec \"${SHELL:-/bin/sh}\" -l";

/// The configuration of a [`ShellSession`](crate::ShellSession).
#[derive(Clone, Debug)]
pub struct ShellConfiguration {
    /// The program.
    pub program: ShellProgram,
    /// Its environment; `TERM` is overridden with `xterm-256color`.
    pub env: Environment,
    /// Display name of a session at a runner, which `bowline ps` shows. A local session has none.
    pub name: Option<String>,
    /// Labels of a session at a runner, to find it by. Those that begin with `bowline.` are reserved.
    pub labels: BTreeMap<String, String>,
    /// Its working directory, which must exist.
    pub cwd: PathBuf,
    /// The terminal's size; 24 rows of 80 columns by default.
    pub size: WindowSize,
    /// Time without output and input after which the session is idle.
    pub idle_after: Duration,
    /// Longest line, in characters; longer ones are truncated.
    pub max_line: usize,
    /// Number of lines kept for subscribers.
    pub history_lines: usize,
    /// Size of the kept lines, in bytes. The latest line is always kept.
    pub history_bytes: usize,
    /// The policy for ending the session.
    pub termination: TerminationPolicy,
    /// The implementation of the terminal. At a runner, the runner's own applies.
    pub pty_backend: PtyBackend,
    /// The strongest containment to use; `None` for the strongest available.
    pub containment: Option<Containment>,
    /// A program that ends the session's processes if this process is killed; see
    /// [`Configuration::guard`]. The default is [`default_guard`](bowline_lifecycle::default_guard).
    pub guard: Option<PathBuf>,
}

/// The program of a shell session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShellProgram {
    /// The login shell of the user (`SHELL`, else passwd(5)), with `-l`. On a terminal it is also
    /// interactive, so that it reads the same files as in a terminal window.
    #[default]
    Login,
    /// This shell, with `-l`.
    LoginWith(PathBuf),
    /// A program and its arguments.
    Command(OsString, Vec<OsString>),
}

impl ShellConfiguration {
    /// Creates a configuration for the user's login shell in a directory.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self {
            program: ShellProgram::Login,
            env: Environment::inherited(),
            name: None,
            labels: BTreeMap::new(),
            cwd: cwd.into(),
            size: WindowSize::default(),
            idle_after: Duration::from_secs(1),
            max_line: LineLimits::default().max_line,
            history_lines: 1_000,
            history_bytes: 256 << 10,
            termination: TerminationPolicy::default(),
            pty_backend: PtyBackend::default(),
            containment: None,
            guard: None,
        }
    }

    /// Replaces the environment by that of a login shell, for a host that was not started from one.
    /// It is captured once for all sessions; see [`LoginShell::environment`]. If that fails, this
    /// process's own is used. A login shell itself does not need it.
    pub async fn with_login_environment(mut self, shell: &LoginShell) -> Self {
        self.env = shell.environment().await.environment();
        self
    }

    pub(super) async fn terminal(&self) -> Configuration {
        let mut configuration = self.terminal_with(|| (login_shell(), vec!["-l".into()]));
        if configuration.guard.is_none() {
            configuration.guard = default_guard().await.map(Into::into);
        }
        configuration
    }

    /// As `terminal`, for a machine whose login shell is determined there.
    #[cfg(feature = "remote")]
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
        configuration.pty_backend = self.pty_backend;
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
