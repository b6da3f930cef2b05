//! How long an agent may take to exit after its work.

use std::time::Duration;

/// How long an agent may take to exit once its work is done and the host ends the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitPolicy {
    /// Time to answer the request to exit. After that its input is closed: an agent of version 1.0
    /// ignores the request, and exits at the end of its input.
    pub answer: Duration,
    /// Time to exit after the request. After that it gets SIGTERM.
    pub exit: Duration,
    /// Grace period after SIGTERM. After that its process tree gets SIGKILL.
    pub term: Duration,
}

impl ExitPolicy {
    /// 2 s to answer, all of the session's `end_grace` to exit, 2 s after SIGTERM, for hooks of the agent
    /// that run at its end.
    pub const LONG: Self = Self {
        answer: Duration::from_secs(2),
        exit: Duration::MAX,
        term: Duration::from_secs(2),
    };

    /// 1 s to answer, 3 s to exit, 1 s after SIGTERM: a session ends within 5 s, for interactive use.
    pub const SHORT: Self = Self {
        answer: Duration::from_secs(1),
        exit: Duration::from_secs(3),
        term: Duration::from_secs(1),
    };
}

impl Default for ExitPolicy {
    /// Returns [`LONG`](Self::LONG).
    fn default() -> Self {
        Self::LONG
    }
}
