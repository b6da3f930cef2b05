//! The last sign of life of a session.

use std::sync::PoisonError;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::DialogueSession;
use super::driver::Message;
use crate::machine::Machine;
use crate::watchdog::{ActivitySource, WorkPhase};

/// The last sign of life of a session, healthy or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastActivity {
    /// What it was.
    pub source: ActivitySource,
    /// What the session is busy with now.
    pub phase: WorkPhase,
    /// How long ago it was, by a clock that never jumps; sleep of the machine does not count.
    pub age: Duration,
}

impl LastActivity {
    pub(super) fn of(machine: &Machine, start: Instant) -> Self {
        let last = machine.last_activity();
        Self {
            source: last.source,
            phase: last.phase,
            age: start.elapsed().saturating_sub(last.at),
        }
    }
}

impl DialogueSession {
    /// The last sign of life: a line of the agent, or something that the host has said to it.
    pub async fn last_activity(&self) -> LastActivity {
        let (reply, answer) = oneshot::channel();
        if let Err(mpsc::error::SendError(_)) = self.messages.send(Message::Activity(reply)) {
            let last = self.last().await;
            let machine = last.machine.lock().unwrap_or_else(PoisonError::into_inner);
            return LastActivity::of(&machine, last.start);
        }
        answer
            .await
            .expect("the driver answers every message that it has taken")
    }
}
