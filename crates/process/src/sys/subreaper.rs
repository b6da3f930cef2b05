//! System calls of the guard. Linux only.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd as _, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, FdFlags, fcntl_dupfd_cloexec, fcntl_getfd, fcntl_setfd};
use rustix::process::Pid;
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stderr, stdin, stdout};

use super::launch::EXTRA;
use crate::exit::ExitStatus;

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

/// Makes this process the subreaper of its descendants (prctl(2), `PR_SET_CHILD_SUBREAPER`).
#[expect(unsafe_code, reason = "prctl(2) has no safe form")]
pub(crate) fn adopt_orphans() -> io::Result<()> {
    // SAFETY: the call takes numbers only.
    match unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
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
        libc::CLD_EXITED => ExitStatus::Code(status),
        libc::CLD_KILLED | libc::CLD_DUMPED => ExitStatus::Signal(status),
        _ => ExitStatus::Unknown,
    };
    Some((Pid::from_raw(pid)?, status))
}

/// Returns whether this process has no child, neither alive nor ended. Children that do not send
/// SIGCHLD count as well (`__WALL`, wait(2)).
#[expect(unsafe_code, reason = "rustix has no `__WALL` for waitid(2)")]
pub(crate) fn is_childless() -> bool {
    let look = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
    // SAFETY: all zeroes is a valid `siginfo_t`, which the call fills in.
    let failed = unsafe {
        let mut found: libc::siginfo_t = std::mem::zeroed();
        libc::waitid(libc::P_ALL, 0, &raw mut found, look) < 0
    };
    failed && io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD)
}

/// Reports ended children through a descriptor (signalfd(2)).
#[derive(Debug)]
pub(crate) struct ChildSignal(OwnedFd);

impl ChildSignal {
    /// Blocks SIGCHLD in the calling thread. For single-threaded processes.
    #[expect(unsafe_code, reason = "signalfd(2) has no safe form")]
    pub(crate) fn new() -> io::Result<Self> {
        let mut set = MaybeUninit::uninit();
        // SAFETY: the set is initialised before it is read, and the number is a new descriptor.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
            libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
            let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
            match libc::signalfd(-1, set.as_ptr(), flags) {
                -1 => Err(io::Error::last_os_error()),
                number => Ok(Self(OwnedFd::from_raw_fd(number))),
            }
        }
    }

    /// Waits until a child has ended or `other` is readable; returns whether `other` is readable.
    pub(crate) fn or_readable(&self, other: impl AsFd) -> io::Result<bool> {
        let mut polled = [
            PollFd::new(&self.0, PollFlags::IN),
            PollFd::new(&other, PollFlags::IN),
        ];
        match poll(&mut polled, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let [_, other] = polled;
        let is_readable = !other.revents().is_empty();
        // Standard signals do not queue (signal(7)), so the content is discarded and all children
        // are checked.
        let mut discarded = [0_u8; size_of::<libc::signalfd_siginfo>()];
        while rustix::io::read(&self.0, &mut discarded).is_ok() {}
        Ok(is_readable)
    }
}
