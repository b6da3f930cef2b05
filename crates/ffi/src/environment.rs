//! What processes are started with and ended by.

use std::collections::HashMap;
use std::time::Duration;

use crate::core;

/// The environment of a process: the host's own, with changes. The variables of an outer agent are
/// taken out.
#[derive(Clone, Debug, Default, PartialEq, Eq, uniffi::Record)]
pub struct EnvironmentChanges {
    /// Begin with nothing instead of the host's variables.
    #[uniffi(default = false)]
    pub is_empty: bool,
    /// Variables to set.
    #[uniffi(default)]
    pub set: HashMap<String, String>,
    /// Variables to take away.
    #[uniffi(default)]
    pub remove: Vec<String>,
}

impl From<EnvironmentChanges> for core::Environment {
    fn from(changes: EnvironmentChanges) -> Self {
        let mut environment = if changes.is_empty {
            Self::empty()
        } else {
            Self::inherited()
        };
        for (name, value) in changes.set {
            environment.set(name, value);
        }
        for name in changes.remove {
            environment.remove(name);
        }
        environment
    }
}

/// How hard a process is ended, step by step. A step of zero is left out.
#[derive(Clone, Copy, Debug, uniffi::Record)]
pub struct EndLadder {
    /// After the end of its input, in milliseconds.
    #[uniffi(default = 2000)]
    pub eof_grace_ms: u64,
    /// After SIGINT, if there is to be one, in milliseconds.
    #[uniffi(default = None)]
    pub interrupt_ms: Option<u64>,
    /// After SIGTERM, in milliseconds.
    #[uniffi(default = 2000)]
    pub term_grace_ms: u64,
    /// How long SIGKILL is repeated until nothing is left, in milliseconds.
    #[uniffi(default = 2000)]
    pub kill_ms: u64,
}

impl From<EndLadder> for core::Ladder {
    fn from(ladder: EndLadder) -> Self {
        Self {
            eof_grace: Duration::from_millis(ladder.eof_grace_ms),
            interrupt: ladder.interrupt_ms.map(Duration::from_millis),
            term_grace: Duration::from_millis(ladder.term_grace_ms),
            kill: Duration::from_millis(ladder.kill_ms),
        }
    }
}

/// How tightly a session's processes are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ContainmentLevel {
    /// By their parentage, their process group and a variable that they inherit.
    Group,
    /// By a guard, which every orphan of theirs falls to.
    Subreaper,
    /// By a control group of the kernel.
    Cgroup,
}

impl From<ContainmentLevel> for core::Containment {
    fn from(level: ContainmentLevel) -> Self {
        match level {
            ContainmentLevel::Group => Self::Group,
            ContainmentLevel::Subreaper => Self::Subreaper,
            ContainmentLevel::Cgroup => Self::Cgroup,
        }
    }
}

/// A terminal's size, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Record)]
pub struct TerminalSize {
    /// Rows of text.
    #[uniffi(default = 24)]
    pub rows: u16,
    /// Columns of text.
    #[uniffi(default = 80)]
    pub columns: u16,
}

impl From<TerminalSize> for core::WindowSize {
    fn from(size: TerminalSize) -> Self {
        Self::new(size.rows, size.columns)
    }
}

/// A signal for a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum SignalKind {
    /// SIGHUP: the terminal is gone.
    Hangup,
    /// SIGINT: what ^C sends.
    Interrupt,
    /// SIGQUIT.
    Quit,
    /// SIGTERM: please end.
    Terminate,
    /// SIGKILL: end.
    Kill,
    /// SIGSTOP: stand still.
    Stop,
    /// SIGCONT: go on.
    Continue,
    /// SIGUSR1.
    User1,
    /// SIGUSR2.
    User2,
}

impl From<SignalKind> for core::Signal {
    fn from(kind: SignalKind) -> Self {
        match kind {
            SignalKind::Hangup => Self::Hangup,
            SignalKind::Interrupt => Self::Interrupt,
            SignalKind::Quit => Self::Quit,
            SignalKind::Terminate => Self::Terminate,
            SignalKind::Kill => Self::Kill,
            SignalKind::Stop => Self::Stop,
            SignalKind::Continue => Self::Continue,
            SignalKind::User1 => Self::User1,
            SignalKind::User2 => Self::User2,
        }
    }
}
