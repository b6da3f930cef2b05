//! What a session is made from.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::containment::Containment;
use crate::environment::Environment;
use crate::error::SpawnError;
use crate::log::Overflow;
use crate::program;

/// Bytes kept in memory per stream: 1 MiB, the ring of `bowline`'s design and the most that a
/// pipe holds for an unprivileged user (`/proc/sys/fs/pipe-max-size`).
const DEFAULT_LOG_BYTES: usize = 1 << 20;

/// Bytes of input that may wait: over the largest prompt that hosts send (10 MiB), twice.
const DEFAULT_QUEUE_BYTES: usize = 32 << 20;

/// Everything needed to start one child.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// A name to look up in the child's `PATH`, or a path. A relative path with a slash starts at
    /// the child's working directory.
    pub program: OsString,
    /// What the program is told its own name is; `None` is `program` as it stands here. A shell
    /// takes a leading `-` for a login.
    pub arg0: Option<OsString>,
    /// Arguments after the program's name, passed as exact bytes.
    pub args: Vec<OsString>,
    /// The child's environment.
    pub env: Environment,
    /// The child's working directory; `None` is the host's own.
    pub cwd: Option<PathBuf>,
    /// What the child's standard streams are.
    pub stdio: Stdio,
    /// How much of each stream is kept.
    pub limits: LogLimits,
    /// How much input may wait for the child, and for how long.
    pub input: InputLimits,
    /// The tightest hold to be used; `None` is the tightest that there is.
    pub containment: Option<Containment>,
    /// A program that calls [`run_guard`](crate::run_guard) first of all, such as this very one: it
    /// ends the session's processes if this process is killed. Without one, they outlive a SIGKILL
    /// of the host. Linux only; elsewhere nothing is started.
    pub guard: Option<PathBuf>,
}

impl Configuration {
    /// A program on pipes with the inherited environment and the default limits.
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
            guard: None,
        }
    }

    /// The absolute path of the file that a session made from this would run, by the child's `PATH`
    /// and working directory. Starts nothing: for hosts that hand the program to a shell, whose own
    /// complaint would come too late and without a name.
    ///
    /// # Errors
    ///
    /// As [`make_session`](crate::TerminalEngine::make_session) has them for the program and the
    /// working directory. What only execve(2) tells, such as a missing interpreter, is not seen.
    pub fn find_program(&self) -> Result<PathBuf, SpawnError> {
        let cwd = self.cwd.as_deref();
        cwd.map(program::open_directory).transpose()?;
        let variables = self.env.resolve();
        program::find(&self.program, variables.get(OsStr::new("PATH")), cwd)
    }
}

/// What the child's standard streams are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdio {
    /// Three pipes: exact bytes, a real end of input, stderr apart. For dialogues.
    Pipes,
    /// One terminal for all three. For shells and full-screen programs.
    Pty {
        /// Size at birth.
        size: WindowSize,
        /// What the line discipline does to the bytes.
        mode: PtyMode,
    },
}

/// What a terminal's line discipline does to the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PtyMode {
    /// Nothing: no echo, no line buffer, no translation, no signals from keys.
    Raw,
    /// As a login has it: echo, line editing, `\n` to `\r\n`, signals from keys. Flow control by
    /// ^S and ^Q is off, because a stray ^S in a prompt would stop the output for ever.
    Cooked,
}

/// A terminal's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSize {
    /// Rows of text.
    pub rows: u16,
    /// Columns of text.
    pub cols: u16,
    /// Width in pixels, 0 if unknown.
    #[serde(default)]
    pub width: u16,
    /// Height in pixels, 0 if unknown.
    #[serde(default)]
    pub height: u16,
}

impl WindowSize {
    /// A size in characters, pixels unknown.
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
    /// 24 rows of 80 columns, the VT100's.
    fn default() -> Self {
        Self::new(24, 80)
    }
}

/// How much of each stream is kept in memory, and what happens when it is full.
///
/// Errors always drop the oldest: stderr must never stop a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLimits {
    /// Bytes of output kept.
    pub output_bytes: usize,
    /// Bytes of errors kept.
    pub errors_bytes: usize,
    /// Bytes of these that are kept though every reader has taken them, for readers that come
    /// later: by default all. With 0 a session that rests holds no bytes.
    pub history_bytes: usize,
    /// What a full output log does; `None` blocks on pipes and drops the oldest on a PTY.
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

/// How much input may wait for the child to read it, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputLimits {
    /// Bytes of writes that may wait for the kernel to take them. A single write may be longer if
    /// nothing waits before it.
    pub queue_bytes: usize,
    /// How long a write may make no progress at all before it is given up; `None` waits until the
    /// child ends.
    pub deadline: Option<Duration>,
}

impl Default for InputLimits {
    /// 32 MiB, and no deadline: an agent that is stopped or busy has not failed.
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
