//! System calls of a guard process.

use std::io;
use std::os::fd::{BorrowedFd, FromRawFd as _, OwnedFd};

use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_getfd, fcntl_setfd};
use rustix::process::Pid;
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stderr, stdin, stdout};

use super::launch::EXTRA;
use super::reap::exit_code;
use crate::exit::ExitStatus;

/// Why [`GuardEvents::wait`](super::GuardEvents::wait) returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// The link to the host is readable, or closed.
    Link,
    /// The host has exited, although its end of the link may still be open in another process.
    HostExited,
    /// A child has ended, or a followed process has changed.
    Processes,
    /// The time is over.
    Timeout,
}

/// Takes ownership of descriptor [`EXTRA`] that this process was started with. Must be called once.
#[expect(unsafe_code, reason = "a number becomes an owned descriptor")]
pub(crate) fn take_extra() -> io::Result<OwnedFd> {
    // SAFETY: only queried; an error if it is not open.
    let given = unsafe { BorrowedFd::borrow_raw(EXTRA) };
    fcntl_getfd(given)?;
    fcntl_setfd(given, FdFlags::CLOEXEC)?;
    // SAFETY: it is open, and the guard has just started, so no other code uses this number.
    Ok(unsafe { OwnedFd::from_raw_fd(EXTRA) })
}

/// Takes this process's three standard streams and replaces them by `/dev/null`.
pub(crate) fn take_stdio() -> io::Result<[OwnedFd; 3]> {
    let above = EXTRA + 1;
    let taken = [
        fcntl_dupfd_cloexec(stdin(), above)?,
        fcntl_dupfd_cloexec(stdout(), above)?,
        fcntl_dupfd_cloexec(stderr(), above)?,
    ];
    let null = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    Ok(taken)
}

/// Ignores the signals that would end a guard early; only SIGKILL ends it. SIGPIPE is ignored
/// because the host may die during a write to it.
#[expect(unsafe_code, reason = "signal(2) has no safe form")]
pub(crate) fn ignore_termination_signals() {
    for number in [
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
        libc::SIGPIPE,
    ] {
        // SAFETY: SIG_IGN is not a handler function.
        unsafe { libc::signal(number, libc::SIG_IGN) };
    }
}

/// Returns any child that has ended, and its status, without reaping it.
#[expect(
    unsafe_code,
    reason = "rustix does not return the pid that waitid(2) found"
)]
pub(crate) fn ended_child() -> Option<(Pid, ExitStatus)> {
    let look = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: all zeroes is a valid `siginfo_t`, which the call fills in; its two fields are those
    // of SIGCHLD, or zero if no child has ended.
    let (pid, code, status) = unsafe {
        let mut found: libc::siginfo_t = std::mem::zeroed();
        if libc::waitid(libc::P_ALL, 0, &raw mut found, look) < 0 {
            return None;
        }
        (found.si_pid(), found.si_code, found.si_status())
    };
    let status = match code {
        libc::CLD_EXITED => exit_code(status),
        libc::CLD_KILLED | libc::CLD_DUMPED => ExitStatus::Signal(status),
        _ => ExitStatus::Unknown,
    };
    Some((Pid::from_raw(pid)?, status))
}
