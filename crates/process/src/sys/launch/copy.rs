//! A helper that is a copy of this process: it costs a fork, where a program costs its loading.

use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use super::{
    EXTRA, Launched, Place, Refusal, Step, await_start, errno, fork_with, give_up, platform,
    prepare, reset_signals, settle,
};

/// Whether this process has one thread: then a copy of it is whole, and may do anything.
pub(crate) fn is_alone() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1)
}

/// What of this process's descriptors a copy has beside those of its place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Inherits<'a> {
    Nothing,
    /// For a copy that goes on with what the program has open.
    AllBut(BorrowedFd<'a>),
}

/// Starts a copy of this process, at a place of its own, that does `work` and ends. To be called where
/// [`is_alone`] holds.
#[expect(unsafe_code, reason = "see `begin`")]
pub(crate) fn launch_copy(
    place: Place,
    inherits: Inherits<'_>,
    work: fn(),
) -> Result<Launched, Refusal> {
    let prepared = prepare(place).map_err(|error| Step::Prepare.failed(error))?;
    let (place, report, reply) = prepared;
    let number = reply.as_raw_fd();
    let mut ours = vec![report.as_raw_fd(), number];
    ours.extend(place.stdio.iter().map(AsRawFd::as_raw_fd));
    let shut = match inherits {
        Inherits::Nothing => None,
        Inherits::AllBut(other) => {
            ours.push(other.as_raw_fd());
            Some(ours.as_slice())
        }
    };
    // SAFETY: the copy has the one thread that this process has, so that no lock is held in it by
    // another one: it may allocate. It unwinds no further than `begin`.
    let launched = unsafe {
        fork_with(
            || platform::fork_whole(),
            |_| begin(&place, number, shut, work),
        )
    };
    let launched = launched.map_err(|error| Step::Fork.failed(error))?;
    drop((place, reply));
    await_start(launched, report)
}

/// # Safety
///
/// Only for a forked process that is a copy of one with one thread.
#[expect(unsafe_code, reason = "what libc has raw")]
unsafe fn begin(place: &Place, reply: RawFd, shut: Option<&[RawFd]>, work: fn()) -> ! {
    // SAFETY: every number is an open descriptor above all targets, and nobody in this process uses
    // one that is closed; _exit(2) runs nothing of the process that this is a copy of.
    unsafe {
        reset_signals();
        // As Rust's own start does: a write that nobody reads is an error, and no end.
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        if let Err(errno) = settle(place) {
            give_up(reply, Step::Session, errno);
        }
        if let Some(cwd) = &place.cwd
            && libc::fchdir(cwd.as_raw_fd()) < 0
        {
            give_up(reply, Step::Directory, errno());
        }
        match shut {
            None => platform::close_all_but(EXTRA),
            Some(shut) => {
                for number in shut {
                    libc::close(*number);
                }
            }
        }
        let done = std::panic::catch_unwind(work);
        libc::_exit(i32::from(done.is_err()))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Read as _;
    use std::process::Command;

    use super::*;

    /// What the copy tells: how many descriptors it has.
    fn count() {
        use std::io::Write as _;
        let open = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        let to = crate::sys::take_extra().expect("it was given one");
        let mut to = std::fs::File::from(to);
        write!(to, "{}", open - 1).expect("somebody listens");
    }

    #[test]
    fn a_copy_has_its_own_descriptors_and_no_other() {
        // Tests run beside others: this one runs itself again, beside none but the thread that waits
        // for it and holds nothing.
        if std::env::var_os("ALONE").is_none() {
            let own = std::env::current_exe().unwrap();
            let mut alone = Command::new(own);
            alone.args(["a_copy_has_its_own", "--test-threads=1", "--exact"]);
            alone.arg("sys::launch::copy::tests::a_copy_has_its_own_descriptors_and_no_other");
            assert!(alone.env("ALONE", "1").status().unwrap().success());
            return;
        }
        let (mut report, theirs) = std::io::pipe().unwrap();
        let null = || std::fs::File::open("/dev/null").unwrap().into();
        let place = Place {
            stdio: [null(), null(), null()],
            extra: Some(theirs.into()),
            cwd: None,
            tty: false,
            dies_with_us: false,
            oom_score: None,
        };
        let copy = launch_copy(place, Inherits::Nothing, count).unwrap();
        let mut told = String::new();
        report.read_to_string(&mut told).unwrap();
        crate::sys::wait(copy.pid);
        assert_eq!(told, "4", "three streams and one beside them");
    }
}
