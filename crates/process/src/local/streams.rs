//! A child's streams as the supervisor sees them: where they come from, and whether they are over.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::Wire;
use crate::exit::Drained;
use crate::log::SharedLog;
use crate::sys;

/// How long the streams must be quiet after the child's end, while another process holds them, to
/// be taken as complete; and how long that may take (terminal notes, section 2.1).
const QUIET: Duration = Duration::from_millis(50);
const DRAIN_CAP: Duration = Duration::from_secs(2);

#[derive(Debug)]
struct Outlet {
    wire: Wire,
    log: Arc<SharedLog>,
}

impl Outlet {
    /// Whether bytes, or the end, wait to be read.
    fn is_behind(&self) -> bool {
        let wire: &OwnedFd = self.wire.get_ref();
        !self.log.is_closed() && sys::readable(wire)
    }
}

#[derive(Debug, Default)]
pub(super) struct Streams {
    outlets: Vec<Outlet>,
    /// The child's side of the terminal: while it is open there is no end, and no loss.
    peer: Option<OwnedFd>,
}

impl Streams {
    pub(super) fn keeping(peer: Option<OwnedFd>) -> Self {
        Self {
            peer,
            ..Self::default()
        }
    }

    /// A descriptor that somebody reads, and the log that he fills and closes.
    pub(super) fn add(&mut self, wire: Wire, log: Arc<SharedLog>) {
        self.outlets.push(Outlet { wire, log });
    }

    /// Makes room for all that the child can have written before its end: as much as its pipe
    /// holds, and one more, since nothing is read without room, not even the end. From now on the
    /// end waits for no reader.
    pub(super) fn lift(&self) {
        for outlet in &self.outlets {
            outlet.log.lift(sys::PIPE_BYTES + 1);
        }
    }

    /// Waits for the end of every stream, or until they are taken to be complete without.
    pub(super) async fn drained(&mut self) -> Drained {
        let Self { outlets, peer } = self;
        let ended = async {
            while peer.is_some() && outlets.iter().any(Outlet::is_behind) {
                tokio::task::yield_now().await;
            }
            *peer = None;
            for outlet in outlets.iter() {
                outlet.log.closed().await;
            }
        };
        tokio::select! {
            biased;
            () = ended => Drained::Clean,
            () = quiet(outlets) => Drained::Timeout,
            () = sleep(DRAIN_CAP) => Drained::Timeout,
        }
    }

    /// Cuts what is still open and lets go of every descriptor, as do those who read them.
    pub(super) fn close(&mut self) {
        self.peer = None;
        for outlet in self.outlets.drain(..) {
            outlet.log.close();
        }
    }
}

async fn quiet(outlets: &[Outlet]) {
    let ends = || outlets.iter().map(|outlet| outlet.log.end()).sum::<u64>();
    loop {
        let before = ends();
        sleep(QUIET).await;
        if before == ends() && !outlets.iter().any(Outlet::is_behind) {
            return;
        }
    }
}
