//! Guard of one session. It is the parent of the child and the subreaper of
//! its orphans (prctl(2)).

use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::link::{Answer, HostMessage, Link};
use super::order::Order;
use crate::sys::{self, ChildSignal, Image, Place, Process, Refusal, with_descendants};

/// Pause between kill passes that find no new process.
const PAUSE: Duration = Duration::from_millis(1);

/// Time limit of the final kill: a process that is stuck in the kernel may never end.
const KILL: Duration = Duration::from_secs(60);

pub(super) fn run(link: Link, order: Order) -> ExitCode {
    let Ok(children) = ChildSignal::new() else {
        return ExitCode::FAILURE;
    };
    let child = match sys::adopt_orphans().and_then(|()| start(&order)) {
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
    drop(link.answer(Answer::Started(pid.as_raw_nonzero().get())));
    Subreaper {
        link,
        children,
        child: Some(pid),
        exit_reported: false,
        group: order.group,
    }
    .serve()
}

/// Starts the child on this process's own standard streams, and then releases the streams and the
/// working directory.
fn start(order: &Order) -> io::Result<Result<Pid, Refusal>> {
    let Order {
        program,
        tty,
        group,
    } = order;
    let group = group.as_deref().map(sys::open_directory).transpose()?;
    let args = program.args.iter().map(AsRef::as_ref);
    let image = Image::new(&program.path, args, &program.env)?;
    let place = Place {
        stdio: sys::take_stdio()?,
        extra: None,
        cwd: None,
        tty: *tty,
        dies_with_us: true,
        oom_score: sys::score_of_child(),
    };
    let launched = sys::launch(&image, place, group.as_ref().map(AsFd::as_fd));
    rustix::process::chdir("/")?;
    Ok(launched.map(|launched| launched.pid))
}

struct Subreaper {
    link: Link,
    children: ChildSignal,
    /// Set until the child is reaped.
    child: Option<Pid>,
    /// Whether the child's end was reported to the host.
    exit_reported: bool,
    /// Directory of the child's control group.
    group: Option<PathBuf>,
}

impl Subreaper {
    fn serve(mut self) -> ExitCode {
        while let Ok(has_message) = self.children.or_readable(&self.link) {
            if has_message {
                match self.link.receive_message() {
                    HostMessage::Release => self.release(),
                    HostMessage::Shutdown => break,
                    // The parent group of all sessions of the host, whose guards do the same.
                    HostMessage::Closed => {
                        self.group = self.group.and_then(|group| Some(group.parent()?.into()));
                        break;
                    }
                }
            }
            self.reap_ended();
        }
        self.kill_all()
    }

    /// Reaps orphans. The child remains a zombie until the host releases its pid; processes that
    /// end in the meantime are reaped after it.
    fn reap_ended(&mut self) {
        while let Some((pid, status)) = sys::ended_child() {
            if Some(pid) != self.child {
                sys::reap(pid);
                continue;
            }
            if !self.exit_reported {
                self.exit_reported = self.link.answer(Answer::Ended(status)).is_ok();
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
            self.reap_ended();
            let group = self.group.as_deref();
            let is_cleared = group.is_none_or(|group| sys::clear(group).is_ok());
            // Every descendant is a child of this process, or of one that is.
            if is_cleared && sys::is_childless() {
                return ExitCode::SUCCESS;
            }
            let all = sys::process_table(Instant::now());
            let mut tree = with_descendants(&all, |one| one.parent == own);
            tree.retain(|one: &Process| !one.zombie);
            if tree.is_empty() && is_cleared {
                return ExitCode::SUCCESS;
            }
            tree.iter().for_each(sys::kill);
            std::thread::sleep(PAUSE);
        }
        ExitCode::FAILURE
    }
}
