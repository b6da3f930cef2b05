//! From a plan to a living process. Everything is allocated before the fork; between fork and exec
//! the child makes system calls on what is there already, and nothing else.

use std::collections::BTreeMap;
use std::ffi::{CString, NulError, OsStr, OsString, c_char, c_int};
use std::io::{self, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::Pid;

use super::{descriptor, platform, reap};

/// The child's number of the one descriptor that it may have beside its first three.
pub(crate) const EXTRA: RawFd = 9;

/// The standard signals. A host may ignore some, which execve(2) would pass on: a host under
/// nohup(1) would make children that no hang-up reaches.
const STANDARD_SIGNALS: std::ops::Range<c_int> = 1..32;

/// What execve(2) takes, laid out as it takes it.
#[derive(Debug)]
pub(crate) struct Image {
    path: CString,
    args: Strings,
    env: Strings,
}

impl Image {
    /// `args` begin with the name that the program is told to have.
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
    /// What the pointers point to: the heap's, so that moving this moves nothing.
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

/// What a child is born with beside its program.
#[derive(Debug)]
pub(crate) struct Place {
    /// Its first three descriptors.
    pub(crate) stdio: [OwnedFd; 3],
    /// Its descriptor [`EXTRA`].
    pub(crate) extra: Option<OwnedFd>,
    /// Its working directory; `None` is ours.
    pub(crate) cwd: Option<OwnedFd>,
    /// Whether its stdin becomes its controlling terminal.
    pub(crate) tty: bool,
    /// Whether it is killed when the *thread* that calls [`launch`] ends: for callers that have but
    /// one thread (`PR_SET_PDEATHSIG`, prctl(2)). Linux only.
    pub(crate) dies_with_us: bool,
    /// How near it is to being killed when memory runs out, for the system; `None` is as near as
    /// this process.
    pub(crate) oom_score: Option<Vec<u8>>,
}

impl Place {
    /// Moves every descriptor out of the way of those that the child is to have.
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

/// A process that was started.
#[derive(Debug)]
pub(crate) struct Launched {
    pub(crate) pid: Pid,
    /// Becomes readable with its end, where the system has such a descriptor.
    pub(crate) descriptor: Option<OwnedFd>,
}

/// Why no process was started, or why it could not become its program. Nothing is left of it.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) step: Step,
    pub(crate) error: io::Error,
}

impl Refusal {
    /// From a step's number and errno.
    pub(crate) fn of(step: u8, errno: c_int) -> Self {
        let mut steps = Step::ALL.into_iter();
        let step = steps
            .find(|one| *one as u8 == step)
            .unwrap_or(Step::Prepare);
        step.failed(io::Error::from_raw_os_error(errno))
    }
}

/// How far a start came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Step {
    /// Descriptors and memory of ours.
    Prepare,
    /// The new process itself.
    Fork,
    /// The control group, entered by the process itself.
    Group,
    /// The session and its terminal.
    Session,
    /// The working directory.
    Directory,
    /// The program.
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

/// Starts the program as the leader of a session of its own, with no descriptor but those of
/// `place`, all standard signals as at a login, and inside the control group of the directory
/// `cgroup` from its first instruction.
pub(crate) fn launch(
    image: &Image,
    place: Place,
    cgroup: Option<BorrowedFd<'_>>,
) -> Result<Launched, Refusal> {
    let prepared = prepare(place).map_err(|error| Step::Prepare.failed(error))?;
    let (place, report, reply) = prepared;
    let launched = fork(image, &place, &reply, cgroup)?;
    drop((place, reply));
    match read_report(report) {
        None => Ok(launched),
        Some(refusal) => {
            // It has said its last word, so this wait is for its exit alone.
            reap::wait(launched.pid);
            Err(refusal)
        }
    }
}

fn prepare(place: Place) -> io::Result<(Place, OwnedFd, OwnedFd)> {
    let (report, reply) = descriptor::pipe()?;
    Ok((place.above_targets()?, report, lift(reply, EXTRA + 1)?))
}

/// Nothing comes through when the program has taken over: the pipe closes with execve(2).
fn read_report(report: OwnedFd) -> Option<Refusal> {
    let mut words = [0_u8; 5];
    std::fs::File::from(report).read_exact(&mut words).ok()?;
    let [step, a, b, c, d] = words;
    Some(Refusal::of(step, c_int::from_ne_bytes([a, b, c, d])))
}

/// What [`platform::fork`] answers, once in each of the two processes.
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
    // SAFETY: `enter` is written for this place.
    let child = |group: io::Result<()>| unsafe { enter(image, place, reply, &group) };
    // SAFETY: as above; all is prepared.
    unsafe { fork_with(cgroup, child) }.map_err(|error| Step::Fork.failed(error))
}

/// Whether a process can be born into a control group.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "_exit(2) has no safe form")]
pub(super) fn try_fork(cgroup: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: _exit(2) is async-signal-safe and never returns.
    let child = |group: io::Result<()>| unsafe { libc::_exit(i32::from(group.is_err())) };
    // SAFETY: the child does nothing but that.
    let launched = unsafe { fork_with(Some(cgroup), child) }?;
    match reap::wait(launched.pid) {
        crate::exit::ExitStatus::Code(0) => Ok(()),
        _ => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// Forks with all signals blocked, so that no handler of the host can run in the child.
///
/// # Safety
///
/// The child begins with a copy of this thread alone. `child` may make async-signal-safe calls
/// only, and must neither allocate nor unwind.
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
            // SAFETY: async-signal-safe; the copy of the host ends here at the latest.
            unsafe { libc::_exit(127) }
        }
        Ok(Fork::Parent(launched)) => Ok(launched),
        Err(error) => Err(error),
    };
    // SAFETY: `before` is initialised.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    launched
}

/// The child's way to its program.
///
/// # Safety
///
/// Only for a forked process. Everything called is async-signal-safe (signal-safety(7)); nothing
/// allocates, locks or unwinds.
#[expect(
    unsafe_code,
    reason = "async-signal-safe calls only, which libc has raw"
)]
unsafe fn enter(image: &Image, place: &Place, reply: RawFd, group: &io::Result<()>) -> ! {
    // SAFETY: the pointers are to memory that the parent prepared and that nobody changes; every
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
    // SAFETY: SIG_DFL is no handler of ours; for SIGKILL and SIGSTOP the call only fails. The set
    // is initialised before it is read.
    unsafe {
        for number in STANDARD_SIGNALS {
            libc::signal(number, libc::SIG_DFL);
        }
        let mut none = MaybeUninit::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}

/// A session of its own, its descriptors in place, its terminal.
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
    // SAFETY: `words` are as long as said; a pipe takes five bytes at once or not at all.
    unsafe {
        libc::write(reply, words.as_ptr().cast(), words.len());
        libc::_exit(127)
    }
}

/// The thread's errno, without what `io::Error` would make of it.
fn errno() -> c_int {
    io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or_default()
}
