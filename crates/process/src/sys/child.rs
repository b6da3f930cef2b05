//! Waiting for the end of a child.

use std::ffi::c_int;
use std::sync::Once;

use rustix::process::Pid;
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{SignalKind, signal};

use super::descriptor::{self, ExitDescriptor};
use super::launch::Launched;
use super::platform;
use super::reap::{await_end, has_ended};

/// Ignores SIGPIPE and SIGXFSZ unless the host handles them, so that a write to a closed pipe fails with
/// EPIPE, and one past the file size limit with EFBIG (signal(7), setrlimit(2)). Rust programs ignore
/// SIGPIPE at start, but a host may be written in another language. Children get the default actions.
pub fn ignore_write_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| [libc::SIGPIPE, libc::SIGXFSZ].into_iter().for_each(ignore));
}

/// Ignores a signal whose action is the default one.
#[expect(unsafe_code, reason = "sigaction(2) has no safe form")]
fn ignore(number: c_int) {
    // SAFETY: sigaction(2) with a null new action only reads the old one into `old`, for which all
    // zeroes is a valid value; SIG_IGN is not a handler function.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        let read = libc::sigaction(number, std::ptr::null(), &raw mut old);
        if read == 0 && old.sa_sigaction == libc::SIG_DFL {
            libc::signal(number, libc::SIG_IGN);
        }
    }
}

/// Waits for a child's end without reaping it, so that its pid stays valid.
#[derive(Debug)]
pub(crate) struct ExitWatch {
    pid: Pid,
    descriptor: Option<AsyncFd<ExitDescriptor>>,
}

impl ExitWatch {
    /// Falls back to SIGCHLD without a pidfd (old kernels, other systems).
    pub(crate) fn new(child: Launched) -> Self {
        let open = || {
            let opened = platform::exit_descriptor(child.pid);
            opened.ok().map(ExitDescriptor::Process)
        };
        let descriptor = child.descriptor.or_else(open);
        Self {
            pid: child.pid,
            descriptor: descriptor.and_then(|it| descriptor::register_exit(it).ok()),
        }
    }

    pub(crate) async fn ended(&self) {
        if let Some(descriptor) = &self.descriptor
            && descriptor.readable().await.is_ok()
        {
            // kqueue(2) of macOS reports an exit shortly before waitid(2) does. A child of a guard is not
            // ours to wait for, which is an error at once.
            let _ = await_end(self.pid);
            return;
        }
        self.ended_by_signal().await;
    }

    /// Stops watching after the wait, and closes a descriptor of its own.
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
