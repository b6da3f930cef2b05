//! Guard of one session. It is the parent of the child, and of its orphans where the system has
//! subreapers (prctl(2)). Elsewhere it follows the descendants of the child while they are alive.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::link::{Answer, HostMessage, Link};
use super::order::Order;
use crate::members::Members;
use crate::sys::{self, GuardEvents, Image, MARKER, Place, Process, Refusal, Wake};

/// Pauses between kill passes: the first suits processes that end at once. The longest bounds how often a
/// thousand guards read the process table while a loaded machine ends what they have killed.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LAST_PAUSE: Duration = Duration::from_millis(50);

/// Time between two looks for new descendants that have to be followed: a look reads the process table.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// Time limit of the final kill: a process that is stuck in the kernel may never end.
const KILL: Duration = Duration::from_secs(60);

pub(super) fn run(link: Link, order: Order) -> ExitCode {
    let Ok(events) = GuardEvents::new(&link) else {
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
    sys::record_start_time(pid.as_raw_nonzero().get());
    drop(link.answer(Answer::Started(pid.as_raw_nonzero().get())));
    Session {
        link,
        events,
        child: Some(pid),
        exit_reported: false,
        members: Members::new(token(&order)),
        next_look: (!sys::ADOPTS_ORPHANS).then(Instant::now),
        group: order.group,
    }
    .serve()
}

/// Returns the id of the session: the last one in the marker of the program's environment.
fn token(order: &Order) -> String {
    let marker = order.program.env.get(OsStr::new(MARKER));
    let marker = marker
        .and_then(|marker| marker.to_str())
        .unwrap_or_default();
    marker.rsplit(':').next().unwrap_or_default().to_owned()
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

struct Session {
    link: Link,
    events: GuardEvents,
    /// Set until the child is reaped.
    child: Option<Pid>,
    /// Whether the child's end was reported to the host.
    exit_reported: bool,
    members: Members,
    /// When to look for descendants to follow, if any may be new.
    next_look: Option<Instant>,
    /// Directory of the child's control group.
    group: Option<PathBuf>,
}

impl Session {
    fn serve(mut self) -> ExitCode {
        while let Ok(wake) = self.events.wait(&self.link, self.next_look) {
            let message = match wake {
                Wake::Link => Some(self.link.receive_message()),
                Wake::HostExited => Some(HostMessage::Closed),
                Wake::Processes | Wake::Timeout => None,
            };
            match message {
                None => {}
                Some(HostMessage::Release) => self.release(),
                Some(HostMessage::Shutdown) => break,
                // The parent group of all sessions of the host, whose guards do the same.
                Some(HostMessage::Closed) => {
                    self.group = self.group.and_then(|group| Some(group.parent()?.into()));
                    break;
                }
            }
            self.reap_ended();
            if !sys::ADOPTS_ORPHANS {
                self.follow_after(wake);
            }
        }
        self.kill_all()
    }

    /// Follows new descendants, at intervals while processes change.
    fn follow_after(&mut self, wake: Wake) {
        let now = Instant::now();
        match self.next_look {
            Some(next) if next <= now => {
                self.follow();
                self.next_look = None;
            }
            Some(_) => {}
            None if wake == Wake::Processes => self.next_look = Some(now + LOOK_INTERVAL),
            None => {}
        }
    }

    /// Finds the descendants that are alive, so that they are known when their parents exit.
    fn follow(&mut self) {
        for process in self.live_members() {
            self.events.follow(&process);
        }
    }

    fn live_members(&mut self) -> Vec<Process> {
        let own = std::process::id().cast_signed();
        let child = self.child.map(|child| child.as_raw_nonzero().get());
        let all = sys::process_table(Instant::now());
        self.members.find(&all, &[own], |one| {
            // The child's group and session are its own until it is reaped.
            one.parent == own
                || child.is_some_and(|child| [one.group, one.session].contains(&child))
        })
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
        if !sys::ADOPTS_ORPHANS {
            self.follow();
        }
        if let Some(child) = self.child.take() {
            sys::reap(child);
        }
    }

    fn kill_all(mut self) -> ExitCode {
        if !sys::ADOPTS_ORPHANS {
            // Once the child is reaped, its group and session no longer identify anything.
            self.live_members();
        }
        self.child = None;
        let mut signalled = HashSet::new();
        let mut pause = FIRST_PAUSE;
        // The members of a killed group cannot fork, and usually nothing is outside of it.
        let mut is_group_ending = self.group.is_some();
        let started = Instant::now();
        while started.elapsed() < KILL {
            self.reap_ended();
            let group = self.group.as_deref();
            let is_cleared = group.is_none_or(|group| sys::clear(group).is_ok());
            // Every descendant of a subreaper is a child of it, or of one that is.
            if is_cleared && sys::is_childless() {
                return ExitCode::SUCCESS;
            }
            if is_group_ending {
                is_group_ending = false;
                std::thread::sleep(FIRST_PAUSE);
                continue;
            }
            let tree = self.live_members();
            if tree.is_empty() && is_cleared {
                return ExitCode::SUCCESS;
            }
            tree.iter().for_each(sys::kill);
            // New processes may be forking, which a pause would let them do.
            let found = signalled.len();
            signalled.extend(tree.iter().map(Process::identity));
            pause = match signalled.len() == found {
                true => (pause * 2).min(LAST_PAUSE),
                false => FIRST_PAUSE,
            };
            std::thread::sleep(pause);
        }
        ExitCode::FAILURE
    }
}
