//! kqueue(2): events of processes and descriptors.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::kqueue::{Event, EventFilter, EventFlags, kevent, kqueue};
use rustix::io::{FdFlags, fcntl_setfd};

/// Events that one wait returns at most.
const EVENTS: usize = 64;

/// A queue of events, close-on-exec.
#[derive(Debug)]
pub(super) struct Queue(OwnedFd);

impl Queue {
    pub(super) fn new() -> io::Result<Self> {
        let queue = kqueue()?;
        fcntl_setfd(&queue, FdFlags::CLOEXEC)?;
        Ok(Self(queue))
    }

    /// Adds an event. A process that has ended is ESRCH.
    #[expect(unsafe_code, reason = "kevent(2) asks its caller for I/O safety")]
    pub(super) fn add(&self, filter: EventFilter, flags: EventFlags) -> io::Result<()> {
        let event = Event::new(filter, EventFlags::ADD | flags, std::ptr::null_mut());
        let none: &mut [Event] = &mut [];
        // SAFETY: the callers add processes, signals, and descriptors that outlive the queue; a closed
        // descriptor would only be removed from it.
        unsafe { kevent(&self.0, &[event], none, None) }?;
        Ok(())
    }

    /// Waits for events; none if the time is over, or a signal has arrived.
    #[expect(unsafe_code, reason = "kevent(2) asks its caller for I/O safety")]
    pub(super) fn wait(&self, timeout: Option<Duration>) -> io::Result<Vec<EventFilter>> {
        let mut events = Vec::<Event>::with_capacity(EVENTS);
        // SAFETY: nothing is added.
        match unsafe { kevent(&self.0, &[], spare_capacity(&mut events), timeout) } {
            Ok(_) => Ok(events.iter().map(Event::filter).collect()),
            Err(rustix::io::Errno::INTR) => Ok(Vec::new()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Returns the descriptor, which is readable while an event waits.
    pub(super) fn into_descriptor(self) -> OwnedFd {
        self.0
    }
}
