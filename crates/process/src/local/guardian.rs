//! A guard from its host's side.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::error::SpawnError;
use crate::exit::ExitStatus;
use crate::guard::{ARGUMENT, Answer, Link, Order};
use crate::sys::{self, Image, Launched, Place, Refusal};

/// How often a guard that was told to end is looked at, and with what pauses: half a second in all.
const LOOKS: u32 = 500;
const PAUSE: Duration = Duration::from_millis(1);

/// A guard that was started. Dropped, it is told that its work is done, and is waited for.
#[derive(Debug)]
pub(crate) struct Guard {
    link: Link,
    pid: Pid,
    /// Of the child that it keeps, once known.
    status: Mutex<Option<ExitStatus>>,
}

impl Guard {
    /// Starts `program` as a guard at `place`, gives it its order, and returns it with the process
    /// id that it answers with, or with the refusal of what it was to start.
    pub(super) fn start(
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
        };
        guard.link.send_order(order).map_err(failed)?;
        match guard.link.heard().map_err(failed)? {
            Answer::Begun(pid) => Ok((guard, Ok(pid))),
            Answer::Refused { step, errno } => Ok((guard, Err(Refusal::of(step, errno)))),
            Answer::Ended(_) => Err(failed(io::ErrorKind::InvalidData.into())),
        }
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Whether it still does its work.
    pub(super) fn is_alive(&self) -> bool {
        !sys::has_ended(self.pid)
    }

    pub(super) fn link(&self) -> &Link {
        &self.link
    }

    /// Takes the child's status, and lets the guard reap it; `None` while it lives. `Unknown` if the
    /// guard is gone: the child went with it.
    pub(super) fn reap_child(&self) -> Option<ExitStatus> {
        let mut known = self
            .status
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if known.is_none() {
            *known = Some(match self.link.heard_already()? {
                Ok(Answer::Ended(status)) => status,
                _ => ExitStatus::Unknown,
            });
            // A guard that cannot hear this is gone.
            drop(self.link.release());
        }
        *known
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.link.farewell());
        for _ in 0..LOOKS {
            if sys::reap(self.pid).is_some() {
                return;
            }
            std::thread::sleep(PAUSE);
        }
        tracing::warn!(
            guard = self.pid.as_raw_nonzero().get(),
            "a guard had to be killed"
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

/// Where a guard lives that has no streams of a child to hand on.
pub(super) fn nowhere() -> io::Result<Place> {
    let null = || -> io::Result<_> {
        let null = std::fs::File::options()
            .read(true)
            .write(true)
            .open("/dev/null")?;
        Ok(null.into())
    };
    Ok(Place {
        stdio: [null()?, null()?, null()?],
        extra: None,
        cwd: Some(sys::open_directory(&PathBuf::from("/")).map_err(io::Error::from)?),
        tty: false,
        dies_with_us: false,
        oom_score: None,
    })
}
