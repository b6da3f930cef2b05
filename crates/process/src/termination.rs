//! Termination policy (close input, SIGINT, SIGTERM, SIGKILL) and the resulting report.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::containment::Containment;
use crate::exit::Exit;

/// Grace periods of the steps of [`terminate`](crate::LocalProcess::terminate). A step of zero is
/// skipped. Every policy ends with SIGKILL for the whole process tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminationPolicy {
    /// Grace period after the input is closed (pipes) or SIGHUP is sent (PTY).
    #[serde(rename = "eof_grace_ms", with = "crate::millis")]
    pub eof_grace: Duration,
    /// Grace period after SIGINT to the child's process group; `None` sends no SIGINT.
    #[serde(rename = "interrupt_ms", default, with = "crate::millis::option")]
    pub interrupt: Option<Duration>,
    /// Grace period after SIGTERM to the child's process group.
    #[serde(rename = "term_grace_ms", with = "crate::millis")]
    pub term_grace: Duration,
    /// How long SIGKILL is repeated until no process of the tree is left. At least one pass is
    /// made.
    #[serde(rename = "kill_ms", with = "crate::millis")]
    pub kill: Duration,
}

impl TerminationPolicy {
    /// SIGKILL for the whole process tree, without a grace period.
    pub const AT_ONCE: Self = Self {
        eof_grace: Duration::ZERO,
        interrupt: None,
        term_grace: Duration::ZERO,
        kill: Duration::from_secs(2),
    };

    /// Combines two policies by taking the shorter grace period of each step.
    pub fn strictest(self, other: Self) -> Self {
        Self {
            eof_grace: self.eof_grace.min(other.eof_grace),
            interrupt: self.interrupt.zip(other.interrupt).map(|(a, b)| a.min(b)),
            term_grace: self.term_grace.min(other.term_grace),
            kill: self.kill.min(other.kill),
        }
    }
}

impl Default for TerminationPolicy {
    /// Returns: close the input, 2 s, SIGTERM, 2 s, SIGKILL. An agent takes up to 1.6 s to handle
    /// SIGTERM while a tool runs.
    fn default() -> Self {
        Self {
            eof_grace: Duration::from_secs(2),
            interrupt: None,
            term_grace: Duration::from_secs(2),
            kill: Duration::from_secs(2),
        }
    }
}

/// Result of [`terminate`](crate::LocalProcess::terminate).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TerminationReport {
    /// Processes that SIGKILL was sent to, including the child if it did not end before. Some may
    /// have been exiting already. With a guard and a control group, processes that have left the
    /// group are not listed: the guard kills them.
    pub killed: Vec<u32>,
    /// Processes that were alive when the time limit of the last step expired.
    pub survivors: Vec<u32>,
    /// Containment level of the process tree.
    pub level: Containment,
    /// Time from the first request to this report.
    pub took: Duration,
    /// Exit of the child.
    pub exit: Exit,
}

impl TerminationReport {
    /// Returns the report of a session that was released without a termination request.
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
    fn shorter_grace_period_wins_per_step() {
        let soft = TerminationPolicy {
            interrupt: Some(Duration::from_secs(9)),
            ..TerminationPolicy::default()
        };
        let other = TerminationPolicy {
            eof_grace: Duration::from_secs(1),
            ..soft
        };
        assert_eq!(soft.strictest(other), other);
        assert_eq!(
            soft.strictest(TerminationPolicy::AT_ONCE),
            TerminationPolicy::AT_ONCE
        );
        assert_eq!(soft.strictest(TerminationPolicy::default()).interrupt, None);
    }
}
