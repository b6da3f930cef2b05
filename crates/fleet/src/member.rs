//! A runner as a member of the fleet: its lease, the records and the copies of its sessions, and its links.

mod lease;
mod links;
mod sessions;

use std::path::PathBuf;
use std::sync::Arc;

use bowline_process::SessionId;
use bowline_wire::Epoch;
use bytes::Bytes;
use tokio::io::DuplexStream;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::bus::Bus;
use crate::carrier::LinkOpening;
use crate::directory::{ConversationKey, GitState, RunnerId};

/// The identity of a member.
#[derive(Clone, Debug)]
pub struct MemberConfiguration {
    /// Its id, which no other member has.
    pub runner: RunnerId,
    /// Its display name.
    pub name: String,
    /// Version of Bowline.
    pub version: String,
    /// Identifies this run of the daemon, at random.
    pub boot: String,
    /// Whether the servers keep what is stored through a power failure, as far as is known at present.
    pub is_durable: watch::Receiver<bool>,
    /// Days after which the servers remove what was copied; `None` if they keep it. Sessions that ended before are not
    /// copied again.
    pub log_days: Option<u32>,
}

/// A session of this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalSession {
    /// Its id.
    pub id: SessionId,
    /// The incarnation of its child.
    pub epoch: Epoch,
    /// Whether it has ended, so that its journal does not grow.
    pub has_ended: bool,
    /// The folder of its journal.
    pub journal: PathBuf,
    /// What the runner's REST API lists of it.
    pub summary: serde_json::Value,
    /// The conversation that its agent writes, as far as it is known.
    pub conversation: Option<ConversationKey>,
    /// The generation with which it took over a session of another runner.
    pub generation: Option<u64>,
}

/// The files of a conversation, to continue it on another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalFiles {
    /// The files, in the form of the runner.
    pub archive: Bytes,
    /// The state of the working tree.
    pub git: Option<GitState>,
}

/// The daemon of this machine.
pub trait LocalRunner: Send + Sync + 'static {
    /// Packs the files of a session's conversation; `None` if it has none that can be moved.
    fn files(&self, session: &LocalSession) -> impl Future<Output = Option<LocalFiles>> + Send;

    /// Returns the sessions; `None` if they cannot be listed now.
    fn sessions(&self) -> impl Future<Output = Option<Vec<LocalSession>>> + Send;

    /// Serves a connection that came through the fleet, until it ends.
    fn serve(&self, stream: DuplexStream, opening: LinkOpening) -> impl Future<Output = ()> + Send;
}

/// A member of the fleet. Dropping it leaves the fleet: its lease lapses, and its sessions continue.
#[derive(Debug)]
pub struct Member {
    _tasks: JoinSet<()>,
}

impl Member {
    /// Joins the fleet. The runner never waits for it.
    pub fn join<B: Bus, L: LocalRunner>(
        bus: B,
        configuration: MemberConfiguration,
        local: L,
    ) -> Self {
        let (configuration, local) = (Arc::new(configuration), Arc::new(local));
        let count = Arc::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(lease::keep(
            bus.clone(),
            Arc::clone(&configuration),
            Arc::clone(&count),
        ));
        tasks.spawn(links::accept(
            bus.clone(),
            Arc::clone(&configuration),
            Arc::clone(&local),
        ));
        tasks.spawn(sessions::publish(bus, configuration, local, count));
        Self { _tasks: tasks }
    }
}

#[cfg(test)]
mod tests;
