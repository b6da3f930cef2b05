//! The status: what is open, and in which phase the session is.

use std::borrow::Cow;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::state::{Outcome, Phase};
use crate::transcript::Transcript;

/// The session's activity and its reason. See [`Transcript::status`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status<'a> {
    /// The activity.
    pub phase: Phase,
    /// The reason, in a few words.
    pub reason: Cow<'a, str>,
}

/// Counts of what is open, from which the status is derived. See [`Transcript::open_work`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenWork {
    /// Whether the agent has produced any output.
    pub has_output: bool,
    /// Whether a turn is open.
    pub turn: bool,
    /// Calls of the main thread without a result; calls of sub-agents are part of one.
    pub calls: usize,
    /// Background tasks that run.
    pub tasks: usize,
    /// Unanswered permission requests.
    pub permissions: usize,
}

impl Transcript {
    /// Returns the counts of what is open.
    #[must_use]
    pub fn open_work(&self) -> OpenWork {
        OpenWork {
            has_output: self.evidence.has_output,
            turn: self.evidence.turn.is_open,
            calls: self.threads[0].open.len(),
            tasks: self.evidence.tasks.len(),
            permissions: self.evidence.permissions.iter().len(),
        }
    }

    /// Returns the session's activity, derived from what is open. While the connection to the agent's
    /// machine is given up, the phase is the last one known, and its reason begins with `disconnected: `.
    #[must_use]
    pub fn status(&self) -> Status<'_> {
        let (phase, reason) = self.phase();
        let reason = match self.evidence.disconnected {
            Some(cause) if phase != Phase::Ended => {
                format!("disconnected: {}", self.arena.text(cause).to_cow()).into()
            }
            _ => reason,
        };
        Status { phase, reason }
    }

    /// Returns how the last turn ended, if one has.
    #[must_use]
    pub const fn last_outcome(&self) -> Option<Outcome> {
        self.evidence.last_outcome
    }

    fn phase(&self) -> (Phase, Cow<'_, str>) {
        if let Some(ended) = self.evidence.ended {
            return (Phase::Ended, self.arena.text(ended.reason).to_cow());
        }
        if !self.evidence.has_output {
            return (Phase::Starting, "the agent has printed nothing yet".into());
        }
        if let Some(id) = self.evidence.permissions.iter().next() {
            let asked = self.permissions[id].detail.as_deref();
            if let Some(reason) = asked.and_then(|it| it.reason.as_deref()) {
                return (Phase::AwaitingPermission, reason.into());
            }
            let tool = self.names.str(self.permissions[id].tool_name);
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

    /// Returns what the session works on.
    fn work(&self) -> Option<Cow<'_, str>> {
        if let Some(call) = self.threads[0].open.first() {
            let tool = self.names.str(self.calls[call].name);
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
        let description = self.arena.text(self.tasks[task].description);
        Some(format!("task \"{description}\" runs").into())
    }
}

impl Serialize for Status<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Status", 2)?;
        out.serialize_field("phase", &self.phase)?;
        out.serialize_field("reason", &self.reason)?;
        out.end()
    }
}
