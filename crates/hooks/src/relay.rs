//! The host's side of hooks that a runner serves: their lines become events and questions of a hook server.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use tokio::task::{AbortHandle, JoinSet};

use crate::dispatcher::HookDispatcher;
use crate::{HookEvent, HookLine, HookServer};

/// Passes the hooks of a session at a runner to a [`HookServer`] of the host, whose subscribers, gate and backend
/// apply. From [`HookServer::relay`].
#[derive(Debug)]
pub struct HookRelay {
    dispatcher: Arc<HookDispatcher>,
    session: String,
    /// Events of the past that ask and are not closed, in order.
    past: BTreeMap<u64, HookEvent>,
    open: HashMap<u64, AbortHandle>,
    replies: JoinSet<Option<RelayedReply>>,
}

/// A part of the stream of hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RelayInput {
    /// A line from before this host attached: only a question that is still open has an effect.
    Past(Bytes),
    /// The past has ended.
    PastEnd,
    /// A line.
    Line(Bytes),
}

/// The host's reply to an event.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RelayedReply {
    /// Number of the event in its session.
    pub id: u64,
    /// The reply as JSON.
    pub body: Bytes,
}

impl HookServer {
    /// Returns a relay of the hooks of a session at a runner to this server. `session` is the session's id there.
    #[must_use]
    pub fn relay(&self, session: impl Into<String>) -> HookRelay {
        HookRelay {
            dispatcher: self.dispatcher(),
            session: session.into(),
            past: BTreeMap::new(),
            open: HashMap::new(),
            replies: JoinSet::new(),
        }
    }
}

impl HookRelay {
    /// Takes a part of the stream. A line that is not valid is ignored: a later version wrote it.
    pub fn push(&mut self, input: RelayInput) {
        match input {
            RelayInput::Past(line) => match serde_json::from_slice(&line) {
                Ok(HookLine::Event {
                    id,
                    interaction,
                    event,
                    asks: true,
                }) => {
                    let event = HookEvent::parse(interaction.into(), event.as_bytes());
                    self.past.extend(event.map(|event| (id, event)));
                }
                Ok(HookLine::Closed { id }) => drop(self.past.remove(&id)),
                _ => {}
            },
            RelayInput::PastEnd => {
                for (id, event) in std::mem::take(&mut self.past) {
                    self.dispatch(id, event, true);
                }
            }
            RelayInput::Line(line) => match serde_json::from_slice(&line) {
                Ok(HookLine::Event {
                    id,
                    interaction,
                    event,
                    asks,
                }) => {
                    if let Some(event) = HookEvent::parse(interaction.into(), event.as_bytes()) {
                        self.dispatch(id, event, asks);
                    }
                }
                // Its question is withdrawn with its task.
                Ok(HookLine::Closed { id }) => {
                    if let Some(open) = self.open.remove(&id) {
                        open.abort();
                    }
                }
                Ok(HookLine::Lagged { missed }) => {
                    tracing::warn!(missed, "hooks of a session at a runner were dropped");
                }
                Err(error) => tracing::warn!(%error, "a line of hooks is not valid"),
            },
        }
    }

    fn dispatch(&mut self, id: u64, event: HookEvent, asks: bool) {
        let dispatcher = Arc::clone(&self.dispatcher);
        let delivery = format!("{}/{id}", self.session);
        let task = self.replies.spawn(async move {
            let reply = dispatcher.dispatch(event, Some(delivery)).await;
            let body = serde_json::to_vec(&reply).unwrap_or_default().into();
            asks.then_some(RelayedReply { id, body })
        });
        if asks {
            self.open.insert(id, task);
        }
    }

    /// Returns the next reply of the host; waits while there is no event that asks.
    ///
    /// Cancel safe.
    pub async fn next_reply(&mut self) -> RelayedReply {
        loop {
            match self.replies.join_next().await {
                Some(Ok(Some(reply))) => {
                    self.open.remove(&reply.id);
                    return reply;
                }
                // An event without a question, or a question that was withdrawn.
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }
}
