//! A session core with a child, connections, a journal and time around it.
//!
//! One task owns all of it. A child is two channels and a connection is any stream of bytes, so the
//! same host runs in a shim, in a test, or in a simulated network. What waits for a connection is
//! one batch of frames; what waits between the child and the core is a few chunks.

mod archive;
mod child;
mod chronicle;
mod connection;
mod display;
mod on_disk;
mod owner;

use std::io;
use std::sync::Arc;

use bowline_transport::journal::{Disk, JournalLimits};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, watch};

use self::connection::Link;
use self::owner::Owner;
use crate::core::CoreConfiguration;
use crate::wire::ExitNotice;

pub(crate) use self::archive::Archive;
pub use self::child::{Child, ChildEnd, ChildEvent, ChildOrder};
pub(crate) use self::chronicle::wall_ms;

/// Connections that wait to be taken in.
const BACKLOG: usize = 16;

/// What is to be done with a session from outside of its connections.
#[derive(Debug)]
enum Request {
    Connect(Box<dyn Link>),
    Stop,
    StopIfDeserted,
}

/// A session that runs in this process. Dropping every handle does not end it: it ends when its
/// child has ended and somebody has acknowledged that, or after a day, or by [`stop`](Self::stop).
#[derive(Clone, Debug)]
pub struct LocalHost {
    requests: mpsc::Sender<Request>,
    state: watch::Receiver<HostState>,
}

/// How far a hosted session has come.
#[derive(Clone, Debug, Default)]
pub struct HostState {
    /// How the child ended, once it has.
    pub exit: Option<Arc<ExitNotice>>,
    /// Whether the session is over: nothing of it is left.
    pub is_over: bool,
}

impl LocalHost {
    /// Hosts a child in a task of its own. To be called inside a tokio runtime with time enabled.
    pub fn start(configuration: CoreConfiguration, child: Child) -> Self {
        Self::with_archive(configuration, child, None)
    }

    /// The same, with a journal on a disk.
    ///
    /// # Errors
    ///
    /// The journal cannot be begun; nothing is hosted then.
    pub fn with_journal<D>(
        configuration: CoreConfiguration,
        child: Child,
        disk: D,
        limits: JournalLimits,
    ) -> io::Result<Self>
    where
        D: Disk<File: Send + Sync> + Clone + Send + 'static,
    {
        let archive = Archive::on(disk, limits, configuration.epoch, wall_ms())?;
        Ok(Self::with_archive(configuration, child, Some(archive)))
    }

    /// The same, with a journal.
    pub(crate) fn with_archive(
        configuration: CoreConfiguration,
        child: Child,
        archive: Option<Archive>,
    ) -> Self {
        let (requests, asked) = mpsc::channel(BACKLOG);
        let (told, state) = watch::channel(HostState::default());
        let owner = Owner::new(configuration, child, archive, told);
        tokio::spawn(owner.run(asked));
        Self { requests, state }
    }

    /// Lets a client in over a connection. What it sends and is sent are frames, one behind the
    /// other. Waits while many others are let in.
    pub async fn connect<S>(&self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        // A session that is over has hung up on everybody.
        let _ = self.requests.send(Request::Connect(Box::new(stream))).await;
    }

    /// Ends the child, politely at first, and then the session, whether or not somebody
    /// acknowledges that.
    pub async fn stop(&self) {
        let _ = self.requests.send(Request::Stop).await;
    }

    /// The same, unless somebody is connected.
    pub(crate) async fn stop_if_deserted(&self) {
        let _ = self.requests.send(Request::StopIfDeserted).await;
    }

    /// How far the session has come, now and from now on.
    pub fn state(&self) -> watch::Receiver<HostState> {
        self.state.clone()
    }
}
