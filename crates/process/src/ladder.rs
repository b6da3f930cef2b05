//! How hard a session is ended, step by step, and what came of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::containment::Containment;
use crate::exit::Exit;

/// The steps of [`terminate`](crate::TerminalSession::terminate) and how long each may take. A
/// step of zero is left out. Every ladder ends with SIGKILL for the whole tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ladder {
    /// After the input is closed (pipes) or the terminal hangs up (SIGHUP on a PTY).
    #[serde(rename = "eof_grace_ms", with = "crate::millis")]
    pub eof_grace: Duration,
    /// After SIGINT to the child's group, if there is to be one.
    #[serde(rename = "interrupt_ms", default, with = "crate::millis::option")]
    pub interrupt: Option<Duration>,
    /// After SIGTERM to the child's group.
    #[serde(rename = "term_grace_ms", with = "crate::millis")]
    pub term_grace: Duration,
    /// How long SIGKILL is repeated until nothing is left of the tree. At least one round.
    #[serde(rename = "kill_ms", with = "crate::millis")]
    pub kill: Duration,
}

impl Ladder {
    /// SIGKILL for the whole tree without a warning.
    pub const AT_ONCE: Self = Self {
        eof_grace: Duration::ZERO,
        interrupt: None,
        term_grace: Duration::ZERO,
        kill: Duration::from_secs(2),
    };

    /// The harder of two ladders, step by step.
    pub fn harder(self, other: Self) -> Self {
        Self {
            eof_grace: self.eof_grace.min(other.eof_grace),
            interrupt: self.interrupt.zip(other.interrupt).map(|(a, b)| a.min(b)),
            term_grace: self.term_grace.min(other.term_grace),
            kill: self.kill.min(other.kill),
        }
    }
}

impl Default for Ladder {
    /// Close the input, 2 s, SIGTERM, 2 s, SIGKILL: the ladder of the agent's own hosts
    /// (protocol notes, section E.7). The agent takes up to 1.6 s over SIGTERM with a tool running.
    fn default() -> Self {
        Self {
            eof_grace: Duration::from_secs(2),
            interrupt: None,
            term_grace: Duration::from_secs(2),
            kill: Duration::from_secs(2),
        }
    }
}

/// What came of [`terminate`](crate::TerminalSession::terminate).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TerminationReport {
    /// Processes that were sent SIGKILL, the child among them if it did not end by itself. Some
    /// may have been on their way out.
    pub killed: Vec<u32>,
    /// Processes that were still there when the last step ran out.
    pub survivors: Vec<u32>,
    /// How tightly the tree was held.
    pub level: Containment,
    /// From the first request to this report.
    pub took: Duration,
    /// How the child ended.
    pub exit: Exit,
}

impl TerminationReport {
    /// That of a session which was let go of: nobody was asked to end.
    #[must_use]
    pub const fn untouched(level: Containment, exit: Exit) -> Self {
        Self {
            killed: Vec::new(),
            survivors: Vec::new(),
            level,
            took: Duration::ZERO,
            exit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harder_ladder_wins_step_by_step() {
        let soft = Ladder {
            interrupt: Some(Duration::from_secs(9)),
            ..Ladder::default()
        };
        let other = Ladder {
            eof_grace: Duration::from_secs(1),
            ..soft
        };
        assert_eq!(soft.harder(other), other);
        assert_eq!(soft.harder(Ladder::AT_ONCE), Ladder::AT_ONCE);
        assert_eq!(soft.harder(Ladder::default()).interrupt, None);
    }
}
