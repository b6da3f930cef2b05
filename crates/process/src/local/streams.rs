//! State of a child's streams as seen by the supervisor.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::fds::SharedFd;
use crate::exit::Drained;
use crate::log::SharedLog;
use crate::pty_system::{HeldSlave, SharedMaster};
use crate::sys;

/// While another process keeps the streams open after the child's end: the time without output
/// after which they count as complete, and the limit of the whole wait.
const IDLE_TIME: Duration = Duration::from_millis(50);
const DRAIN_CAP: Duration = Duration::from_secs(2);

#[derive(Debug)]
struct OpenStream {
    fd: SharedFd,
    log: Arc<SharedLog>,
}

impl OpenStream {
    /// Returns whether bytes or the end of the stream are ready to be read.
    fn has_unread(&self) -> bool {
        let fd: &OwnedFd = self.fd.get_ref();
        !self.log.is_closed() && sys::readable(fd)
    }
}

#[derive(Debug, Default)]
pub(super) struct Streams {
    open: Vec<OpenStream>,
    /// The master side of the terminal, for as long as the child uses it.
    master: Option<Arc<SharedMaster>>,
    /// The slave side of the terminal, until the child has ended: a child that closes its own
    /// descriptors may open the terminal again by name.
    slave: Option<HeldSlave>,
    has_room: bool,
}

impl Streams {
    pub(super) fn of_terminal(master: Arc<SharedMaster>, slave: HeldSlave) -> Self {
        Self {
            open: Vec::new(),
            master: Some(master),
            slave: Some(slave),
            has_room: false,
        }
    }

    /// Adds a descriptor and the log that its reader fills and closes.
    pub(super) fn add(&mut self, fd: SharedFd, log: Arc<SharedLog>) {
        self.open.push(OpenStream { fd, log });
    }

    /// Makes room for all bytes that the child can have written before its end: the capacity of its
    /// pipe plus one, since nothing is read without room, not even the end of file. From then on no
    /// reader delays the end.
    pub(super) fn lift(&mut self) {
        if std::mem::replace(&mut self.has_room, true) {
            return;
        }
        for stream in &self.open {
            stream.log.lift(sys::PIPE_BYTES + 1);
        }
    }

    /// Waits until every stream has ended or counts as complete.
    pub(super) async fn drained(&mut self) -> Drained {
        let Self { open, slave, .. } = self;
        let ended = async {
            while !sys::KEEPS_OUTPUT && open.iter().any(OpenStream::has_unread) {
                tokio::task::yield_now().await;
            }
            *slave = None;
            for stream in open.iter() {
                stream.log.closed().await;
            }
        };
        tokio::select! {
            biased;
            () = ended => Drained::Clean,
            () = idle(open) => Drained::Timeout,
            () = sleep(DRAIN_CAP) => Drained::Timeout,
        }
    }

    /// Closes the logs that are still open and releases the descriptors, which makes their readers
    /// stop.
    pub(super) fn close(&mut self) {
        self.slave = None;
        self.master = None;
        for stream in self.open.drain(..) {
            stream.log.close();
        }
    }
}

/// Waits for [`IDLE_TIME`] without output. A child that this process is launching holds copies of the
/// descriptors for a moment, which on a busy machine may last longer: that is no other process.
async fn idle(open: &[OpenStream]) {
    let ends = || open.iter().map(|stream| stream.log.end()).sum::<u64>();
    loop {
        let before = ends();
        sleep(IDLE_TIME).await;
        let is_quiet = before == ends() && !open.iter().any(OpenStream::has_unread);
        if is_quiet && !sys::Launching::any() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn launch_of_another_child_is_waited_for() {
        let launching = sys::Launching::begin();
        assert!(timeout(DRAIN_CAP, idle(&[])).await.is_err());
        drop(launching);
        idle(&[]).await;
    }
}
