//! The host's handle to a guard process.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};

use crate::error::SpawnError;
use crate::exit::ExitStatus;
use crate::guard::{ARGUMENT, Answer, Link, Order};
use crate::sys::{self, Image, Launched, Place, Refusal};

/// Number of checks for the end of a guard, and the pause between them: half a second in total.
const EXIT_CHECKS: u32 = 500;
const EXIT_CHECK_PAUSE: Duration = Duration::from_millis(1);

/// A running guard. Dropping it sends the shutdown message and waits for the guard to exit.
#[derive(Debug)]
pub(crate) struct Guard {
    link: Link,
    pid: Pid,
    /// Status of the guarded child, once known.
    status: Mutex<Option<ExitStatus>>,
    shutdown: Mutex<Shutdown>,
}

/// Progress of a guard's shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shutdown {
    NotRequested,
    Requested,
    /// The guard has exited with this status and is reaped.
    Done(ExitStatus),
}

impl Guard {
    /// Starts `program` as a guard in `place` and sends its order. Returns the guard with the pid
    /// of its child, or with the error of starting that child.
    pub(crate) fn start(
        program: &Path,
        place: Place,
        order: &Order,
    ) -> Result<(Self, Result<i32, Refusal>), SpawnError> {
        let failed = |source: io::Error| SpawnError::Guard {
            path: program.into(),
            source,
        };
        let (link, theirs) = Link::pair().map_err(failed)?;
        let launched = launch(program, place, theirs).map_err(failed)?;
        let guard = Self {
            link,
            pid: launched.pid,
            status: Mutex::new(None),
            shutdown: Mutex::new(Shutdown::NotRequested),
        };
        guard.link.send_order(order).map_err(failed)?;
        match guard.link.receive_answer().map_err(failed)? {
            Answer::Started(pid) => Ok((guard, Ok(pid))),
            Answer::Refused { step, errno } => Ok((guard, Err(Refusal::of(step, errno)))),
            Answer::Ended(_) => Err(failed(io::ErrorKind::InvalidData.into())),
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Returns whether the guard runs. It cannot be reaped by others.
    pub(crate) fn is_alive(&self) -> bool {
        !sys::has_ended(self.pid)
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// Returns the child's status and lets the guard reap it; `None` while the child is alive.
    /// `Unknown` if the guard is gone, since the child is killed with it.
    pub(crate) fn reap_child(&self) -> Option<ExitStatus> {
        let mut known = self.status.lock();
        if known.is_none() {
            *known = Some(match self.link.try_receive_answer()? {
                Ok(Answer::Ended(status)) => status,
                _ => ExitStatus::Unknown,
            });
            // Fails only if the guard is gone, which needs no handling.
            drop(self.link.release());
        }
        *known
    }
}

impl Guard {
    /// Requests the shutdown of the guard; returns whether the guard has exited.
    pub(crate) fn has_shut_down(&self) -> bool {
        let mut shutdown = self.shutdown.lock();
        if *shutdown == Shutdown::NotRequested {
            // Fails only if the guard is gone.
            drop(self.link.shut_down());
            *shutdown = Shutdown::Requested;
        }
        if *shutdown == Shutdown::Requested
            && let Some(status) = sys::reap(self.pid)
        {
            *shutdown = Shutdown::Done(status);
        }
        matches!(*shutdown, Shutdown::Done(_))
    }

    /// Returns whether the guard has exited and left no descendant of its own, which only a
    /// subreaper knows.
    pub(crate) fn has_ended_all(&self) -> bool {
        sys::ADOPTS_ORPHANS && *self.shutdown.lock() == Shutdown::Done(ExitStatus::Code(0))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        for _ in 0..EXIT_CHECKS {
            if self.has_shut_down() {
                return;
            }
            std::thread::sleep(EXIT_CHECK_PAUSE);
        }
        tracing::warn!(
            guard = self.pid.as_raw_nonzero().get(),
            "guard did not exit and was killed"
        );
        let _ = kill_process(self.pid, Signal::KILL);
        sys::wait(self.pid);
    }
}

fn launch(program: &Path, place: Place, link: std::os::fd::OwnedFd) -> io::Result<Launched> {
    let program = std::path::absolute(program)?;
    let env = std::env::vars_os().collect();
    let args = [program.as_os_str(), OsStr::new(ARGUMENT)];
    let image = Image::new(&program, args, &env)?;
    let place = Place {
        extra: Some(link),
        ..place
    };
    sys::launch(&image, place, None).map_err(|refusal| refusal.error)
}
