//! The shim: a small process that owns one session and outlives the process that started it.
//!
//! [`spawn_shim`] executes a [`ShimProgram`] in a session of its own (setsid(2)) and sends it the
//! session's specification over its standard input. The program calls [`run_shim`], which returns
//! once the child has ended and a client has acknowledged the exit, or a day later; and within a
//! minute of its directory being removed, once no client is connected. The final record
//! ([`SessionInfo`]) and the journal stay in the session's directory of the [`StateDir`].
//!
//! If a shim is killed, its guard kills the process tree of the child (see
//! [`run_guard`](bowline_transport::run_guard), which the program must call first).

mod activity;
mod connect;
mod handshake;
mod hooks;
mod host_data;
mod info;
mod process;
mod socket_path;
mod spawn;
mod spec;
mod state_dir;
mod trash;

pub(crate) use self::connect::is_ours;
pub use self::handshake::SpawnFault;
pub(crate) use self::host_data::UpdateError;
pub use self::info::{SessionInfo, SessionPhase};
pub use self::process::run_shim;
pub use self::spawn::{ShimError, ShimProgram, ShimStarted, spawn_shim};
pub use self::spec::{
    DEFAULT_RING_BYTES, JournalSpec, RING_VARIABLE, SCROLLBACK_VARIABLE, SessionSpec,
    SpecEnvironment, SpecStdio, TerminalMode,
};
pub use self::state_dir::{STATE_VARIABLE, SessionDir, StateDir, StateDirError};
pub(crate) use self::trash::RestoreError;
