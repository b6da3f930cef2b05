//! The system calls, and the only `unsafe` code. `unix` is shared; `linux` and `other` each give
//! `KEEPS_OUTPUT`, `open_directory`, `open_peer`, `seal_descriptors`, `grow_pipe`, `exit_descriptor`, and the four
//! questions about processes that [`Process`] is the answer to: `census`, `birth`, `carries`,
//! `kill`.

mod child;
mod descriptor;
mod pty;

#[cfg(target_os = "linux")]
#[path = "sys/linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "sys/other.rs"]
mod platform;

pub(crate) use child::{ExitWatch, ignore_broken_pipes, reap, spawn};
pub(crate) use descriptor::{PIPE_BYTES, pipe, read_into, readable, watch};
pub(crate) use platform::{KEEPS_OUTPUT, birth, carries, census, grow_pipe, kill, open_directory};
pub(crate) use pty::{line_limit, open_pty, resize};

/// One line of the system's process table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// When it was started, in the platform's ticks: with the pid, this names a process for good.
    pub(crate) born: u64,
    /// Dead, and not yet reaped by its parent.
    pub(crate) zombie: bool,
}

impl Process {
    pub(crate) fn identity(&self) -> (i32, u64) {
        (self.pid, self.born)
    }
}
