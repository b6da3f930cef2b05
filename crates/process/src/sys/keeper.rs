//! What only a guard needs of the system. Linux.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd as _, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, FdFlags, fcntl_dupfd_cloexec, fcntl_getfd, fcntl_setfd};
use rustix::process::Pid;
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stderr, stdin, stdout};

use super::launch::EXTRA;
use crate::exit::ExitStatus;

/// The descriptor that this process was given beside its first three. To be called once.
#[expect(unsafe_code, reason = "a number becomes an owned descriptor")]
pub(crate) fn take_extra() -> io::Result<OwnedFd> {
    // SAFETY: only looked at; an error if it is not open.
    let given = unsafe { BorrowedFd::borrow_raw(EXTRA) };
    fcntl_getfd(given)?;
    fcntl_setfd(given, FdFlags::CLOEXEC)?;
    // SAFETY: it is open, and a guard has just begun: nothing else here knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(EXTRA) })
}

/// This process's own three streams; it goes on without any.
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

/// From now on every orphan among the descendants becomes a child of this process.
#[expect(unsafe_code, reason = "prctl(2) has no safe form")]
pub(crate) fn adopt_orphans() -> io::Result<()> {
    // SAFETY: the call takes numbers only.
    match unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A guard is not talked out of its work: only SIGKILL ends it before its time, and no host that is
/// gone while it is spoken to.
#[expect(unsafe_code, reason = "signal(2) has no safe form")]
pub(crate) fn ignore_polite_signals() {
    for number in [
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
        libc::SIGPIPE,
    ] {
        // SAFETY: SIG_IGN is no handler of ours.
        unsafe { libc::signal(number, libc::SIG_IGN) };
    }
}

/// A child that has ended, whoever it is, and how. It stays as it is.
#[expect(unsafe_code, reason = "rustix does not say whom waitid(2) has found")]
pub(crate) fn ended_child() -> Option<(Pid, ExitStatus)> {
    let look = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: all zeroes is a valid `siginfo_t`, which the call fills in; its two fields are those
    // of SIGCHLD, or zero if nobody has ended.
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

/// Tells of ended children by a descriptor (signalfd(2)).
#[derive(Debug)]
pub(crate) struct ChildSignal(OwnedFd);

impl ChildSignal {
    /// Blocks SIGCHLD in the calling thread. For processes that have but one.
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

    /// Waits until a child has ended or `other` can be read; answers whether it was the latter.
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
        let is_spoken = !other.revents().is_empty();
        // Signals of one kind do not queue: what was told is looked up anyway.
        let mut told = [0_u8; size_of::<libc::signalfd_siginfo>()];
        while rustix::io::read(&self.0, &mut told).is_ok() {}
        Ok(is_spoken)
    }
}
