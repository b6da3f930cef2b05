//! The child itself: the leader of its session, addressed by pid only while the pid is its own.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::termios::tcgetpgrp;
use tokio::io::unix::AsyncFd;

use super::guardian::Guard;
use crate::error::SignalError;
use crate::exit::ExitStatus;
use crate::sys;

#[derive(Debug)]
pub(crate) struct Leader {
    pid: Pid,
    console: Option<Weak<AsyncFd<OwnedFd>>>,
    /// Its parent, if that is not this process.
    guard: Option<Arc<Guard>>,
    /// Set when the child is reaped. The lock is held over reaping and over signalling, so that no
    /// signal can go to a stranger that was given the number.
    status: Mutex<Option<ExitStatus>>,
}

impl Leader {
    pub(crate) fn new(
        pid: Pid,
        console: Option<Weak<AsyncFd<OwnedFd>>>,
        guard: Option<Arc<Guard>>,
    ) -> Self {
        Self {
            pid,
            console,
            guard,
            status: Mutex::new(None),
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    pub(super) fn has_console(&self) -> bool {
        self.console.is_some()
    }

    /// Whether the child's number, group and session are still its own.
    pub(crate) fn is_ours(&self) -> bool {
        self.status().is_none()
    }

    /// Takes the child's status for good. `Unknown` if it has not ended.
    pub(crate) fn reap(&self) -> ExitStatus {
        let mut status = self.status();
        if status.is_none() {
            *status = match &self.guard {
                Some(guard) => guard.reap_child(),
                None => sys::reap(self.pid),
            };
        }
        status.unwrap_or(ExitStatus::Unknown)
    }

    /// Signals the group in the terminal's foreground, or the child's own.
    pub(super) fn signal(&self, signal: Signal) -> Result<(), SignalError> {
        let status = self.status();
        if status.is_some() {
            return Err(SignalError::Ended);
        }
        send(self.foreground().unwrap_or(self.pid), signal)
    }

    /// Signals the child's own group and the one in the terminal's foreground.
    pub(super) fn signal_both(&self, signal: Signal) {
        let status = self.status();
        if status.is_some() {
            return;
        }
        let foreground = self.foreground().filter(|group| *group != self.pid);
        for group in foreground.into_iter().chain([self.pid]) {
            if let Err(error) = send(group, signal) {
                tracing::debug!(%error, "signal not sent");
            }
        }
    }

    fn foreground(&self) -> Option<Pid> {
        let console = self.console.as_ref()?.upgrade()?;
        tcgetpgrp(console.get_ref()).ok()
    }

    fn status(&self) -> MutexGuard<'_, Option<ExitStatus>> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn send(group: Pid, signal: Signal) -> Result<(), SignalError> {
    match kill_process_group(group, signal) {
        Ok(()) => Ok(()),
        Err(Errno::SRCH) => Err(SignalError::Ended),
        Err(errno) => Err(SignalError::Io(errno.into())),
    }
}
