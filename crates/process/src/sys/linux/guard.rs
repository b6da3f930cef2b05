//! The guard on Linux: a subreaper (prctl(2)), which waits with signalfd(2) and pidfd_open(2).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, FromRawFd as _, OwnedFd};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, getppid, pidfd_open};

use super::super::Process;
use super::super::guard::Wake;

/// Orphans become children of the guard, so that it need not follow its descendants.
pub(crate) const ADOPTS_ORPHANS: bool = true;

/// Makes this process the subreaper of its descendants (prctl(2), `PR_SET_CHILD_SUBREAPER`).
#[expect(unsafe_code, reason = "prctl(2) has no safe form")]
pub(crate) fn adopt_orphans() -> io::Result<()> {
    // SAFETY: the call takes numbers only.
    match unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
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

/// What a guard waits for.
#[derive(Debug)]
pub(crate) struct GuardEvents {
    /// Reports ended children.
    children: OwnedFd,
    /// Becomes readable when the host has exited. Kernels before 5.3 have none; the closed link shows it.
    host: Option<OwnedFd>,
}

impl GuardEvents {
    /// Blocks SIGCHLD in the calling thread. For single-threaded processes, before they have children.
    #[expect(unsafe_code, reason = "signalfd(2) has no safe form")]
    pub(crate) fn new(_link: impl AsFd) -> io::Result<Self> {
        let mut set = MaybeUninit::uninit();
        // SAFETY: the set is initialised before it is read, and the number is a new descriptor.
        let children = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
            libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
            let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
            match libc::signalfd(-1, set.as_ptr(), flags) {
                -1 => return Err(io::Error::last_os_error()),
                number => OwnedFd::from_raw_fd(number),
            }
        };
        let host = getppid().and_then(|host| pidfd_open(host, PidfdFlags::empty()).ok());
        Ok(Self { children, host })
    }

    /// Reports changes of a process. Has no effect, since [`ADOPTS_ORPHANS`].
    pub(crate) fn follow(&mut self, _process: &Process) {}

    /// Waits until `link` is readable, the host has exited, a child has ended, or the time is over.
    pub(crate) fn wait(&mut self, link: impl AsFd, until: Option<Instant>) -> io::Result<Wake> {
        let mut polled = vec![
            PollFd::new(&link, PollFlags::IN),
            PollFd::new(&self.children, PollFlags::IN),
        ];
        polled.extend(
            self.host
                .iter()
                .map(|host| PollFd::new(host, PollFlags::IN)),
        );
        let timeout = until.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match poll(&mut polled, timeout.as_ref()) {
            Ok(0) => return Ok(Wake::Timeout),
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let ready: Vec<bool> = polled.iter().map(|one| !one.revents().is_empty()).collect();
        // Standard signals do not queue (signal(7)), so the content is discarded and all children
        // are checked.
        let mut discarded = [0_u8; size_of::<libc::signalfd_siginfo>()];
        while rustix::io::read(&self.children, &mut discarded).is_ok() {}
        Ok(match ready.as_slice() {
            [true, ..] => Wake::Link,
            [_, _, true] => Wake::HostExited,
            _ => Wake::Processes,
        })
    }
}
