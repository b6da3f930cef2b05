//! System calls, and the only `unsafe` code. Platform differences are in `linux` and `apple`, which
//! export the same names; the other modules are shared.

#[cfg(not(target_os = "linux"))]
mod apple;
#[cfg(target_os = "linux")]
mod cgroup;
mod child;
#[cfg(test)]
mod contract;
mod descriptor;
mod guard;
#[cfg(any(test, not(target_os = "linux")))]
mod kinfo;
mod launch;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(test, not(target_os = "linux")))]
mod mach_time;
#[cfg(target_os = "linux")]
mod oom;
mod process_table;
mod pty;
mod reap;
mod sync;
mod user;

#[cfg(not(target_os = "linux"))]
use apple as platform;
#[cfg(target_os = "linux")]
use linux as platform;

#[cfg(target_os = "linux")]
pub(crate) use cgroup::{Group, Nest, clear};
pub(crate) use child::ExitWatch;
pub use child::ignore_write_signals;
pub(crate) use descriptor::{ExitDescriptor, Filled, PIPE_BYTES, pipe, read_into, readable, watch};
pub(crate) use guard::{Wake, ended_child, ignore_termination_signals, take_extra, take_stdio};
pub(crate) use launch::{EXTRA, Image, Launched, Launching, Place, Refusal, Step, launch};
#[cfg(target_os = "linux")]
pub(crate) use oom::{OomCount, score_of_child};
pub(crate) use platform::guard::{ADOPTS_ORPHANS, GuardEvents, adopt_orphans, is_childless};
pub(crate) use platform::{BAD_PROGRAM, KEEPS_OUTPUT, grow_pipe, kill, open_directory, usage};
#[cfg(not(target_os = "linux"))]
pub(crate) use platform::{Group, Nest, OomCount, clear, score_of_child};
pub use platform::{
    drop_connection_after, reserve_space, seal_descriptors, suspended_time, terminal_limits,
};
pub use process_table::MARKER;
pub(crate) use process_table::{
    Process, is_running, process_table, record_start_time, with_descendants,
};
pub(crate) use pty::{
    duplicate_master, line_limit, open_pty, resize, set_mode, terminal_state, window_size,
};
pub(crate) use reap::{await_end, has_ended, reap, wait};
pub use sync::sync_file;
pub(crate) use user::login_shell;
