//! Signs of life, and what the agent is busy with.

use std::fmt;
use std::time::Duration;

/// What a session is busy with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WorkPhase {
    /// The agent waits for its host.
    #[default]
    Idle,
    /// The agent has a request and has written nothing so far.
    Starting,
    /// A turn is open and no tool runs: the model works.
    Model,
    /// A tool of the main thread or a sub-agent runs.
    Tool,
    /// Only background tasks run.
    Background,
    /// A permission request waits for an answer.
    Permission,
    /// The last turn is over and the agent was asked to exit.
    PostResult,
    /// The agent has closed its output and still runs.
    Draining,
}

/// Where a sign of life came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ActivitySource {
    /// The start of the session.
    #[default]
    Start,
    /// A prompt or an answer of the host.
    Host,
    /// A valid line of the agent.
    Event,
    /// An inquiry of the watchdog that found the agent alive.
    Inquiry,
}

/// A sign of life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Activity {
    /// Time since the start of the session, without the time that the machine was suspended.
    pub at: Duration,
    /// Where it came from.
    pub source: ActivitySource,
    /// What the session was busy with afterwards.
    pub phase: WorkPhase,
}

/// The last sign of life of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastActivity {
    /// Where it came from.
    pub source: ActivitySource,
    /// What the session is busy with now.
    pub phase: WorkPhase,
    /// Time since then by a monotonic clock, without the time that the machine was suspended.
    pub age: Duration,
}

impl Activity {
    /// Returns this sign of life with its age at `now`.
    pub(crate) fn aged(self, now: Duration) -> LastActivity {
        LastActivity {
            source: self.source,
            phase: self.phase,
            age: now.saturating_sub(self.at),
        }
    }
}

impl fmt::Display for WorkPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Idle => "idle",
            Self::Starting => "starting",
            Self::Model => "model",
            Self::Tool => "tool",
            Self::Background => "background task",
            Self::Permission => "permission",
            Self::PostResult => "post-result",
            Self::Draining => "draining",
        })
    }
}

impl fmt::Display for ActivitySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "the start",
            Self::Host => "the host",
            Self::Event => "a line",
            Self::Inquiry => "an inquiry",
        })
    }
}
