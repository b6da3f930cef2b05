//! Configuration of a child process.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::containment::Containment;
use crate::environment::Environment;
use crate::error::SpawnError;
use crate::log::Overflow;
use crate::program;

/// Default bytes kept in memory per stream: 1 MiB, the largest pipe buffer of an unprivileged
/// process (pipe(7), `/proc/sys/fs/pipe-max-size`).
const DEFAULT_LOG_BYTES: usize = 1 << 20;

/// Default limit of queued input: 32 MiB, three prompts of the largest common size (10 MiB).
const DEFAULT_QUEUE_BYTES: usize = 32 << 20;

/// Configuration of one child process.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// Program: a name that is looked up in the child's `PATH`, or a path. A relative path that
    /// contains a slash is resolved against the child's working directory.
    pub program: OsString,
    /// Value of `argv[0]`; `None` passes `program`. A leading `-` makes a shell a login shell.
    pub arg0: Option<OsString>,
    /// Arguments after `argv[0]`, passed byte for byte.
    pub args: Vec<OsString>,
    /// Environment of the child.
    pub env: Environment,
    /// Working directory of the child; `None` inherits the host's.
    pub cwd: Option<PathBuf>,
    /// Standard streams of the child.
    pub stdio: Stdio,
    /// Memory limits of the stream logs.
    pub limits: LogLimits,
    /// Limits of queued input.
    pub input: InputLimits,
    /// Strongest containment to use; `None` uses the strongest available.
    pub containment: Option<Containment>,
    /// Implementation of the terminal, if `stdio` is one.
    pub pty_backend: PtyBackend,
    /// Program that runs the guard: it calls [`run_guard`](crate::run_guard) first in `main`, and
    /// may be the host's own executable. The guard ends the session's processes if the host is
    /// killed. Without a guard they survive a SIGKILL of the host.
    pub guard: Option<PathBuf>,
}

impl Configuration {
    /// Returns a configuration with pipes, the inherited environment and the default limits.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            arg0: None,
            args: Vec::new(),
            env: Environment::inherited(),
            cwd: None,
            stdio: Stdio::Pipes,
            limits: LogLimits::default(),
            input: InputLimits::default(),
            containment: None,
            pty_backend: PtyBackend::default(),
            guard: None,
        }
    }

    /// Returns the absolute path of the program that this configuration would run, resolved with
    /// the child's `PATH` and working directory.
    ///
    /// Starts nothing. A host that passes the program to a shell can use it to report a missing
    /// program by name before the shell does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`LocalProcess::start`](crate::LocalProcess::start) that concern the
    /// program and the working directory. Errors that only execve(2) detects, such as a missing
    /// interpreter, are not reported.
    pub fn find_program(&self) -> Result<PathBuf, SpawnError> {
        let cwd = self.cwd.as_deref();
        cwd.map(program::open_directory).transpose()?;
        let variables = self.env.resolve();
        program::find(&self.program, variables.get(OsStr::new("PATH")), cwd)
    }
}

/// Kind of the child's standard streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdio {
    /// Three pipes: bytes are unchanged, the input can be closed, and stderr is separate. For line
    /// protocols.
    Pipes,
    /// One pseudoterminal for all three streams (pty(7)). For shells and full-screen programs.
    Pty {
        /// Initial size.
        size: WindowSize,
        /// Mode of the line discipline.
        mode: PtyMode,
    },
}

/// Implementation of portable-pty's traits with which sessions open terminals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PtyBackend {
    /// [`HardenedPtySystem`](crate::HardenedPtySystem), with control groups or a guard.
    #[default]
    Hardened,
    /// portable-pty's `native_pty_system`. `arg0`, `guard` and control groups do not apply: descendants
    /// are found as with [`Containment::Group`]. A program that cannot be executed may count as
    /// started.
    Native,
}

/// Mode of a terminal's line discipline (termios(3)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PtyMode {
    /// Raw: no echo, line buffering, translation or signals from keys.
    Raw,
    /// Cooked, as for a login: echo, line editing, `\n` to `\r\n`, signals from keys. Flow control
    /// by ^S and ^Q is off, since a stray ^S in a prompt would stop the output.
    Cooked,
}

/// Size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSize {
    /// Number of rows.
    pub rows: u16,
    /// Number of columns.
    pub cols: u16,
    /// Width in pixels; 0 if unknown.
    #[serde(default)]
    pub width: u16,
    /// Height in pixels; 0 if unknown.
    #[serde(default)]
    pub height: u16,
}

impl WindowSize {
    /// Maximum number of rows and of columns. Terminals clamp both to at least 1 and at most this, so
    /// that a screen model of any terminal fits into memory.
    pub const MAX: u16 = 1_000;

    pub(crate) fn clamped(self) -> Self {
        Self {
            rows: self.rows.clamp(1, Self::MAX),
            cols: self.cols.clamp(1, Self::MAX),
            ..self
        }
    }

    /// Returns a size in characters; the size in pixels is unknown.
    pub const fn new(rows: u16, cols: u16) -> Self {
        Self {
            rows,
            cols,
            width: 0,
            height: 0,
        }
    }
}

impl Default for WindowSize {
    /// Returns 24 rows by 80 columns, as on a VT100.
    fn default() -> Self {
        Self::new(24, 80)
    }
}

/// Memory limits of the stream logs, and the behavior of a full log.
///
/// The log of stderr always drops its oldest bytes, so that stderr never blocks the child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLimits {
    /// Capacity of the output log in bytes.
    pub output_bytes: usize,
    /// Capacity of the stderr log in bytes.
    pub errors_bytes: usize,
    /// Bytes kept after every reader has read them, for readers that attach later. Defaults to all
    /// of the capacity; with 0 an idle session keeps no bytes.
    pub history_bytes: usize,
    /// Behavior of a full output log; `None` blocks on pipes and drops the oldest bytes on a PTY.
    pub output_overflow: Option<Overflow>,
}

impl Default for LogLimits {
    fn default() -> Self {
        Self {
            output_bytes: DEFAULT_LOG_BYTES,
            errors_bytes: DEFAULT_LOG_BYTES,
            history_bytes: usize::MAX,
            output_overflow: None,
        }
    }
}

/// Limits of queued input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputLimits {
    /// Maximum number of queued bytes that the kernel has not accepted. A single write may exceed
    /// it while the queue is empty.
    pub queue_bytes: usize,
    /// How long a write may make no progress before it fails; `None` waits until the child ends.
    pub deadline: Option<Duration>,
}

impl Default for InputLimits {
    /// Returns 32 MiB and no deadline: an agent that is stopped or busy has not failed.
    fn default() -> Self {
        Self {
            queue_bytes: DEFAULT_QUEUE_BYTES,
            deadline: None,
        }
    }
}

impl LogLimits {
    pub(crate) fn output_overflow(&self, stdio: Stdio) -> Overflow {
        self.output_overflow.unwrap_or(match stdio {
            Stdio::Pipes => Overflow::Block,
            Stdio::Pty { .. } => Overflow::DropOldest,
        })
    }
}
