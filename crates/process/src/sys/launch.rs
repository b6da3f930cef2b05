//! Starts a process. All memory is allocated before fork(2); between fork(2) and execve(2) the
//! child only makes system calls on prepared data.

use std::collections::BTreeMap;
use std::ffi::{CString, NulError, OsStr, OsString, c_char, c_int};
use std::io::{self, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::Pid;

use super::descriptor::{self, ExitDescriptor};
use super::{platform, reap};

/// Number of the optional fourth descriptor of a child.
pub(crate) const EXTRA: RawFd = 9;

/// The standard signals (signal(7)). execve(2) passes ignored signals on: without a reset, the
/// children of a host under nohup(1) would not react to SIGHUP.
const STANDARD_SIGNALS: std::ops::Range<c_int> = 1..32;

/// Arguments of execve(2) in their final layout.
#[derive(Debug)]
pub(crate) struct Image {
    path: CString,
    args: Strings,
    env: Strings,
}

impl Image {
    /// Creates an image; `args` begin with `argv[0]`.
    pub(crate) fn new<'a>(
        path: &Path,
        args: impl IntoIterator<Item = &'a OsStr>,
        env: &BTreeMap<OsString, OsString>,
    ) -> Result<Self, NulError> {
        let variable = |(name, value): (&OsString, &OsString)| {
            CString::new([name.as_bytes(), b"=", value.as_bytes()].concat())
        };
        Ok(Self {
            path: CString::new(path.as_os_str().as_bytes())?,
            args: Strings::new(args.into_iter().map(|arg| CString::new(arg.as_bytes())))?,
            env: Strings::new(env.iter().map(variable))?,
        })
    }
}

/// Strings with their null-terminated list of pointers.
#[derive(Debug)]
struct Strings {
    pointers: Vec<*const c_char>,
    /// Owners of the strings. These are on the heap, so moving this value does not move them.
    _owned: Vec<CString>,
}

impl Strings {
    fn new(strings: impl Iterator<Item = Result<CString, NulError>>) -> Result<Self, NulError> {
        let owned = strings.collect::<Result<Vec<_>, _>>()?;
        let pointers = owned.iter().map(|string| string.as_ptr());
        Ok(Self {
            pointers: pointers.chain([std::ptr::null()]).collect(),
            _owned: owned,
        })
    }
}

/// Attributes of a child besides its program.
#[derive(Debug)]
pub(crate) struct Place {
    /// Standard streams.
    pub(crate) stdio: [OwnedFd; 3],
    /// Descriptor [`EXTRA`].
    pub(crate) extra: Option<OwnedFd>,
    /// Working directory; `None` inherits it.
    pub(crate) cwd: Option<OwnedFd>,
    /// Whether stdin becomes the controlling terminal.
    pub(crate) tty: bool,
    /// Whether the child is killed when the *thread* that calls [`launch`] ends; for
    /// single-threaded callers (`PR_SET_PDEATHSIG`, prctl(2)). Linux only.
    pub(crate) dies_with_us: bool,
    /// Value to write to the child's `oom_score_adj` (proc_pid_oom_score_adj(5)); `None` inherits
    /// it.
    pub(crate) oom_score: Option<Vec<u8>>,
}

impl Place {
    /// Duplicates descriptors so that none has a number that the child's own will get.
    fn above_targets(self) -> io::Result<Self> {
        let floor = if self.extra.is_some() { EXTRA + 1 } else { 3 };
        let lift = |fd| lift(fd, floor);
        let [stdin, stdout, stderr] = self.stdio;
        Ok(Self {
            stdio: [lift(stdin)?, lift(stdout)?, lift(stderr)?],
            extra: self.extra.map(lift).transpose()?,
            cwd: self.cwd.map(lift).transpose()?,
            ..self
        })
    }
}

fn lift(fd: OwnedFd, floor: RawFd) -> io::Result<OwnedFd> {
    if fd.as_raw_fd() >= floor {
        return Ok(fd);
    }
    Ok(fcntl_dupfd_cloexec(&fd, floor)?)
}

/// A started process.
#[derive(Debug)]
pub(crate) struct Launched {
    pub(crate) pid: Pid,
    /// Becomes readable when the process ends, on systems with such a descriptor.
    pub(crate) descriptor: Option<ExitDescriptor>,
}

/// Reason why a process was not started or could not execute its program. The process is reaped.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) step: Step,
    pub(crate) error: io::Error,
}

impl Refusal {
    /// Creates a refusal from the number of a step and an errno.
    pub(crate) fn of(step: u8, errno: c_int) -> Self {
        let mut steps = Step::ALL.into_iter();
        let step = steps
            .find(|one| *one as u8 == step)
            .unwrap_or(Step::Prepare);
        step.failed(io::Error::from_raw_os_error(errno))
    }
}

