//! What a host receives: events as they arrive, and questions that need a reply.

use std::thread::yield_now;
use std::time::Duration;

use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::event::HookEvent;
use crate::{HookReply, HookReplyError};

/// A reader of a server's events, from the moment it was created. See
/// [`HookServer::subscribe`](crate::HookServer::subscribe).
#[derive(Debug)]
pub struct HookSubscription(pub(crate) broadcast::Receiver<HookEvent>);

/// One item of a [`HookSubscription`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum HookEventItem {
    /// An event.
    Event(Box<HookEvent>),
    /// The reader fell behind, and this many events were dropped for it.
    Lagged(u64),
}

impl HookSubscription {
    /// Returns the next item, or `None` once the server has stopped. Cancel safe.
    pub async fn next(&mut self) -> Option<HookEventItem> {
        match self.0.recv().await {
            Ok(event) => Some(HookEventItem::Event(Box::new(event))),
            Err(RecvError::Lagged(missed)) => Some(HookEventItem::Lagged(missed)),
            Err(RecvError::Closed) => None,
        }
    }
}

/// The questions of a server's gate, in order of arrival. See
/// [`HookServer::questions`](crate::HookServer::questions).
#[derive(Debug)]
pub struct HookQuestions(pub(crate) mpsc::Receiver<HookQuestion>);

impl HookQuestions {
    /// Returns the next question, or `None` once the server has stopped. Cancel safe.
    pub async fn next(&mut self) -> Option<HookQuestion> {
        self.0.recv().await
    }
}

/// Questions that are asked at this moment get the gate's default as well: tokio's receiver would leave one
/// that is being sent in the channel, to wait for its deadline.
impl Drop for HookQuestions {
    fn drop(&mut self) {
        self.0.close();
        loop {
            match self.0.try_recv() {
                Ok(question) => drop(question),
                Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) => yield_now(),
            }
        }
    }
}

/// An event that waits for the host's reply. Dropped without one, it gets the gate's default.
#[derive(Debug)]
pub struct HookQuestion {
    pub(crate) event: HookEvent,
    pub(crate) deadline: Instant,
    pub(crate) reply: oneshot::Sender<HookReply>,
}

impl HookQuestion {
    /// Returns the event.
    #[must_use]
    pub const fn event(&self) -> &HookEvent {
        &self.event
    }

    /// Returns the time left to answer.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Completes when a reply would come too late: the deadline has passed, or the agent has closed
    /// the connection. Cancel safe.
    pub async fn withdrawn(&mut self) {
        self.reply.closed().await;
    }

    /// Sends the reply.
    ///
    /// # Errors
    ///
    /// The reply does not fit the event, or comes too late; the default is sent in both cases.
    pub fn answer(self, reply: HookReply) -> Result<(), HookReplyError> {
        let kind = &self.event.kind;
        reply.output(kind)?;
        let too_late = HookReplyError::TooLate {
            kind: kind.name().to_owned(),
        };
        self.reply.send(reply).map_err(|_| too_late)
    }
}
