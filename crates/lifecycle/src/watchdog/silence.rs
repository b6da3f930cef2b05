//! What is known about a silence.

use std::fmt;
use std::time::Duration;

use super::{Activity, WorkPhase};

/// A silence that was too long, with the evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Silence {
    /// What the session is busy with.
    pub phase: WorkPhase,
    /// How long nothing was heard, without the time that the machine slept.
    pub silent_for: Duration,
    /// The last sign of life.
    pub last: Activity,
    /// What became of the question that the agent was asked.
    pub probe: ProbeAnswer,
    /// Time on a processor during the inquiry, over all processes; absent where it is not known.
    pub cpu: Option<Duration>,
    /// Bytes read and written during the inquiry, over all processes; absent where it is not known.
    pub io_bytes: Option<u64>,
    /// Processes that are alive; absent where it is not known.
    pub processes: Option<usize>,
    /// The tools that are open, by name; at most eight.
    pub open_tools: Vec<String>,
    /// Background tasks that are open.
    pub open_tasks: usize,
}

/// What became of the question that a silent agent was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProbeAnswer {
    /// It was not asked.
    #[default]
    NotAsked,
    /// It answered.
    Answered,
    /// It did not answer.
    Unanswered,
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { phase, last, .. } = self;
        let seconds = self.silent_for.as_secs();
        write!(
            f,
            "silent for {seconds} s in phase {phase}, last was {}",
            last.source
        )?;
        match self.probe {
            ProbeAnswer::NotAsked => {}
            ProbeAnswer::Answered => f.write_str(", it answered a question")?,
            ProbeAnswer::Unanswered => f.write_str(", no answer to a question")?,
        }
        if let (Some(cpu), Some(bytes)) = (self.cpu, self.io_bytes) {
            let millis = cpu.as_millis();
            write!(
                f,
                ", {millis} ms of processor time and {bytes} bytes moved meanwhile"
            )?;
        }
        if !self.open_tools.is_empty() {
            write!(f, ", open tools: {}", self.open_tools.join(", "))?;
        }
        if self.open_tasks > 0 {
            write!(f, ", open tasks: {}", self.open_tasks)?;
        }
        Ok(())
    }
}
