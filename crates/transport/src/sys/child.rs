//! A child's birth and end.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::Once;

use rustix::process::{Pid, WaitId, WaitIdOptions, fchdir, ioctl_tiocsctty, setsid, waitid};
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{SignalKind, signal};

use super::{descriptor, platform};
use crate::exit::ExitStatus;

/// The standard signals. A host may ignore some, which execve(2) would pass on: a host under
/// nohup(1) would make children that no hang-up reaches.
const STANDARD_SIGNALS: std::ops::Range<libc::c_int> = 1..32;

/// Starts `command` as the leader of a new session, on the terminal at its stdin if there is one,
/// in the directory `cwd`, with no descriptor but its first three. Errors of execve(2) come back.
#[expect(
    unsafe_code,
    reason = "std offers no other way to act between fork and exec"
)]
pub(crate) fn spawn(mut command: Command, cwd: Option<OwnedFd>, tty: bool) -> io::Result<Pid> {
    let prepare = move || {
        reset_signals();
        setsid()?;
        if tty {
            ioctl_tiocsctty(rustix::stdio::stdin())?;
        }
        if let Some(cwd) = &cwd {
            fchdir(cwd)?;
        }
        platform::seal_descriptors();
        Ok(())
    };
    // SAFETY: between fork and exec, `prepare` makes only async-signal-safe system calls; it takes
    // no lock and neither allocates nor frees memory.
    unsafe { command.pre_exec(prepare) };
    // The `Child` is let go on purpose: it neither waits nor kills, and we reap by pid.
    command.spawn().map(|child| Pid::from_child(&child))
}

#[expect(unsafe_code, reason = "signal(2) has no safe form")]
fn reset_signals() {
    for number in STANDARD_SIGNALS {
        // SAFETY: signal(2) is async-signal-safe and SIG_DFL is no handler of ours. For SIGKILL
        // and SIGSTOP it only fails.
        unsafe { libc::signal(number, libc::SIG_DFL) };
    }
}

/// Sees to it that a write into a pipe that nobody reads is an error and not our end. Rust programs
/// do this at their start, libraries in other hosts have to.
#[expect(unsafe_code, reason = "sigaction(2) has no safe form")]
pub(crate) fn ignore_broken_pipes() {
    static ONCE: Once = Once::new();
    // SAFETY: sigaction(2) with a null new action only reads the old one into `old`, for which all
    // zeroes is a valid value; SIG_IGN is no handler of ours.
    ONCE.call_once(|| unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        let read = libc::sigaction(libc::SIGPIPE, std::ptr::null(), &raw mut old);
        if read == 0 && old.sa_sigaction == libc::SIG_DFL {
            libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        }
    });
}

/// Waits for a child's end without reaping it, so that its pid stays ours.
#[derive(Debug)]
pub(crate) struct ExitWatch {
    pid: Pid,
    descriptor: Option<AsyncFd<OwnedFd>>,
}

impl ExitWatch {
    /// Without a descriptor for processes (old kernels, other systems, none left) SIGCHLD serves.
    pub(crate) fn new(pid: Pid) -> Self {
        let descriptor = platform::exit_descriptor(pid).ok();
        Self {
            pid,
            descriptor: descriptor.and_then(|fd| descriptor::register(fd).ok()),
        }
    }

    pub(crate) async fn ended(&self) {
        if let Some(descriptor) = &self.descriptor
            && descriptor.readable().await.is_ok()
        {
            return;
        }
        self.ended_by_signal().await;
    }

    /// Closes the descriptor. The wait is over.
    pub(crate) fn let_go(&mut self) {
        self.descriptor = None;
    }

    async fn ended_by_signal(&self) {
        let Ok(mut children) = signal(SignalKind::child()) else {
            tracing::error!("cannot watch for ended children");
            return std::future::pending().await;
        };
        while !has_ended(self.pid) && children.recv().await.is_some() {}
    }
}

fn has_ended(pid: Pid) -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(pid), look), Ok(None))
}

/// Reaps a child that has ended; `None` while it lives.
pub(crate) fn reap(pid: Pid) -> Option<ExitStatus> {
    match waitid(
        WaitId::Pid(pid),
        WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
    ) {
        Ok(None) => None,
        Ok(Some(status)) => {
            let code = status.exit_status().map(ExitStatus::Code);
            let signal = || status.terminating_signal().map(ExitStatus::Signal);
            Some(code.or_else(signal).unwrap_or(ExitStatus::Unknown))
        }
        Err(_) => Some(ExitStatus::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn without_a_descriptor_the_signal_tells() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exit 7"]);
        let pid = spawn(command, None, false).unwrap();
        let watch = ExitWatch {
            pid,
            descriptor: None,
        };
        tokio::time::timeout(std::time::Duration::from_secs(20), watch.ended())
            .await
            .unwrap();
        assert!(has_ended(pid), "seen, but not reaped");
        assert_eq!(reap(pid), Some(ExitStatus::Code(7)));
        assert_eq!(reap(pid), Some(ExitStatus::Unknown), "reaped only once");
    }
}
