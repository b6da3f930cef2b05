//! Environment, termination and terminal settings of processes.

use std::collections::HashMap;

use crate::core;
use crate::limits::duration;
use crate::mirror::mirror_into;

/// Changes to the environment that a process inherits from the host.
///
/// Variables that an enclosing agent sets for its tools are always removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, uniffi::Record)]
pub struct EnvironmentChanges {
    /// Whether to start from an empty environment instead of the host's.
    #[uniffi(default = false)]
    pub is_empty: bool,
    /// Variables to set.
    #[uniffi(default)]
    pub set: HashMap<String, String>,
    /// Variables to remove.
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

/// How a process and its descendants are terminated: end of input, SIGINT, SIGTERM, SIGKILL.
///
/// Each step waits for its grace period, in milliseconds, before the next one. A step of 0 is skipped, but
/// SIGKILL is always sent to what is left.
#[derive(Clone, Copy, Debug, uniffi::Record)]
pub struct TerminationPolicy {
    /// The time after the input is closed (pipes) or SIGHUP is sent (terminals).
    #[uniffi(default = 2000)]
    pub eof_grace_ms: u64,
    /// The time after SIGINT to the process group; absent to send no SIGINT.
    #[uniffi(default = None)]
    pub interrupt_grace_ms: Option<u64>,
    /// The time after SIGTERM to the process group.
    #[uniffi(default = 2000)]
    pub term_grace_ms: u64,
    /// How long SIGKILL is repeated until no process is left.
    #[uniffi(default = 2000)]
    pub kill_timeout_ms: u64,
}

impl From<TerminationPolicy> for core::TerminationPolicy {
    fn from(policy: TerminationPolicy) -> Self {
        Self {
            eof_grace: duration(policy.eof_grace_ms),
            interrupt: policy.interrupt_grace_ms.map(duration),
            term_grace: duration(policy.term_grace_ms),
            kill: duration(policy.kill_timeout_ms),
        }
    }
}

/// How long an agent may take to exit once its work is done and the session is ended.
///
/// For interactive use, 1,000 ms to answer, 3,000 ms to exit and 1,000 ms after SIGTERM end a session within
/// 5 s.
#[derive(Clone, Copy, Debug, uniffi::Record)]
pub struct ExitPolicy {
    /// The time to answer the request to exit, in milliseconds. After that its input is closed.
    #[uniffi(default = 2000)]
    pub answer_ms: u64,
    /// The time to exit after the request, in milliseconds; as long as `endGraceMs` allows when absent.
    /// After that it gets SIGTERM.
    #[uniffi(default = None)]
    pub exit_ms: Option<u64>,
    /// The time after SIGTERM, in milliseconds. After that its process tree gets SIGKILL.
    #[uniffi(default = 2000)]
    pub term_ms: u64,
}

impl From<ExitPolicy> for core::ExitPolicy {
    fn from(policy: ExitPolicy) -> Self {
        Self {
            answer: duration(policy.answer_ms),
            exit: policy.exit_ms.map_or(Self::LONG.exit, duration),
            term: duration(policy.term_ms),
        }
    }
}

mirror_into! {
    /// How the processes of a session are contained.
    ContainmentLevel = core::Containment {
        /// By parentage, process group and an inherited environment variable.
        Group,
        /// By a guard process that adopts orphaned descendants.
        Subreaper,
        /// By a control group of the kernel.
        Cgroup,
    }
}

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Record)]
pub struct TerminalSize {
    /// The number of rows.
    #[uniffi(default = 24)]
    pub rows: u16,
    /// The number of columns.
    #[uniffi(default = 80)]
    pub columns: u16,
}

impl From<TerminalSize> for core::WindowSize {
    fn from(size: TerminalSize) -> Self {
        Self::new(size.rows, size.columns)
    }
}

mirror_into! {
    /// A signal.
    SignalKind = core::Signal {
        /// SIGHUP.
        Hangup,
        /// SIGINT, as sent by Ctrl-C.
        Interrupt,
        /// SIGQUIT.
        Quit,
        /// SIGTERM.
        Terminate,
        /// SIGKILL.
        Kill,
        /// SIGSTOP.
        Stop,
        /// SIGCONT.
        Continue,
        /// SIGUSR1.
        User1,
        /// SIGUSR2.
        User2,
    }
}
