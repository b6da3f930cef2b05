//! One small process for each session, which owns it and outlives whoever started it.
//!
//! [`spawn_shim`] starts one: the same program once more, in a session of its own, told what to run
//! over its standard input. A daemon has a nursery instead, which has loaded the program and copies
//! itself for each. A shim calls [`run_shim`], which ends when the child has ended and somebody has
//! acknowledged that, or after a day; and within a minute of its folder being removed, once nobody is
//! connected. What it leaves is a folder of its [`StateDir`] with a tombstone, [`SessionInfo`], and the
//! journal.
//!
//! A shim that is killed takes the whole tree of its child along (see
//! [`run_guard`](bowline_transport::run_guard), which the program must call first of all).

mod handshake;
mod info;
mod nursery;
mod process;
mod spawn;
mod spec;
mod state_dir;

pub use self::handshake::SpawnFault;
pub use self::info::{SessionInfo, SessionPhase};
pub(crate) use self::nursery::Nurseries;
pub use self::process::run_shim;
pub(crate) use self::spawn::spawn_copy;
pub use self::spawn::{ShimError, ShimProgram, ShimStarted, spawn_shim};
pub use self::spec::{
    DEFAULT_RING_BYTES, JournalSpec, RING_VARIABLE, SessionSpec, SpecEnvironment, SpecStdio,
    TerminalMode,
};
pub use self::state_dir::{STATE_VARIABLE, SessionDir, StateDir, StateDirError};
