//! A running session: the state machine with a child, connections, a journal and a clock around it.
//!
//! One task, the [`SessionActor`], owns all of it. A child is a set of channels and a connection is
//! any byte stream, so the same code runs in a shim, in a test and in a simulated network. At most
//! one batch of frames is queued per connection, and a few chunks between the child and the machine.

mod actor;
mod audit_log;
mod child;
mod connection;
mod connections;
mod journal;
mod recorder;
mod scrollback_job;

use std::io;
use std::sync::Arc;

use bowline_hooks::RunnerHooks;
use bowline_transport::journal::{Disk, Folder, JournalLimits};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, watch};
use tracing::{Instrument as _, info_span};

use self::actor::{Request, SessionActor};
use crate::scrollback::DEFAULT_SCROLLBACK_LINES;
use crate::session_machine::MachineConfiguration;
use crate::wire::ExitNotice;

pub(crate) use self::audit_log::wall_ms;
pub use self::child::{Child, ChildCommand, ChildEvent, ChildPeer};
pub(crate) use self::journal::SessionJournal;
use self::journal::SharedDisk;

/// Accepted connections that may wait for the actor.
const REQUEST_QUEUE: usize = 16;

/// A handle to a session that runs in this process.
///
/// Dropping every handle does not end the session: it ends when its child has ended and a client has
/// acknowledged the exit, when the exit retention has passed, or by [`stop`](Self::stop).
#[derive(Clone, Debug)]
pub struct SessionHandle {
    requests: mpsc::Sender<Request>,
    status: watch::Receiver<SessionStatus>,
}

/// A line of the control stream, with its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Its id, 1 to 128 bytes.
    pub id: String,
    /// The line, without its end.
    pub line: String,
}

/// What a session begins with beside its child.
#[derive(Debug)]
pub(crate) struct SessionStart<'a> {
    /// What the control stream begins with.
    pub(crate) decisions: &'a [Decision],
    /// The hooks to forward.
    pub(crate) hooks: Option<RunnerHooks>,
    /// Lines above the screen that joining clients receive.
    pub(crate) scrollback_lines: u32,
}

impl Default for SessionStart<'_> {
    fn default() -> Self {
        Self {
            decisions: &[],
            hooks: None,
            scrollback_lines: DEFAULT_SCROLLBACK_LINES,
        }
    }
}

/// Progress of a running session.
#[derive(Clone, Debug, Default)]
pub struct SessionStatus {
    /// How the child ended, once it has.
    pub exit: Option<Arc<ExitNotice>>,
    /// Whether the session is over and all its resources are released.
    pub is_over: bool,
}

impl SessionHandle {
    /// Spawns a session without a journal. Panics outside a tokio runtime with time enabled.
    pub fn start(configuration: MachineConfiguration, child: Child) -> Self {
        let journal = None::<SessionJournal<Folder>>;
        Self::spawn(configuration, child, journal, SessionStart::default())
    }

    /// Spawns a session that records its streams in a new journal on `disk`.
    ///
    /// # Errors
    ///
    /// The journal cannot be created; no session is started then.
    pub fn with_journal<D>(
        configuration: MachineConfiguration,
        child: Child,
        disk: D,
        limits: JournalLimits,
    ) -> io::Result<Self>
    where
        D: Disk<File: Send + Sync> + Clone + Send + 'static,
    {
        let journal = SessionJournal::on(disk, limits, configuration.epoch, wall_ms())?;
        let start = SessionStart::default();
        Ok(Self::spawn(configuration, child, Some(journal), start))
    }

    /// Spawns the actor in a span of its own.
    pub(crate) fn spawn<D: SharedDisk>(
        configuration: MachineConfiguration,
        child: Child,
        journal: Option<SessionJournal<D>>,
        start: SessionStart<'_>,
    ) -> Self {
        let span = info_span!(
            "session",
            session.id = %configuration.session,
            process.pid = configuration.facts.pid,
        );
        let (requests, queue) = mpsc::channel(REQUEST_QUEUE);
        let (publisher, status) = watch::channel(SessionStatus::default());
        let actor =
            span.in_scope(|| SessionActor::new(configuration, child, journal, publisher, start));
        tokio::spawn(actor.run(queue).instrument(span));
        Self { requests, status }
    }

    /// Adds a client connection, over which frames are exchanged back to back. Waits while the
    /// actor's queue is full; does nothing once the session is over.
    pub async fn connect<S>(&self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let _ = self.requests.send(Request::Connect(Box::new(stream))).await;
    }

    /// Terminates the child, gracefully at first, and then ends the session without waiting for a
    /// client to acknowledge the exit.
    pub async fn stop(&self) {
        let _ = self.requests.send(Request::Stop).await;
    }

    /// Does what [`stop`](Self::stop) does if no client is connected.
    pub(crate) async fn stop_if_unattached(&self) {
        let _ = self.requests.send(Request::StopIfUnattached).await;
    }

    /// Returns a receiver of the session's present and future status.
    pub fn status(&self) -> watch::Receiver<SessionStatus> {
        self.status.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bowline_transport::{Containment, Drained, ExitStatus, SessionId};
    use tokio::io::{AsyncReadExt as _, duplex};
    use tokio::time::timeout;

    use super::*;
    use crate::session_machine::{OverflowPolicy, StreamConfiguration};
    use crate::wire::{Epoch, SessionFacts, SessionKind, SessionState, StdioKind, StreamId};

    fn configuration() -> MachineConfiguration {
        let stream = |id| StreamConfiguration {
            id,
            policy: OverflowPolicy::DropOldest,
            ring_bytes: 4 * 1024,
        };
        MachineConfiguration {
            session: SessionId::random(),
            epoch: Epoch::random(),
            facts: SessionFacts {
                kind: SessionKind::Dialogue,
                stdio: StdioKind::Pipes,
                pid: None,
                size: None,
                containment: Containment::Group,
                state: SessionState::Running,
            },
            streams: [StreamId::LIFECYCLE, StreamId::INPUT].map(stream).into(),
            has_screen: false,
            exit_retention: None,
        }
    }

    /// The connection has its place in the queue when the session ends, and arrives there later.
    #[tokio::test(start_paused = true)]
    async fn connection_that_arrives_after_the_end_is_closed() {
        let (child, peer) = Child::channels([]);
        let session = SessionHandle::start(configuration(), child);
        let place = session.requests.reserve().await.unwrap();
        session.stop().await;
        let exit = ChildEvent::Exited {
            status: ExitStatus::Code(0),
            oom: false,
            drained: Drained::Clean,
        };
        peer.events.send(exit).unwrap();
        let mut status = session.status();
        status.wait_for(|status| status.is_over).await.unwrap();
        let (mut ours, theirs) = duplex(1024);
        place.send(Request::Connect(Box::new(theirs)));
        let read = timeout(Duration::from_secs(1), ours.read(&mut [0])).await;
        assert_eq!(read.expect("closed").unwrap(), 0);
    }
}
