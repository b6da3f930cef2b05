//! The child: the leader of its session. It is addressed by pid only until it is reaped.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, MutexGuard};
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
    /// The child's parent, if that is not this process. Weak, so that it exits with the child's tree
    /// rather than with the last handle.
    guard: Option<Weak<Guard>>,
    /// Set when the child is reaped. Reaping and signalling hold the lock, so that no signal is
    /// sent to an unrelated process that reuses the pid.
    status: Mutex<Option<ExitStatus>>,
}

impl Leader {
    pub(crate) fn new(
        pid: Pid,
        console: Option<Weak<AsyncFd<OwnedFd>>>,
        guard: Option<&Arc<Guard>>,
    ) -> Self {
        Self {
            pid,
            console,
            guard: guard.map(Arc::downgrade),
            status: Mutex::new(None),
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    pub(crate) fn has_console(&self) -> bool {
        self.console.is_some()
    }

    /// Returns whether the child's pid, group and session are still valid, that is, not reaped.
    pub(crate) fn is_ours(&self) -> bool {
        self.status().is_none()
    }

    /// Reaps the child and returns its status; `Unknown` if it has not ended.
    pub(crate) fn reap(&self) -> ExitStatus {
        let mut status = self.status();
        if status.is_none() {
            *status = match &self.guard {
                Some(guard) => match guard.upgrade() {
                    Some(guard) => guard.reap_child(),
                    None => Some(ExitStatus::Unknown),
                },
                None => sys::reap(self.pid),
            };
        }
        status.unwrap_or(ExitStatus::Unknown)
    }

    /// Sends a signal to the terminal's foreground process group, or to the child's own group.
    pub(crate) fn signal(&self, signal: Signal) -> Result<(), SignalError> {
        let status = self.status();
        if status.is_some() {
            return Err(SignalError::Ended);
        }
        send(self.foreground().unwrap_or(self.pid), signal)
    }

    /// Sends a signal to the child's own process group and to the terminal's foreground group.
    pub(crate) fn signal_both(&self, signal: Signal) {
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
        self.status.lock()
    }
}

fn send(group: Pid, signal: Signal) -> Result<(), SignalError> {
    match kill_process_group(group, signal) {
        Ok(()) => Ok(()),
        Err(Errno::SRCH) => Err(SignalError::Ended),
        // macOS refuses a signal to a group in which all processes have ended.
        Err(Errno::PERM) if !sys::is_running(group.as_raw_nonzero().get()) => {
            Err(SignalError::Ended)
        }
        Err(errno) => Err(SignalError::Io(errno.into())),
    }
}
