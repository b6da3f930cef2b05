//! Terminal sessions that outlive their hosts.
//!
//! Each session belongs to a shim: a small process of its own that owns the child, its log and its
//! tree. Hosts come and go, the daemon in front of the shims included; a session stays. This crate
//! never loses a byte without saying so, and lets no stale connection do anything.
//!
//! # Words
//!
//! | word | for |
//! |---|---|
//! | shim | the process that owns one session |
//! | client | one connection to a session: a cursor over its streams, never a queue |
//! | lease | what a client may do: read, append or write |
//! | generation | the fencing token of the write lease: older ones are ignored |
//! | epoch | one incarnation of the child; offsets of another are void |

mod aside;
mod client;
mod doors;
mod quiet;
mod screen;
mod serve;
mod session;
mod session_machine;
mod shim;

pub use bowline_transport::wire;
pub use bowline_transport::{Identity, Piece, Stream, TerminalSession};
pub use client::{RunnerClient, RunnerError, RunnerProblem};
pub use screen::{ReplayFilter, SessionScreen, VtEngine};
pub use serve::{
    Certificate, Runner, ServeConfiguration, ServeError, ServeLimits, StopReport, Tls, TlsError,
    TokenError, read_or_create_token, runtime,
};
pub use session::{Child, ChildCommand, ChildEvent, ChildPeer, SessionHandle, SessionStatus};
pub use session_machine::{
    ClientId, Effect, JournalRead, MachineConfiguration, OverflowPolicy, ScreenSnapshot,
    SessionMachine, StreamConfiguration,
};
pub use shim::{
    DEFAULT_RING_BYTES, JournalSpec, RING_VARIABLE, STATE_VARIABLE, SessionDir, SessionInfo,
    SessionPhase, SessionSpec, ShimError, ShimProgram, ShimStarted, SpawnFault, SpecEnvironment,
    SpecStdio, StateDir, StateDirError, TerminalMode, run_shim, spawn_shim,
};

/// What is pure and private, for whoever hunts for inputs that break it: no part of the interface.
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz {
    pub use crate::doors::fuzz_panel as panel;
}
