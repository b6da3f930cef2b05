//! The evidence about a silence.

use std::fmt;
use std::time::Duration;

use super::{Activity, WorkPhase};

/// A silence over its limit, with the evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Silence {
    /// What the session is busy with.
    pub phase: WorkPhase,
    /// Time without a sign of life, without the time that the machine was suspended.
    pub silent_for: Duration,
    /// The last sign of life.
    pub last: Activity,
    /// Whether the agent answered the liveness probe.
    pub probe: ProbeAnswer,
    /// CPU time of all processes during the inquiry; absent where it cannot be measured.
    pub cpu: Option<Duration>,
    /// Bytes that all processes read and wrote during the inquiry; absent where they cannot be
    /// measured.
    pub io_bytes: Option<u64>,
    /// Number of processes; absent where it cannot be measured.
    pub processes: Option<usize>,
    /// Names of the open tools; at most eight.
    pub open_tools: Vec<String>,
    /// Number of open background tasks.
    pub open_tasks: usize,
    /// What it may be due to, and the remedy, where the agent is known for it. The inquiry then begins after at
    /// most a minute, and does not lead to termination before the phase's own limit.
    pub cause: Option<SilenceCause>,
}

/// What a silence may be due to. `Display` is [`detail`](Self::detail) and [`remedy`](Self::remedy) in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SilenceCause {
    /// A sub-agent may wait for a permission that its agent does not ask the host for.
    HiddenPermission {
        /// The agent's name.
        agent: String,
        /// What the sub-agent works on.
        task: String,
    },
}

impl SilenceCause {
    /// Returns what it may be, as a part of a sentence.
    #[must_use]
    pub fn detail(&self) -> String {
        let Self::HiddenPermission { agent, task } = self;
        format!(
            "the sub-agent {task:?} may wait for a permission, which {agent} does not ask the host for"
        )
    }

    /// Returns what to do about it, as a part of a sentence.
    #[must_use]
    pub fn remedy(&self) -> String {
        let Self::HiddenPermission { agent, .. } = self;
        format!("interrupt the turn, and allow the tool in {agent}'s configuration")
    }
}

impl fmt::Display for SilenceCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.detail(), self.remedy())
    }
}

/// Whether a silent agent answered the liveness probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProbeAnswer {
    /// No probe was sent.
    #[default]
    NotAsked,
    /// The agent answered.
    Answered,
    /// The agent did not answer.
    Unanswered,
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { phase, last, .. } = self;
        let seconds = self.silent_for.as_secs();
        write!(
            f,
            "silent for {seconds} s in phase {phase}, last activity was {}",
            last.source
        )?;
        match self.probe {
            ProbeAnswer::NotAsked => {}
            ProbeAnswer::Answered => f.write_str(", it answered a probe")?,
            ProbeAnswer::Unanswered => f.write_str(", it did not answer a probe")?,
        }
        if let (Some(cpu), Some(bytes)) = (self.cpu, self.io_bytes) {
            let millis = cpu.as_millis();
            write!(
                f,
                ", {millis} ms of CPU time and {bytes} bytes of I/O meanwhile"
            )?;
        }
        if !self.open_tools.is_empty() {
            write!(f, ", open tools: {}", self.open_tools.join(", "))?;
        }
        if self.open_tasks > 0 {
            write!(f, ", open tasks: {}", self.open_tasks)?;
        }
        if let Some(cause) = &self.cause {
            write!(f, "; {cause}")?;
        }
        Ok(())
    }
}