/// Step of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Step {
    /// Preparing descriptors and memory in the parent.
    Prepare,
    /// Creating the process.
    Fork,
    /// Entering the control group, from inside the child.
    Group,
    /// Creating the session and setting the controlling terminal.
    Session,
    /// Changing to the working directory.
    Directory,
    /// Executing the program.
    Exec,
}

impl Step {
    pub(crate) const ALL: [Self; 6] = [
        Self::Prepare,
        Self::Fork,
        Self::Group,
        Self::Session,
        Self::Directory,
        Self::Exec,
    ];

    fn failed(self, error: impl Into<io::Error>) -> Refusal {
        Refusal {
            step: self,
            error: error.into(),
        }
    }
}

/// Number of launches of this process that are between fork(2) and execve(2).
static LAUNCHING: AtomicUsize = AtomicUsize::new(0);

/// One launch that is counted until it is dropped.
pub(crate) struct Launching(());

impl Launching {
    pub(crate) fn begin() -> Self {
        LAUNCHING.fetch_add(1, Ordering::SeqCst);
        Self(())
    }

    /// Whether a child may still hold copies of this process's descriptors, which execve(2) closes.
    pub(crate) fn any() -> bool {
        LAUNCHING.load(Ordering::SeqCst) > 0
    }
}

impl Drop for Launching {
    fn drop(&mut self) {
        LAUNCHING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Starts the program as a session leader (setsid(2)), with no descriptors except those of `place`,
/// default dispositions of all standard signals, and inside the control group `cgroup` from its
/// first instruction.
pub(crate) fn launch(
    image: &Image,
    place: Place,
    cgroup: Option<BorrowedFd<'_>>,
) -> Result<Launched, Refusal> {
    let prepared = prepare(place).map_err(|error| Step::Prepare.failed(error))?;
    let (place, report, reply) = prepared;
    let _launching = Launching::begin();
    let launched = fork(image, &place, &reply, cgroup)?;
    drop((place, reply));
    match read_report(report) {
        None => Ok(launched),
        Some(refusal) => {
            // The child has reported its error and is about to exit.
            reap::wait(launched.pid);
            Err(refusal)
        }
    }
}

fn prepare(place: Place) -> io::Result<(Place, OwnedFd, OwnedFd)> {
    let (report, reply) = descriptor::pipe()?;
    Ok((place.above_targets()?, report, lift(reply, EXTRA + 1)?))
}

/// Returns the child's error. On success the pipe is closed by execve(2) without a message.
fn read_report(report: OwnedFd) -> Option<Refusal> {
    let mut words = [0_u8; 5];
    std::fs::File::from(report).read_exact(&mut words).ok()?;
    let [step, a, b, c, d] = words;
    Some(Refusal::of(step, c_int::from_ne_bytes([a, b, c, d])))
}

/// Result of [`platform::fork`], in each of the two processes.
pub(super) enum Fork {
    Child { group: io::Result<()> },
    Parent(Launched),
}

#[expect(unsafe_code, reason = "see `enter`")]
fn fork(
    image: &Image,
    place: &Place,
    reply: &OwnedFd,
    cgroup: Option<BorrowedFd<'_>>,
) -> Result<Launched, Refusal> {
    let reply = reply.as_raw_fd();
    // SAFETY: `enter` makes only calls that are permitted in a forked child.
    let child = |group: io::Result<()>| unsafe { enter(image, place, reply, &group) };
    // SAFETY: as above; all data is prepared.
    unsafe { fork_with(cgroup, child) }.map_err(|error| Step::Fork.failed(error))
}

/// Checks that a process can be created in a control group.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "_exit(2) has no safe form")]
pub(super) fn try_fork(cgroup: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: _exit(2) is async-signal-safe and never returns.
    let child = |group: io::Result<()>| unsafe { libc::_exit(i32::from(group.is_err())) };
    // SAFETY: the child makes no other call.
    let launched = unsafe { fork_with(Some(cgroup), child) }?;
    match reap::wait(launched.pid) {
        crate::exit::ExitStatus::Code(0) => Ok(()),
        _ => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// Forks with all signals blocked, so that no signal handler of the host runs in the child.
///
/// # Safety
///
/// The child starts with a copy of this thread alone. `child` may make async-signal-safe calls only
/// (signal-safety(7)), and must neither allocate nor unwind.
#[expect(unsafe_code, reason = "fork(2) and sigprocmask(2) have no safe form")]
unsafe fn fork_with(
    cgroup: Option<BorrowedFd<'_>>,
    child: impl FnOnce(io::Result<()>),
) -> io::Result<Launched> {
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: sigfillset(3) initialises `all` before it is read, pthread_sigmask(3) `before`.
    let forked = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        platform::fork(cgroup)
    };
    let launched = match forked {
        Ok(Fork::Child { group }) => {
            child(group);
            // SAFETY: async-signal-safe; the child must not return into the host's code.
            unsafe { libc::_exit(127) }
        }
        Ok(Fork::Parent(launched)) => Ok(launched),
        Err(error) => Err(error),
    };
    // SAFETY: `before` is initialised.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    launched
}

/// Executes the program in the forked child, or reports an error and exits.
///
/// # Safety
///
/// Only for a forked process. All calls are async-signal-safe (signal-safety(7)); nothing
/// allocates, locks or unwinds.
#[expect(
    unsafe_code,
    reason = "async-signal-safe calls only, which libc has raw"
)]
unsafe fn enter(image: &Image, place: &Place, reply: RawFd, group: &io::Result<()>) -> ! {
    // SAFETY: the pointers refer to memory that the parent prepared and that is not modified; every
    // number is an open descriptor above all targets.
    unsafe {
        if let Err(error) = group {
            give_up(reply, Step::Group, error.raw_os_error().unwrap_or_default());
        }
        reset_signals();
        if let Some(score) = &place.oom_score {
            platform::set_oom_score(score);
        }
        if let Err(errno) = settle(place) {
            give_up(reply, Step::Session, errno);
        }
        if let Some(cwd) = &place.cwd
            && libc::fchdir(cwd.as_raw_fd()) < 0
        {
            give_up(reply, Step::Directory, errno());
        }
        platform::seal_descriptors();
        if place.extra.is_some() {
            libc::fcntl(EXTRA, libc::F_SETFD, 0);
        }
        let (args, env) = (&image.args.pointers, &image.env.pointers);
        libc::execve(image.path.as_ptr(), args.as_ptr(), env.as_ptr());
        give_up(reply, Step::Exec, errno())
    }
}

/// # Safety
///
/// As [`enter`].
#[expect(
    unsafe_code,
    reason = "async-signal-safe calls only, which libc has raw"
)]
unsafe fn reset_signals() {
    // SAFETY: SIG_DFL is not a handler function; for SIGKILL and SIGSTOP the call merely fails. The
    // set is initialised before it is read.
    unsafe {
        for number in STANDARD_SIGNALS {
            libc::signal(number, libc::SIG_DFL);
        }
        let mut none = MaybeUninit::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}

/// Creates the session, installs the descriptors and sets the controlling terminal.
///
/// # Safety
///
/// As [`enter`].
#[expect(
    unsafe_code,
    reason = "async-signal-safe calls only, which libc has raw"
)]
unsafe fn settle(place: &Place) -> Result<(), c_int> {
    let [stdin, stdout, stderr] = &place.stdio;
    let targets = [(Some(stdin), 0), (Some(stdout), 1), (Some(stderr), 2)];
    // SAFETY: each source is an open descriptor above all targets.
    unsafe {
        if place.dies_with_us {
            platform::die_with_parent();
        }
        if libc::setsid() < 0 {
            return Err(errno());
        }
        for (source, target) in targets.into_iter().chain([(place.extra.as_ref(), EXTRA)]) {
            if let Some(source) = source
                && libc::dup2(source.as_raw_fd(), target) < 0
            {
                return Err(errno());
            }
        }
        // The child leads its session since setsid(2) and has no terminal yet, so that 0 as the argument suffices:
        // ioctl_tty(2), and on macOS tty(4), where the terminal must not belong to another session. The request is
        // `_IO('t', 97)` of <sys/ttycom.h> on macOS.
        if place.tty && libc::ioctl(0, libc::TIOCSCTTY as _, 0) < 0 {
            return Err(errno());
        }
    }
    Ok(())
}

/// # Safety
///
/// As [`enter`].
#[expect(
    unsafe_code,
    reason = "async-signal-safe calls only, which libc has raw"
)]
unsafe fn give_up(reply: RawFd, step: Step, errno: c_int) -> ! {
    let [a, b, c, d] = errno.to_ne_bytes();
    let words = [step as u8, a, b, c, d];
    // SAFETY: `words` has the given length; a write of five bytes to a pipe is atomic (pipe(7)).
    unsafe {
        libc::write(reply, words.as_ptr().cast(), words.len());
        libc::_exit(127)
    }
}

/// Returns errno without the decoding of `io::Error`.
fn errno() -> c_int {
    io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or_default()
}
