//! macOS, and iOS as far as it permits processes.

pub(crate) mod guard;
mod kqueue;
mod processes;
#[cfg(target_os = "macos")]
mod usage;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::event::kqueue::{EventFilter, EventFlags, ProcessEvents};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, ptsname};

use super::Process;
use super::launch::{Fork, Launched};
use kqueue::Queue;
pub(super) use processes::{Listing, look_up, variable};
#[cfg(target_os = "macos")]
pub(crate) use usage::usage;

// `TIOCSCTTY` is `_IO('t', 97)` in <sys/ttycom.h>: by <sys/ioccom.h>, IOC_VOID (0x2000_0000), the group `t` (0x74) and
// the command 97 (0x61).
const _: () = assert!(libc::TIOCSCTTY == 0x2000_7461);

/// Errors of execve(2) for a file that is no program of this machine, besides ENOEXEC (<sys/errno.h>): one of
/// another processor, or a damaged one.
pub(crate) const BAD_PROGRAM: &[i32] = &[libc::EBADARCH, libc::EBADEXEC, libc::EBADMACHO];

/// `TCP_RXT_CONNDROPTIME` of <netinet/tcp.h>: the time in seconds after which a connection is dropped
/// instead of sending the same bytes again.
const TCP_RXT_CONNDROPTIME: i32 = 0x80;

/// The longest such time, in seconds.
const MAX_CONNDROPTIME: u64 = i32::MAX as u64 / 1000;

