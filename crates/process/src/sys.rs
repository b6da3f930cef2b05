//! System calls, and the only `unsafe` code. Platform differences are in `linux` and `other`, which
//! export the same names; the other modules are shared.

#[cfg(target_os = "linux")]
mod cgroup;
mod child;
mod descriptor;
mod launch;
#[cfg(target_os = "linux")]
mod oom;
mod process_table;
mod pty;
mod reap;
#[cfg(target_os = "linux")]
mod subreaper;

#[cfg(target_os = "linux")]
#[path = "sys/linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "sys/other.rs"]
mod platform;

#[cfg(target_os = "linux")]
pub(crate) use cgroup::{Group, Nest, clear};
pub(crate) use child::ExitWatch;
pub use child::ignore_write_signals;
pub(crate) use descriptor::{Filled, PIPE_BYTES, pipe, read_into, readable, watch};
pub(crate) use launch::{EXTRA, Image, Launched, Launching, Place, Refusal, Step, launch};
#[cfg(target_os = "linux")]
pub(crate) use oom::{OomCount, score_of_child};
pub use platform::reserve_space;
#[cfg(not(target_os = "linux"))]
pub(crate) use platform::{Group, Nest, OomCount, score_of_child};
pub(crate) use platform::{KEEPS_OUTPUT, grow_pipe, kill, open_directory, usage};
pub use process_table::MARKER;
pub(crate) use process_table::{Process, process_table, record_start_time, with_descendants};
pub(crate) use pty::{
    duplicate_master, line_limit, open_pty, resize, set_mode, terminal_state, window_size,
};
pub(crate) use reap::{await_end, has_ended, reap, wait};
#[cfg(target_os = "linux")]
pub(crate) use subreaper::{
    ChildSignal, adopt_orphans, ended_child, ignore_termination_signals, is_childless, take_extra,
    take_stdio,
};
