//! The system calls, and the only `unsafe` code. What differs between systems is in `linux` and
//! `other`, which give the same names; the rest is shared.

mod census;
mod child;
mod descriptor;
mod pty;

#[cfg(target_os = "linux")]
#[path = "sys/linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "sys/other.rs"]
mod platform;

pub use census::MARKER;
pub(crate) use census::{Process, birth, census};
pub(crate) use child::{ExitWatch, ignore_broken_pipes, reap, spawn};
pub(crate) use descriptor::{Filled, PIPE_BYTES, pipe, read_into, readable, watch};
pub(crate) use platform::{KEEPS_OUTPUT, grow_pipe, kill, open_directory};
pub(crate) use pty::{line_limit, open_pty, resize, tty};
