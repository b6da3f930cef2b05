//! Linux: processes by pidfd_open(2) and proc(5), descriptors by close_range(2).

use std::fs;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate, open, openat};
use rustix::io::Errno;
use rustix::net::sockopt::set_tcp_user_timeout;
use rustix::pipe::fcntl_setpipe_size;
use rustix::process::{
    Pid, PidfdFlags, Resource, Signal, getrlimit, kill_process, pidfd_open, pidfd_send_signal,
};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer};
use rustix::time::{ClockId, clock_gettime};

pub(crate) mod guard;

use super::Process;
use super::descriptor::ExitDescriptor;
use super::launch::{Fork, Launched};

pub(super) const OPENPT_CLOEXEC: OpenptFlags = OpenptFlags::CLOEXEC;

/// Errors of execve(2) for a file that is no program of this machine, besides ENOEXEC.
pub(crate) const BAD_PROGRAM: &[i32] = &[libc::EINVAL];

/// Closes a TCP connection whose peer does not acknowledge bytes or probes for this time
/// (`TCP_USER_TIMEOUT` of tcp(7)).
///
/// # Errors
///
/// Errors of setsockopt(2).
pub fn drop_connection_after(socket: impl AsFd, unacknowledged: Duration) -> io::Result<()> {
    // The kernel takes an `int` and refuses negative ones.
    let millis = i32::try_from(unacknowledged.as_millis()).unwrap_or(i32::MAX);
    Ok(set_tcp_user_timeout(socket, millis.cast_unsigned())?)
}

/// Returns how many terminals exist and how many the system permits, each if known (pty(7)).
pub fn terminal_limits() -> (Option<u32>, Option<u32>) {
    let number = |name: &str| {
        let text = fs::read_to_string(format!("/proc/sys/kernel/pty/{name}"));
        text.ok()?.trim().parse().ok()
    };
    (number("nr"), number("max"))
}

/// `CLONE_INTO_CGROUP` of `<linux/sched.h>`; it exceeds 32 bits, which libc's type cannot
/// represent.
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// Number of descriptors marked one by one without close_range(2): the usual hard limit of such
/// systems.
const MOST_DESCRIPTORS: RawFd = 1 << 16;

/// Linux keeps a terminal's output until it is read, even if the slave side is closed.
pub(crate) const KEEPS_OUTPUT: bool = true;

/// Reserves space for the bytes of a file from one position to another without changing its length
/// (fallocate(2)). Reserves nothing on a file system that cannot.
///
/// # Errors
///
/// Errors of the system, such as a full disk, or a file size limit below `to`.
pub fn reserve_space(file: &fs::File, from: u64, to: u64) -> io::Result<()> {
    let limit = getrlimit(Resource::Fsize).current;
    if limit.is_some_and(|limit| limit < to) {
        return Err(Errno::FBIG.into());
    }
    match fallocate(file, FallocateFlags::KEEP_SIZE, from, to - from) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        reserved => Ok(reserved?),
    }
}

/// Returns how long this machine has been suspended since boot: CLOCK_BOOTTIME includes suspended time,
/// CLOCK_MONOTONIC does not (clock_gettime(2)).
pub fn suspended_time() -> Duration {
    let clock = |id| Duration::try_from(clock_gettime(id)).unwrap_or_default();
    clock(ClockId::Boottime).saturating_sub(clock(ClockId::Monotonic))
}

/// Opens a directory with `O_PATH`, which needs no read permission on it, as chdir(2) does not.
pub(crate) fn open_directory(path: &Path) -> Result<OwnedFd, Errno> {
    open(
        path,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
}

/// Opens the slave side of a terminal by descriptor (`TIOCGPTPEER`, ioctl_tty(2)), since a path
/// could refer to another terminal.
pub(super) fn open_peer(ours: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    Ok(ioctl_tiocgptpeer(ours, flags)?)
}

/// Returns the number of bytes that wait to be read on the slave side. Only that side can be
/// queried (`TIOCINQ`, ioctl_tty(2)), so it is opened for the duration of the call. Bytes that were
/// just written may be in transit and not counted; a poll that finds nothing waits for them.
pub(super) fn unread(ours: &OwnedFd) -> Option<usize> {
    let theirs = open_peer(ours).ok()?;
    super::readable(&theirs);
    let unread = rustix::io::ioctl_fionread(&theirs).ok()?;
    usize::try_from(unread).ok()
}

/// Marks every descriptor from 3 up close-on-exec, including those that this process was started with. May
/// run between fork(2) and execve(2). Kernels before 5.11 lack the flag; there each descriptor is marked by
/// itself.
#[expect(unsafe_code, reason = "close_range(2) has no safe form")]
pub fn seal_descriptors() {
    // SAFETY: the calls only set flags of descriptors and are async-signal-safe; a number that is
    // not open only returns an error.
    unsafe {
        let sealed = libc::syscall(
            libc::SYS_close_range,
            3,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        );
        if sealed < 0 {
            for number in 3..MOST_DESCRIPTORS {
                libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC);
            }
        }
    }
}

