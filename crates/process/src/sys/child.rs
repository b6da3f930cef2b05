//! Waiting for the end of a child.

use std::os::fd::OwnedFd;
use std::sync::Once;

use rustix::process::Pid;
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{SignalKind, signal};

use super::launch::Launched;
use super::reap::has_ended;
use super::{descriptor, platform};

/// Ignores SIGPIPE unless the host handles it, so that a write to a closed pipe fails with EPIPE
/// (signal(7)). Rust programs do so at start, but a host may be written in another language.
#[expect(unsafe_code, reason = "sigaction(2) has no safe form")]
pub(crate) fn ignore_broken_pipes() {
    static ONCE: Once = Once::new();
    // SAFETY: sigaction(2) with a null new action only reads the old one into `old`, for which all
    // zeroes is a valid value; SIG_IGN is not a handler function.
    ONCE.call_once(|| unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        let read = libc::sigaction(libc::SIGPIPE, std::ptr::null(), &raw mut old);
        if read == 0 && old.sa_sigaction == libc::SIG_DFL {
            libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        }
    });
}

/// Waits for a child's end without reaping it, so that its pid stays valid.
#[derive(Debug)]
pub(crate) struct ExitWatch {
    pid: Pid,
    descriptor: Option<AsyncFd<OwnedFd>>,
}

impl ExitWatch {
    /// Falls back to SIGCHLD without a pidfd (old kernels, other systems).
    pub(crate) fn new(child: Launched) -> Self {
        let open = || platform::exit_descriptor(child.pid).ok();
        let descriptor = child.descriptor.or_else(open);
        Self {
            pid: child.pid,
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

    /// Closes the descriptor after the wait.
    pub(crate) fn release(&mut self) {
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ffi::OsStr;
    use std::path::Path;

    use super::*;
    use crate::exit::ExitStatus;
    use crate::sys::launch::{Image, Place, launch};
    use crate::sys::reap::reap;

    #[tokio::test]
    async fn exit_is_detected_by_sigchld_without_pidfd() {
        let args = ["sh", "-c", "exit 7"].map(OsStr::new);
        let image = Image::new(Path::new("/bin/sh"), args, &BTreeMap::new()).unwrap();
        let null = || std::fs::File::open("/dev/null").unwrap().into();
        let place = Place {
            stdio: [null(), null(), null()],
            extra: None,
            cwd: None,
            tty: false,
            dies_with_us: false,
            oom_score: None,
        };
        let pid = launch(&image, place, None).unwrap().pid;
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
