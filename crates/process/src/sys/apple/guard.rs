//! The guard on macOS, which has no subreaper: an orphan becomes a child of launchd. The guard follows
//! the descendants of its child while they are alive, by the events of kqueue(2).

use std::io;
use std::os::fd::{AsFd, AsRawFd as _};
use std::time::Instant;

use rustix::event::kqueue::{EventFilter, EventFlags, ProcessEvents};
use rustix::process::{Pid, Signal, getppid};

use super::super::Process;
use super::super::guard::Wake;
use super::kqueue::Queue;

/// Orphans become children of launchd, so that the guard has to follow its descendants.
pub(crate) const ADOPTS_ORPHANS: bool = false;

/// Not available: macOS has no subreaper.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

/// Returns `false`: without children, there may be orphans.
pub(crate) fn is_childless() -> bool {
    false
}

/// What a guard waits for.
#[derive(Debug)]
pub(crate) struct GuardEvents {
    queue: Queue,
    host: Option<Pid>,
    has_host_exited: bool,
}

impl GuardEvents {
    /// Reports the link, the host and the children of this process (`EVFILT_SIGNAL` reports SIGCHLD
    /// although it is discarded, kqueue(2)). Must be called before there are children.
    pub(crate) fn new(link: impl AsFd) -> io::Result<Self> {
        let queue = Queue::new()?;
        let child = EventFilter::Signal {
            signal: Signal::CHILD,
            times: 0,
        };
        queue.add(child, EventFlags::CLEAR)?;
        let link = EventFilter::Read(link.as_fd().as_raw_fd());
        queue.add(link, EventFlags::empty())?;
        let host = getppid().filter(|host| !host.is_init());
        let watched = host.filter(|pid| {
            let flags = ProcessEvents::EXIT;
            let exit = EventFilter::Proc { pid: *pid, flags };
            // A host that has exited closes the link.
            queue.add(exit, EventFlags::CLEAR).is_ok()
        });
        Ok(Self {
            queue,
            host: watched,
            has_host_exited: false,
        })
    }

    /// Reports when a process forks or exits.
    pub(crate) fn follow(&mut self, process: &Process) {
        let Some(pid) = Pid::from_raw(process.pid) else {
            return;
        };
        let flags = ProcessEvents::FORK | ProcessEvents::EXIT;
        let changes = EventFilter::Proc { pid, flags };
        if let Err(error) = self.queue.add(changes, EventFlags::CLEAR) {
            tracing::debug!(process.pid, %error, "process ended before it was followed");
        }
    }

    /// Waits until the link is readable, the host has exited, a process has changed, or the time is over.
    pub(crate) fn wait(&mut self, _link: impl AsFd, until: Option<Instant>) -> io::Result<Wake> {
        if self.has_host_exited {
            return Ok(Wake::HostExited);
        }
        let timeout = until.map(|until| until.saturating_duration_since(Instant::now()));
        let events = self.queue.wait(timeout)?;
        // Reported once, so it is kept for the next call if there is a message as well.
        self.has_host_exited = events
            .iter()
            .any(|event| matches!(event, EventFilter::Proc { pid, .. } if Some(*pid) == self.host));
        let is_link = |event: &EventFilter| matches!(event, EventFilter::Read(_));
        Ok(match events.is_empty() {
            _ if events.iter().any(is_link) => Wake::Link,
            _ if self.has_host_exited => Wake::HostExited,
            true => Wake::Timeout,
            false => Wake::Processes,
        })
    }
}