/// Requests SIGKILL for this process when the thread that forked it ends (`PR_SET_PDEATHSIG`,
/// prctl(2)).
#[expect(unsafe_code, reason = "prctl(2) has no safe form")]
pub(super) fn die_with_parent() {
    // SAFETY: the call takes numbers only and is async-signal-safe.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

/// Sets this process's `oom_score_adj` (proc_pid_oom_score_adj(5)). Runs between fork(2) and
/// execve(2); a failure is ignored.
#[expect(unsafe_code, reason = "rustix's calls may allocate for the path")]
pub(super) fn set_oom_score(score: &[u8]) {
    // SAFETY: the path is null-terminated, the length is that of the bytes, and all calls are
    // async-signal-safe.
    unsafe {
        let path = c"/proc/self/oom_score_adj".as_ptr();
        let file = libc::open(path, libc::O_WRONLY | libc::O_CLOEXEC);
        if file >= 0 {
            libc::write(file, score.as_ptr().cast(), score.len());
            libc::close(file);
        }
    }
}

/// Forks, into a control group if one is given.
///
/// # Safety
///
/// The child may make async-signal-safe calls only, as after fork(2) in a process with threads
/// (signal-safety(7)).
#[expect(unsafe_code, reason = "clone3(2) and fork(2) have no safe form")]
pub(super) unsafe fn fork(cgroup: Option<BorrowedFd<'_>>) -> io::Result<Fork> {
    let mut descriptor: RawFd = -1;
    // SAFETY: all zeroes is a valid `clone_args`. Without CLONE_VM the child has its own copy of
    // memory, including the stack, so both processes return from the call as from fork(2). The
    // kernel writes one number to `descriptor`, in the parent's memory, and it is a new descriptor.
    unsafe {
        let mut args: libc::clone_args = std::mem::zeroed();
        args.flags = libc::CLONE_PIDFD as u64;
        args.pidfd = (&raw mut descriptor) as u64;
        args.exit_signal = libc::SIGCHLD as u64;
        if let Some(cgroup) = cgroup {
            args.flags |= CLONE_INTO_CGROUP;
            args.cgroup = cgroup.as_raw_fd() as u64;
        }
        match libc::syscall(libc::SYS_clone3, &raw mut args, size_of_val(&args)) {
            0 => Ok(Fork::Child { group: Ok(()) }),
            -1 => {
                let error = io::Error::last_os_error();
                match error.raw_os_error() {
                    // Old kernels, and sandboxes that reject the call or its arguments.
                    Some(libc::ENOSYS | libc::EPERM | libc::EINVAL | libc::E2BIG) => {
                        fork_plainly(cgroup)
                    }
                    _ => Err(error),
                }
            }
            pid => Ok(Fork::Parent(Launched {
                pid: pid_of(pid as i32)?,
                descriptor: Some(ExitDescriptor::Process(OwnedFd::from_raw_fd(descriptor))),
            })),
        }
    }
}

/// # Safety
///
/// As [`fork`].
#[expect(unsafe_code, reason = "fork(2) has no safe form")]
unsafe fn fork_plainly(cgroup: Option<BorrowedFd<'_>>) -> io::Result<Fork> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let members = cgroup
        .map(|cgroup| openat(cgroup, c"cgroup.procs", flags, Mode::empty()))
        .transpose()?;
    // SAFETY: the child makes a write(2) and then only calls that the caller permits.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Fork::Child {
            group: match &members {
                // "0" stands for the writing process (cgroups(7)).
                Some(members) => rustix::io::write(members, b"0")
                    .map(drop)
                    .map_err(Into::into),
                None => Ok(()),
            },
        }),
        pid => Ok(Fork::Parent(Launched {
            pid: pid_of(pid)?,
            descriptor: None,
        })),
    }
}

fn pid_of(number: i32) -> io::Result<Pid> {
    Pid::from_raw(number).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Enlarges a pipe. Best effort: the kernel refuses beyond `pipe-user-pages-soft`, 64 MiB of pipes
/// per user (pipe(7)).
pub(crate) fn grow_pipe(pipe: &OwnedFd, bytes: usize) {
    if let Err(error) = fcntl_setpipe_size(pipe, bytes) {
        tracing::debug!(%error, "cannot enlarge output pipe");
    }
}

pub(super) fn exit_descriptor(pid: Pid) -> io::Result<OwnedFd> {
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

/// The pids listed in /proc. Entries are read one by one.
pub(super) struct Listing(Vec<i32>);

impl Listing {
    pub(super) fn read() -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten();
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        Self(pids.collect())
    }
}

impl super::process_table::Listing for Listing {
    fn pids(&self) -> Vec<i32> {
        self.0.clone()
    }

    fn look_up(&self, pid: i32) -> Option<Process> {
        look_up(pid)
    }
}

/// Returns a variable of the environment that a process was started with; `None` without
/// permission.
pub(super) fn variable(pid: i32, name: &str) -> Option<Box<str>> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = environment.split(|byte| *byte == 0);
    let value = variables
        .find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    Some(std::str::from_utf8(value).ok()?.into())
}

