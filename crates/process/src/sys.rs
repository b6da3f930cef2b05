//! The system calls, and the only `unsafe` code. What differs between systems is in `linux` and
//! `other`, which give the same names; the rest is shared.

mod census;
#[cfg(target_os = "linux")]
mod cgroup;
mod child;
mod descriptor;
#[cfg(target_os = "linux")]
mod keeper;
mod launch;
#[cfg(target_os = "linux")]
mod oom;
mod pty;
mod reap;

#[cfg(target_os = "linux")]
#[path = "sys/linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "sys/other.rs"]
mod platform;

pub use census::MARKER;
pub(crate) use census::{Process, birth, census};
#[cfg(target_os = "linux")]
pub(crate) use cgroup::{Group, Nest, clear};
pub(crate) use child::{ExitWatch, ignore_broken_pipes};
pub(crate) use descriptor::{Filled, PIPE_BYTES, pipe, read_into, readable, watch};
#[cfg(target_os = "linux")]
pub(crate) use keeper::{
    ChildSignal, adopt_orphans, ended_child, ignore_polite_signals, take_extra, take_stdio,
};
pub(crate) use launch::{EXTRA, Image, Launched, Place, Refusal, Step, launch};
#[cfg(target_os = "linux")]
pub(crate) use oom::{OomCount, score_of_child};
#[cfg(not(target_os = "linux"))]
pub(crate) use platform::{Group, Nest, OomCount, score_of_child};
pub(crate) use platform::{KEEPS_OUTPUT, grow_pipe, kill, open_directory, usage};
pub(crate) use pty::{line_limit, open_pty, resize, tty, window_size};
pub(crate) use reap::{await_end, has_ended, reap, wait};
