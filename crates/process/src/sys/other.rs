//! Unix systems other than Linux. Written for macOS and the BSDs; not run by our tests.

use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, ptsname};

use super::Process;
use super::launch::{Fork, Launched};

/// posix_openpt(3) may not support O_CLOEXEC here; [`open_peer`] sets it on both sides.
pub(super) const OPENPT_CLOEXEC: OpenptFlags = OpenptFlags::empty();

/// macOS discards unread output when the last descriptor of the slave side is closed.
pub(crate) const KEEPS_OUTPUT: bool = false;

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

/// Marks the descriptors from 3 to 4,095 close-on-exec.
#[expect(
    unsafe_code,
    reason = "a number that may name no descriptor has no safe form"
)]
pub(super) fn seal_descriptors() {
    for number in 3..4096 {
        // SAFETY: fcntl(2) is async-signal-safe; a number that is not open only returns an error.
        unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// Not available on these systems.
pub(super) fn die_with_parent() {}

/// Not available: libc has no call that all of these systems share.
pub(crate) fn usage(_pid: i32) -> Option<(std::time::Duration, u64)> {
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

/// Forks.
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

pub(super) fn exit_descriptor(_pid: Pid) -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "macos"))]
pub(super) fn pids() -> impl Iterator<Item = i32> {
    std::iter::empty()
}

#[cfg(target_os = "macos")]
#[expect(unsafe_code, reason = "libproc has no safe form")]
pub(super) fn pids() -> impl Iterator<Item = i32> {
    // More than kern.maxproc permits on current Macs.
    let mut pids = vec![0_i32; 16 * 1024];
    let bytes = (pids.len() * size_of::<i32>()) as i32;
    // SAFETY: the buffer has `bytes` bytes and the call writes no more.
    let found = unsafe { libc::proc_listallpids(pids.as_mut_ptr().cast(), bytes) };
    pids.truncate(usize::try_from(found).unwrap_or(0));
    pids.into_iter()
}

#[cfg(not(target_os = "macos"))]
pub(super) fn look_up(_pid: i32) -> Option<Process> {
    None
}

#[cfg(target_os = "macos")]
#[expect(unsafe_code, reason = "libproc has no safe form")]
pub(super) fn look_up(pid: i32) -> Option<Process> {
    // SAFETY: all zeroes is a valid value, the call writes at most `size` bytes into it, and
    // getsid(2) accesses no memory.
    unsafe {
        let mut info: libc::proc_bsdinfo = std::mem::zeroed();
        let size = size_of::<libc::proc_bsdinfo>() as i32;
        let info_at = (&raw mut info).cast();
        let read = libc::proc_pidinfo(pid, libc::PROC_PIDTBSDINFO, 0, info_at, size);
        (read == size).then(|| Process {
            pid,
            parent: info.pbi_ppid.cast_signed(),
            group: info.pbi_pgid.cast_signed(),
            session: libc::getsid(pid),
            start_time: info.pbi_start_tvsec * 1_000_000 + info.pbi_start_tvusec,
            zombie: info.pbi_status == libc::SZOMB,
            marker: None,
        })
    }
}

/// Not implemented on these systems.
pub(super) fn variable(_pid: i32, _name: &str) -> Option<Box<str>> {
    None
}

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