/// Sends SIGKILL to this process, but not to another one that reuses its pid.
pub(crate) fn kill(process: &Process) {
    let Some(pid) = Pid::from_raw(process.pid) else {
        return;
    };
    let descriptor = pidfd_open(pid, PidfdFlags::empty());
    // While the pidfd is open, the pid cannot be reused between this check and the signal.
    if look_up(process.pid).map(|now| now.start_time) != Some(process.start_time) {
        return;
    }
    let killed = match descriptor {
        Ok(descriptor) => pidfd_send_signal(descriptor, Signal::KILL),
        Err(Errno::SRCH) => return,
        Err(_) => kill_process(pid, Signal::KILL),
    };
    if let Err(error) = killed {
        tracing::debug!(process.pid, %error, "cannot kill");
    }
}

/// Returns a process table entry without its marker.
pub(super) fn look_up(pid: i32) -> Option<Process> {
    let mut line = [0_u8; STAT_BYTES];
    parse(pid, stat(pid, &mut line)?)
}

/// Size of the read buffer; the kernel writes a single line of about 300 bytes.
const STAT_BYTES: usize = 1024;

fn stat(pid: i32, line: &mut [u8; STAT_BYTES]) -> Option<&[u8]> {
    let mut stat = fs::File::open(format!("/proc/{pid}/stat")).ok()?;
    let length = stat.read(line).ok()?;
    line.get(..length)
}

/// Returns the processor time and the bytes read and written of a process and the children that it
/// has waited for. Bytes are 0 without permission to read them.
pub(crate) fn usage(pid: i32) -> Option<(Duration, u64)> {
    let mut line = [0_u8; STAT_BYTES];
    let ticks = ticks(stat(pid, &mut line)?)?;
    let cpu = Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second());
    let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    Some((cpu, moved(&io)))
}

/// Sums `utime`, `stime`, `cutime` and `cstime` of proc_pid_stat(5), in clock ticks.
fn ticks(stat: &[u8]) -> Option<u64> {
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let rest = std::str::from_utf8(stat.get(after_name..)?).ok()?;
    let fields = rest.split_ascii_whitespace().skip(11).take(4);
    fields.map(|field| field.parse::<u64>().ok()).sum()
}

/// Sums `rchar` and `wchar` of proc_pid_io(5).
fn moved(io: &str) -> u64 {
    let counts = io.lines().filter_map(|line| {
        let (name, count) = line.split_once(": ")?;
        matches!(name, "rchar" | "wchar").then(|| count.parse::<u64>().ok())?
    });
    counts.sum()
}

/// Parses proc_pid_stat(5). The name in parentheses may itself contain parentheses; the last one
/// ends it. A process whose main thread has ended is reported as a zombie while other threads run.
fn parse(pid: i32, stat: &[u8]) -> Option<Process> {
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let rest = std::str::from_utf8(stat.get(after_name..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse().ok();
    let threads: u32 = fields.get(17)?.parse().ok()?;
    Some(Process {
        pid,
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        start_time: fields.get(19)?.parse().ok()?,
        zombie: matches!(*fields.first()?, "Z" | "X") && threads <= 1,
        marker: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "S 7 42 40 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9001 100 200";

    #[test]
    fn process_name_with_parentheses_is_parsed() {
        let parsed = parse(42, format!("42 (a) Z 1 (b) {STAT}").as_bytes()).unwrap();
        assert_eq!(
            (parsed.pid, parsed.parent, parsed.group, parsed.session),
            (42, 7, 42, 40)
        );
        assert_eq!((parsed.start_time, parsed.zombie), (9001, false));
    }

    #[test]
    fn process_with_live_threads_is_not_zombie() {
        let dead = STAT.replacen('S', "Z", 1);
        assert!(parse(1, format!("1 (x) {dead}").as_bytes()).unwrap().zombie);
        let threads = dead.replacen("20 0 1 0 9001", "20 0 2 0 9001", 1);
        assert!(
            !parse(1, format!("1 (x) {threads}").as_bytes())
                .unwrap()
                .zombie
        );
        assert_eq!(parse(1, b"1 (x"), None);
    }

    #[test]
    fn usage_is_parsed_after_name() {
        assert_eq!(
            ticks(format!("42 (a) 1 (b) {STAT}").as_bytes()),
            Some(5 + 6 + 7 + 8)
        );
        assert_eq!(ticks(b"42 (a) S 1"), Some(0));
        assert_eq!(
            moved("rchar: 7\nwchar: 5\nsyscr: 9\nread_bytes: 4096\n"),
            12
        );
        let (_, bytes) = usage(std::process::id().cast_signed()).unwrap();
        assert!(bytes > 0);
    }

    #[test]
    fn own_process_is_in_table() {
        let own = std::process::id().cast_signed();
        assert!(Listing::read().0.contains(&own));
        let found = look_up(own).unwrap();
        assert!(!found.zombie && found.parent > 0 && found.start_time > 0);
        let path = std::env::var("PATH").unwrap();
        assert_eq!(variable(own, "PATH").as_deref(), Some(path.as_str()));
        assert_eq!(variable(own, "PAT"), None);
    }
}