/// Closes a TCP connection whose peer does not acknowledge bytes for this time, at least 1 s.
///
/// # Errors
///
/// Errors of setsockopt(2).
#[expect(unsafe_code, reason = "rustix does not know this option")]
pub fn drop_connection_after(socket: impl AsFd, unacknowledged: Duration) -> io::Result<()> {
    // The kernel multiplies it to milliseconds, as an `int`.
    let seconds = unacknowledged.as_secs().clamp(1, MAX_CONNDROPTIME);
    let seconds = i32::try_from(seconds).unwrap_or(1);
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the value is an `int`, whose size is given.
    let failed = unsafe {
        let (value, size) = (
            (&raw const seconds).cast(),
            size_of::<i32>() as libc::socklen_t,
        );
        libc::setsockopt(socket, libc::IPPROTO_TCP, TCP_RXT_CONNDROPTIME, value, size)
    };
    match failed {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns the number of terminals that exist, which is not known here, and how many the system permits
/// (`kern.tty.ptmx_max` of sysctl(3), 511 unless changed).
#[expect(unsafe_code, reason = "sysctlbyname(3) has no safe form")]
pub fn terminal_limits() -> (Option<u32>, Option<u32>) {
    let (mut most, mut size) = (0_u32, size_of::<u32>());
    let none = std::ptr::null_mut();
    // SAFETY: the name is null-terminated; the call writes at most `size` bytes.
    let failed = unsafe {
        let name = c"kern.tty.ptmx_max".as_ptr();
        libc::sysctlbyname(name, (&raw mut most).cast(), &raw mut size, none, 0)
    };
    (
        None,
        (failed == 0 && size == size_of::<u32>()).then_some(most),
    )
}

/// posix_openpt(3) may not support O_CLOEXEC here; [`open_peer`] sets it on both sides.
pub(super) const OPENPT_CLOEXEC: OpenptFlags = OpenptFlags::empty();

/// macOS discards unread output when the last descriptor of the slave side is closed.
pub(crate) const KEEPS_OUTPUT: bool = false;

/// Returns how long this machine has been suspended since boot: CLOCK_MONOTONIC_RAW includes suspended
/// time, CLOCK_UPTIME_RAW does not (clock_gettime(3)).
#[expect(unsafe_code, reason = "rustix does not know these clocks")]
pub fn suspended_time() -> Duration {
    let clock = |id| {
        let mut now = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the call writes to `now` only.
        unsafe { libc::clock_gettime(id, &raw mut now) };
        let seconds = Duration::from_secs(now.tv_sec.try_into().unwrap_or(0));
        seconds + Duration::from_nanos(now.tv_nsec.try_into().unwrap_or(0))
    };
    clock(libc::CLOCK_MONOTONIC_RAW).saturating_sub(clock(libc::CLOCK_UPTIME_RAW))
}

pub(crate) fn open_directory(path: &Path) -> Result<OwnedFd, Errno> {
    open(
        path,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
}

pub(super) fn open_peer(ours: &OwnedFd) -> io::Result<OwnedFd> {
    fcntl_setfd(ours, FdFlags::CLOEXEC)?;
    let name = ptsname(ours, Vec::new())?;
    Ok(open(
        &*name,
        OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
        Mode::empty(),
    )?)
}

/// Not available: opening the slave side may discard unread bytes when it is closed again.
pub(super) fn unread(_ours: &OwnedFd) -> Option<usize> {
    None
}

/// Marks every descriptor from 3 up close-on-exec. May run between fork(2) and execve(2), so the list of open
/// descriptors (`PROC_PIDLISTFDS` of <sys/proc_info.h>) is on the stack; with more, and on iOS, each number
/// that may be open is marked by itself.
#[expect(
    unsafe_code,
    reason = "a number that may name no descriptor has no safe form"
)]
pub fn seal_descriptors() {
    // SAFETY: fcntl(2) is async-signal-safe; a number that is not open only returns an error.
    let seal = |number| unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
    #[cfg(target_os = "macos")]
    {
        const LISTED: usize = 8192;
        let mut open = [libc::proc_fdinfo {
            proc_fd: 0,
            proc_fdtype: 0,
        }; LISTED];
        let size = size_of_val(&open) as i32;
        // SAFETY: the list has `size` bytes, and the call, which only enters the kernel, writes no more.
        let filled = unsafe {
            let list = open.as_mut_ptr().cast();
            libc::proc_pidinfo(libc::getpid(), libc::PROC_PIDLISTFDS, 0, list, size)
        };
        if filled > 0 && filled < size {
            let count = filled as usize / size_of::<libc::proc_fdinfo>();
            for one in open.iter().take(count).filter(|one| one.proc_fd >= 3) {
                seal(one.proc_fd);
            }
            return;
        }
    }
    // SAFETY: the call takes nothing and reads a limit of this process.
    for number in 3..unsafe { libc::getdtablesize() } {
        seal(number);
    }
}

/// Not available: a child outlives its parent.
pub(super) fn die_with_parent() {}

/// Not available: libproc exists on macOS only.
#[cfg(not(target_os = "macos"))]
pub(crate) fn usage(_pid: i32) -> Option<(Duration, u64)> {
    None
}

/// Control groups exist on Linux only; this type has no value.
#[derive(Debug)]
pub(crate) enum Nest {}

impl Nest {
    pub(crate) fn make() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Control groups exist on Linux only; this type has no value.
#[derive(Debug)]
pub(crate) enum Group {}

impl Group {
    pub(crate) fn make(nest: &Nest, _name: &str) -> io::Result<Self> {
        match *nest {}
    }

    pub(crate) fn path(&self) -> &Path {
        match *self {}
    }

    pub(crate) fn directory(&self) -> io::Result<OwnedFd> {
        match *self {}
    }

    pub(crate) fn members(&self) -> Vec<i32> {
        match *self {}
    }

    pub(crate) fn kill(&self) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn is_populated(&self) -> bool {
        match *self {}
    }

    pub(crate) fn remove(&self) -> bool {
        match *self {}
    }
}

/// Does nothing: there are no control groups.
pub(crate) fn clear(_group: &Path) -> io::Result<()> {
    Ok(())
}

/// Not available on these systems.
#[derive(Debug)]
pub(crate) enum OomCount {}

impl OomCount {
    pub(crate) fn of(_pid: i32) -> Option<Self> {
        None
    }

    pub(crate) fn has_grown(&self) -> bool {
        match *self {}
    }
}

pub(crate) fn score_of_child() -> Option<Vec<u8>> {
    None
}

pub(super) fn set_oom_score(_score: &[u8]) {}

/// Forks. posix_spawn(2) would spare a large host the copy of its page tables, but cannot make a terminal
/// the controlling one by its descriptor, nor say which step of the start has failed. The child calls
/// functions of signal-safety(7) only, which fork(2) permits in a process with threads.
///
/// # Safety
///
/// As fork(2) in a process with threads (signal-safety(7)).
#[expect(unsafe_code, reason = "fork(2) has no safe form")]
pub(super) unsafe fn fork(_cgroup: Option<BorrowedFd<'_>>) -> io::Result<Fork> {
    // SAFETY: guaranteed by the caller.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Fork::Child { group: Ok(()) }),
        pid => Ok(Fork::Parent(Launched {
            pid: Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidData)?,
            descriptor: None,
        })),
    }
}

/// Has no effect: the capacity of a pipe cannot be set on these systems.
pub(crate) fn grow_pipe(_pipe: &OwnedFd, _bytes: usize) {}

/// Returns a descriptor that is readable when a child has exited (`NOTE_EXIT` of kqueue(2)), or ESRCH for
/// one that has exited before.
pub(super) fn exit_descriptor(pid: Pid) -> io::Result<OwnedFd> {
    let queue = Queue::new()?;
    let flags = ProcessEvents::EXIT;
    queue.add(EventFilter::Proc { pid, flags }, EventFlags::empty())?;
    Ok(queue.into_descriptor())
}

/// Sends SIGKILL to this process. Another process could only reuse its pid between the check of the start
/// time and the signal.
pub(crate) fn kill(process: &Process) {
    if let Some(pid) = Pid::from_raw(process.pid)
        && look_up(process.pid).map(|now| now.start_time) == Some(process.start_time)
        && let Err(error) = kill_process(pid, Signal::KILL)
    {
        tracing::debug!(process.pid, %error, "cannot kill");
    }
}

/// Not implemented on these systems: reserves nothing.
///
/// # Errors
///
/// None.
pub fn reserve_space(_file: &File, _from: u64, _to: u64) -> io::Result<()> {
    Ok(())
}
