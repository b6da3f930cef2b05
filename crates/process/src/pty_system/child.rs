//! Implementation of portable-pty's `Child`.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use portable_pty::{ChildKiller, ExitStatus};

use crate::child::{Leader, Round, Spawned, Tree, resolve, spawn};
use crate::configuration::Configuration;
use crate::containment::Containment;
use crate::error::SpawnError;
use crate::exit;
use crate::session_id::SessionId;
use crate::sys::{self, ExitDescriptor, Launched};

/// Time limit of a kill, and the pause between its passes.
const KILL: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(1);

/// A child, and its only reaper. Dropping it leaves the child running.
#[derive(Debug)]
pub(super) struct Child {
    killer: Killer,
    /// Becomes readable when the child ends; for the session that the child belongs to.
    descriptor: Option<ExitDescriptor>,
}

impl Child {
    /// Starts a child without a session.
    pub(super) fn start(what: &Configuration, streams: [OwnedFd; 3]) -> Result<Self, SpawnError> {
        sys::ignore_write_signals();
        let id = SessionId::random();
        let what = Configuration {
            containment: Some(Containment::Group),
            ..what.clone()
        };
        let spawned = spawn(id, &what, resolve(id, &what)?, streams.into())?;
        Ok(Self {
            descriptor: None,
            ..Self::new(id, spawned)
        })
    }

    pub(super) fn new(id: SessionId, Spawned { child, handle }: Spawned) -> Self {
        let leader = Leader::new(child.pid, None, handle.guard());
        let leader = Arc::new(leader);
        let tree = Arc::new(Mutex::new(Tree::new(Arc::clone(&leader), handle, id)));
        Self {
            killer: Killer { leader, tree },
            descriptor: child.descriptor,
        }
    }

    /// Returns the child and its containment; `None` if a killer of it exists.
    pub(super) fn into_spawned(self) -> Option<Spawned> {
        let tree = Arc::into_inner(self.killer.tree)?.into_inner();
        let child = Launched {
            pid: self.killer.leader.pid(),
            descriptor: self.descriptor,
        };
        Some(Spawned {
            child,
            handle: tree.into_handle(),
        })
    }

    fn leader(&self) -> &Leader {
        &self.killer.leader
    }
}

impl portable_pty::Child for Child {
    fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        let leader = self.leader();
        if leader.is_ours() && !sys::has_ended(leader.pid()) {
            return Ok(None);
        }
        Ok(Some(convert_status(leader.reap())))
    }

    fn wait(&mut self) -> io::Result<ExitStatus> {
        if self.leader().is_ours() {
            sys::await_end(self.leader().pid())?;
        }
        Ok(convert_status(self.leader().reap()))
    }

    fn process_id(&self) -> Option<u32> {
        Some(self.leader().pid().as_raw_nonzero().get().cast_unsigned())
    }
}

impl ChildKiller for Child {
    fn kill(&mut self) -> io::Result<()> {
        self.killer.kill()
    }

    fn clone_killer(&self) -> Box<dyn ChildKiller + Send + Sync> {
        self.killer.clone_killer()
    }
}

#[derive(Clone, Debug)]
struct Killer {
    leader: Arc<Leader>,
    tree: Arc<Mutex<Tree>>,
}

impl ChildKiller for Killer {
    /// Sends SIGKILL to the child and all of its descendants until none is left.
    fn kill(&mut self) -> io::Result<()> {
        let mut tree = self.tree.lock();
        let started = Instant::now();
        while tree.kill_pass(Instant::now()) != Round::Empty {
            if started.elapsed() > KILL {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn clone_killer(&self) -> Box<dyn ChildKiller + Send + Sync> {
        Box::new(self.clone())
    }
}

/// Converts an exit status; portable-pty represents a signal by its name.
fn convert_status(status: exit::ExitStatus) -> ExitStatus {
    match status {
        exit::ExitStatus::Code(code) => ExitStatus::with_exit_code(code.cast_unsigned()),
        exit::ExitStatus::Signal(number) => ExitStatus::with_signal(&signal_name(number)),
        exit::ExitStatus::Unknown => ExitStatus::with_exit_code(1),
    }
}

fn signal_name(number: i32) -> String {
    let known = [
        (libc::SIGHUP, "SIGHUP"),
        (libc::SIGINT, "SIGINT"),
        (libc::SIGQUIT, "SIGQUIT"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGPIPE, "SIGPIPE"),
        (libc::SIGALRM, "SIGALRM"),
        (libc::SIGTERM, "SIGTERM"),
    ];
    let name = known.into_iter().find(|(known, _)| *known == number);
    name.map_or_else(|| format!("signal {number}"), |(_, name)| name.into())
}
