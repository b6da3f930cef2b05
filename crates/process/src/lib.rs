//! Runs one child process, on pipes or on a PTY, and owns every process that it starts.
//!
//! An internal crate of Bowline; its interface may change in any release.
//!
//! A [`LocalProcess`] is one child with its byte streams, its input, its exit and its process tree.
//! Nothing in this crate looks at the bytes. Output goes to an in-memory [`SharedLog`](log::SharedLog)
//! that is addressed by `u64` offsets; what it drops is reported as a [`Piece::Gap`]. Ending a session
//! ends all of its descendants, and the host's death does as well when a guard runs ([`run_guard`]).
//!
//! # Containment
//!
//! An agent starts each tool in a session of its own (setsid(2)), which a signal to the agent's process
//! group does not reach. [`Containment`] is the mechanism that finds the descendants; [`probe`] returns
//! the strongest one that this machine permits:
//!
//! | level | finds | requires |
//! |---|---|---|
//! | `Cgroup` | every descendant from its birth, by the kernel (cgroups(7)) | cgroup v2 with a writable own group |
//! | `Subreaper` | every descendant, by parentage: orphans are reparented to the guard (prctl(2), `PR_SET_CHILD_SUBREAPER`) | Linux and a guard |
//! | `Group` | descendants that are found by parentage, process group, session or the variable [`MARKER`] | nothing |
//!
//! With a guard, `Cgroup` finds orphans by parentage as well: a process that may write to the parent
//! group can move itself out of its own.
//!
//! At `Group` level a descendant that has cleared its environment, left its group and session, and been
//! reparented is not found. macOS has this level only; the environment of restricted programs is hidden
//! there. All levels repeat the kill until no process is left.
//!
//! # Errors before anything is started
//!
//! Program, directory, terminal, pipes and the child's pidfd are acquired first; a missing one is a typed
//! [`SpawnError`], and no process was created. A session uses 4 descriptors on a terminal and 4 on pipes,
//! and one more in a control group or with its own guard.
//!
//! # Platforms
//!
//! macOS is compiled but not run in our tests. On Windows only [`pty_system`] is available, which is
//! portable-pty's ConPTY implementation.

mod byte_budget;
mod child;
mod configuration;
mod containment;
mod deadline;
mod environment;
mod error;
mod exit;
mod guard;
mod inbox;
mod local;
pub mod log;
mod login;
mod members;
pub mod millis;
mod program;
mod pty_system;
mod resource_usage;
mod session_id;
mod signal;
mod stream;
mod sys;
mod terminal_state;
mod termination;
mod threads;

pub use byte_budget::{ByteBudget, ReservedBytes};
pub use configuration::{
    Configuration, InputLimits, LogLimits, PtyBackend, PtyMode, Stdio, WindowSize,
};
pub use containment::{Containment, ContainmentProbe, probe};
pub use deadline::deadline_after;
pub use environment::{Environment, is_sandboxed};
pub use error::{ResizeError, SignalError, SpawnError, WriteError};
pub use exit::{Drained, Exit, ExitStatus};
pub use guard::{default_guard, run_guard};
pub use inbox::Inbox;
pub use local::{LocalProcess, StreamReaders, WriteReceipt};
pub use log::{LogReader, Overflow, Piece};
pub use login::{LoginEnvironment, LoginFailure, LoginShell, LoginSource, Provenance, RESOLVING};
pub use pty_system::{HardenedPtySystem, pty_system};
pub use resource_usage::ResourceUsage;
pub use session_id::{ParseIdError, SessionId};
pub use signal::Signal;
pub use stream::Stream;
pub use sys::{
    MARKER, drop_connection_after, ignore_write_signals, reserve_space, seal_descriptors,
    suspended_time, sync_file, terminal_limits,
};
pub use terminal_state::TerminalState;
pub use termination::{TerminationPolicy, TerminationReport};
pub use threads::check_threads;

/// Private pure functions, exposed to the fuzz targets. Not part of the API.
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz {
    pub use crate::login::fuzz_login as login;
}
