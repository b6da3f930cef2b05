//! Signs of life, and what the agent is busy with.

use std::fmt;
use std::time::Duration;

/// What a session is busy with, as far as waiting goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WorkPhase {
    /// Nothing was asked: the agent waits for its host.
    #[default]
    Idle,
    /// Something was asked of an agent that has said nothing yet.
    Starting,
    /// A turn is open and no tool runs: the model works.
    Model,
    /// A tool of the main thread runs, or a sub-agent.
    Tool,
    /// Only background tasks run.
    Background,
    /// Somebody is asked for a permission.
    Permission,
    /// The last turn is over and the agent was asked to end.
    PostResult,
    /// The agent has closed its output and lives.
    Draining,
}

/// What a sign of life was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ActivitySource {
    /// The session was started.
    #[default]
    Start,
    /// The host asked, answered or sent something.
    Host,
    /// The agent wrote a valid line.
    Event,
    /// The processes were at work, or the agent answered the watchdog.
    Inquiry,
}

/// A sign of life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// When, since the session began, without the time that the machine slept.
    pub at: Duration,
    /// What it was.
    pub source: ActivitySource,
    /// What the session was busy with afterwards.
    pub phase: WorkPhase,
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
