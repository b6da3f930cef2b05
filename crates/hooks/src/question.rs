//! An event that waits for the host's decision.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::{HookEvent, HookReply, HookReplyError};

/// An event that waits for the host's decision. Dropped unanswered, it gets the default.
#[derive(Debug)]
pub struct HookQuestion {
    pub(super) event: HookEvent,
    pub(super) deadline: Instant,
    pub(super) reply: oneshot::Sender<HookReply>,
}

/// The questions of a server, in the order in which they were asked.
#[derive(Debug)]
pub struct HookQuestions(pub(super) mpsc::Receiver<HookQuestion>);

impl HookQuestions {
    /// The next question, or none when the server is stopped. Cancel safe.
    pub async fn next(&mut self) -> Option<HookQuestion> {
        self.0.recv().await
    }
}

impl HookQuestion {
    /// What is about to happen.
    #[must_use]
    pub const fn event(&self) -> &HookEvent {
        &self.event
    }

    /// How long there is to answer.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Waits until an answer would come too late: the deadline has passed, or the agent hung up.
    pub async fn withdrawn(&mut self) {
        self.reply.closed().await;
    }

    /// Answers.
    ///
    /// # Errors
    ///
    /// The answer is none to this event, or comes too late: the default is given in both cases.
    pub fn answer(self, reply: HookReply) -> Result<(), HookReplyError> {
        let kind = &self.event.kind;
        reply.output(kind)?;
        let too_late = HookReplyError::TooLate {
            kind: kind.name().to_owned(),
        };
        self.reply.send(reply).map_err(|_| too_late)
    }
}
