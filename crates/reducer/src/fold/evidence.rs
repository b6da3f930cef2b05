//! What the status is derived from.

use std::borrow::Cow;

use crate::arena::Text;
use crate::fold::turn::Turn;
use crate::log::{Slot, Stamp};
use crate::record::{PermissionId, TaskId};
use crate::state::{Outcome, Phase};
use crate::transcript::Transcript;

/// Everything that is open, and how the last turn ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence {
    pub(crate) stamp: Stamp,
    pub(crate) was_heard: bool,
    pub(crate) turn: Turn,
    pub(crate) is_interrupting: bool,
    pub(crate) last_outcome: Option<Outcome>,
    pub(crate) permissions: Vec<PermissionId>,
    pub(crate) tasks: Vec<TaskId>,
    pub(crate) ended: Option<Ended>,
}

/// How the stream ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) reason: Text,
    pub(crate) was_process: bool,
}

/// What a session is doing, and why we think so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status<'a> {
    /// What it is doing.
    pub phase: Phase,
    /// The evidence, in a few words.
    pub reason: Cow<'a, str>,
}

/// What is open, counted: the same evidence as the status, without words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenWork {
    /// Whether the agent has said anything.
    pub was_heard: bool,
    /// Whether a turn is open.
    pub turn: bool,
    /// Calls of the main thread that have no result yet; a sub-agent's are inside of one.
    pub calls: usize,
    /// Background tasks that run.
    pub tasks: usize,
    /// Permission requests without an answer.
    pub permissions: usize,
}

impl Transcript {
    /// What is open now.
    #[must_use]
    pub fn open_work(&self) -> OpenWork {
        OpenWork {
            was_heard: self.evidence.was_heard,
            turn: self.evidence.turn.is_open,
            calls: self.threads[0].open.len(),
            tasks: self.evidence.tasks.len(),
            permissions: self.evidence.permissions.len(),
        }
    }

    /// What the session is doing: derived from what is open, never set.
    #[must_use]
    pub fn status(&self) -> Status<'_> {
        let (phase, reason) = self.phase();
        Status { phase, reason }
    }

    fn phase(&self) -> (Phase, Cow<'_, str>) {
        if let Some(ended) = self.evidence.ended {
            return (Phase::Ended, self.arena.text(ended.reason).to_cow());
        }
        if !self.evidence.was_heard {
            return (Phase::Starting, "the agent has said nothing yet".into());
        }
        if let Some(id) = self.evidence.permissions.first() {
            let tool = self.names.str(self.permissions[id.at()].tool_name);
            let reason = format!("{tool} waits for permission");
            return (Phase::AwaitingPermission, reason.into());
        }
        if let Some(reason) = self.work() {
            return (Phase::Running, reason);
        }
        let reason = match self.evidence.last_outcome {
            None => "no turn has begun",
            Some(Outcome::Completed) => "the turn is completed",
            Some(Outcome::Cancelled) => "the turn was cancelled",
            Some(Outcome::Failed) => "the turn failed",
            Some(Outcome::Suspended) => "the turn is suspended",
        };
        (Phase::Idle, reason.into())
    }

    /// What is being worked on.
    fn work(&self) -> Option<Cow<'_, str>> {
        if let Some(call) = self.threads[0].open.first() {
            let tool = self.names.str(self.calls.at(call.at()).name);
            return Some(format!("{tool} runs").into());
        }
        if self.evidence.turn.is_open {
            let reason = if self.evidence.is_interrupting {
                "an interrupt was asked for"
            } else {
                "a turn is open"
            };
            return Some(reason.into());
        }
        let task = self.evidence.tasks.first()?;
        let description = self.arena.text(self.tasks[task.at()].description);
        Some(format!("task \"{description}\" runs").into())
    }

    pub(crate) fn touch_status(&mut self) {
        self.log.note(&mut self.evidence.stamp, Slot::Status);
    }

    /// A first sign of life.
    pub(crate) fn hear(&mut self) {
        if !self.evidence.was_heard {
            self.evidence.was_heard = true;
            self.touch_status();
        }
    }
}
