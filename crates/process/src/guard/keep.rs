//! The guard of one session without control groups: parent of its child, and of all its orphans.

use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::link::{Answer, Link, Word};
use super::order::Program;
use crate::local::with_descendants;
use crate::sys::{self, ChildSignal, Image, Place, Process, Refusal};

/// Between two rounds of a kill in which nobody new was found.
const PAUSE: Duration = Duration::from_millis(1);

/// How long the last kill may take: a process that is stuck in the kernel may never go.
const KILL: Duration = Duration::from_secs(60);

pub(super) fn run(link: Link, program: &Program, tty: bool) -> ExitCode {
    let Ok(children) = ChildSignal::new() else {
        return ExitCode::FAILURE;
    };
    let child = match sys::adopt_orphans().and_then(|()| start(program, tty)) {
        Ok(child) => child,
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(libc::EINVAL);
            let step = sys::Step::Prepare as u8;
            drop(link.answer(Answer::Refused { step, errno }));
            return ExitCode::FAILURE;
        }
    };
    let pid = match child {
        Ok(pid) => pid,
        Err(Refusal { step, error }) => {
            let errno = error.raw_os_error().unwrap_or_default();
            let step = step as u8;
            drop(link.answer(Answer::Refused { step, errno }));
            return ExitCode::SUCCESS;
        }
    };
    drop(link.answer(Answer::Begun(pid.as_raw_nonzero().get())));
    Keeper {
        link,
        children,
        child: Some(pid),
        told: false,
    }
    .keep()
}

/// Starts the child on this process's own streams, and lets go of them and of the directory.
fn start(program: &Program, tty: bool) -> io::Result<Result<Pid, Refusal>> {
    let args = program.args.iter().map(AsRef::as_ref);
    let image = Image::new(&program.path, args, &program.env)?;
    let place = Place {
        stdio: sys::take_stdio()?,
        extra: None,
        cwd: None,
        tty,
        dies_with_us: true,
        oom_score: sys::score_of_child(),
    };
    let launched = sys::launch(&image, place, None);
    rustix::process::chdir("/")?;
    Ok(launched.map(|launched| launched.pid))
}

struct Keeper {
    link: Link,
    children: ChildSignal,
    /// Until it is reaped.
    child: Option<Pid>,
    /// Whether the host knows of the child's end.
    told: bool,
}

impl Keeper {
    fn keep(mut self) -> ExitCode {
        while let Ok(spoken) = self.children.or_readable(&self.link) {
            if spoken {
                match self.link.word() {
                    Word::Release => self.release(),
                    Word::Farewell | Word::Silence => break,
                }
            }
            self.bury();
        }
        self.kill_all()
    }

    /// Reaps orphans. The child stays until the host has let go of its number; what ends meanwhile
    /// waits behind it.
    fn bury(&mut self) {
        while let Some((pid, status)) = sys::ended_child() {
            if Some(pid) != self.child {
                sys::reap(pid);
                continue;
            }
            if !self.told {
                self.told = self.link.answer(Answer::Ended(status)).is_ok();
            }
            break;
        }
    }

    fn release(&mut self) {
        if let Some(child) = self.child.take() {
            sys::reap(child);
        }
    }

    fn kill_all(mut self) -> ExitCode {
        let own = std::process::id().cast_signed();
        self.child = None;
        let started = Instant::now();
        while started.elapsed() < KILL {
            self.bury();
            let all = sys::census(Instant::now());
            let mut tree = with_descendants(&all, |one| one.parent == own);
            tree.retain(|one: &Process| !one.zombie);
            if tree.is_empty() {
                return ExitCode::SUCCESS;
            }
            tree.iter().for_each(sys::kill);
            std::thread::sleep(PAUSE);
        }
        ExitCode::FAILURE
    }
}
